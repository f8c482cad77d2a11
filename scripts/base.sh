#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fetch the base that base/$BASE pins and make a git repository of it:
# build/$BASE/linux with tag base = the pristine source.  Does nothing when it
# is there.  A run that was killed can be repeated.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$TOP/scripts/lib-series.sh"

# pin KEY: a value of base/$BASE.
pin()
{
	awk -v key="$1" '$1 == key { print $2 }' "$TOP/base/$BASE"
}

PACKAGE=$(pin package)
VERSION=$(pin version)
OLDEST=$(pin oldest)
export PACKAGE COMPOSED
ACCEPTED="$VERSION.$OLDEST or a later $VERSION.y is accepted"

# check_version FOUND WHERE-FROM
check_version()
{
	[[ $1 = "$VERSION".* && ${1##*.} =~ ^[0-9]+$ && ${1##*.} -ge $OLDEST ]] ||
		die E_BASE "$2 is Linux $1; $ACCEPTED;" \
			"enable an archive that has it, then: apt-get update"
}

# apt_download DIR: apt verifies the package against the archive's index.
apt_download()
{
	(cd "$1" && apt-get -o APT::Get::AllowUnauthenticated=false \
		download "$PACKAGE")
}

# fetch DIR: the package, into DIR.
fetch()
{
	local tmp=$1.tmp

	rm -rf "$tmp"
	mkdir -p "$tmp"
	if ! run_logged "fetch $PACKAGE" strict apt_download "$tmp"; then
		[[ $(id -u) -eq 0 ]] || die E_BASE "apt has no $PACKAGE;" \
			"run: sudo apt-get update"
		run_logged "update apt's index" apt-get update || :
		run_logged "fetch $PACKAGE" strict apt_download "$tmp" ||
			die E_BASE "apt has no $PACKAGE;" \
				"enable an archive of Debian 12 or 13 in apt's sources"
	fi
	rm -rf "$1"
	mv "$tmp" "$1"
}

# kernel_version MAKEFILE
kernel_version()
{
	awk -F ' *= *' '
		$1 == "VERSION" { v = $2 }
		$1 == "PATCHLEVEL" { p = $2 }
		$1 == "SUBLEVEL" { print v "." p "." $2; exit }' "$1"
}

# unpack DEB DIR: the kernel's source in DIR, the package's date in DIR.date.
unpack()
{
	dpkg-deb -x "$1" "$2.deb"
	zcat "$2.deb/usr/share/doc/$PACKAGE/changelog.Debian.gz" |
		awk '/^ -- / && !n++ { sub(/.*>  /, ""); print }' >"$2.date"
	mkdir "$2"
	tar -xf "$2.deb/usr/src/$PACKAGE.tar.xz" -C "$2" --strip-components=1 \
		--no-same-owner --no-same-permissions
	rm -rf "$2.deb"
}

# import DIR VERSION: commit DIR as it is and tag the commit.
import()
{
	local tree who='Linux base' mail=base@localhost date

	date=$(date -d "$(cat "$1.date")" +'%s +0000')
	cd "$1"
	git init -q --template= -b series
	git config gc.auto 0
	# blobs go straight into one pack, not into 80,000 files
	git -c core.bigFileThreshold=1 -c core.compression=1 add -A -f
	tree=$(git write-tree)
	git update-ref refs/heads/series "$(
		GIT_AUTHOR_NAME=$who GIT_AUTHOR_EMAIL=$mail \
		GIT_COMMITTER_NAME=$who GIT_COMMITTER_EMAIL=$mail \
		GIT_AUTHOR_DATE=$date GIT_COMMITTER_DATE=$date \
		git commit-tree -m "Linux $2, from $PACKAGE" "$tree")"
	git tag base series
	git update-ref "$COMPOSED" series
}

make_tree()
{
	local deb=$1 new=$B/linux.new found

	rm -rf "$new"*
	run_logged "unpack ${deb##*/}" strict unpack "$deb" "$new" ||
		die E_BASE "cannot unpack ${deb#"$TOP"/}; remove it and repeat"
	found=$(kernel_version "$new/Makefile")
	check_version "$found" "the source in ${deb##*/}"
	run_logged "import Linux $found" strict import "$new" "$found" ||
		die E_BASE "cannot import the source; see build/log and repeat"
	rm -f "$new.date"
	mv "$new" "$TREE"
}

main()
{
	local deb found

	[[ -z $(ref base 2>/dev/null) ]] || return 0
	"$TOP/scripts/deps.sh" tree
	lock
	need_space 5 "the base source"
	[[ -d $B/base ]] || fetch "$B/base"
	deb=$(echo "$B/base/$PACKAGE"_*.deb)
	found=$(dpkg-deb -f "$deb" Version | sed 's/-.*//') ||
		die E_BASE "${deb#"$TOP"/} is damaged; remove it and repeat"
	check_version "$found" "$PACKAGE $(dpkg-deb -f "$deb" Version)"
	make_tree "$deb"
}

main
