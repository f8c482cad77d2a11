#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# root.sh: make the guest's root, build/root/root.img, of the Debian packages
# that scripts/packages lists as "root", not of this host's files.  It does
# nothing when the image is that of the versions which apt offers now.  Its
# path is printed last.
#
# apt resolves the packages as if nothing were installed, and verifies what it
# downloads; nothing is configured, so no maintainer script runs.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ROOT=$TOP/build/root
IMAGE=$ROOT/root.img
EPOCH=1700000000	# every time stamp in the image

# What a guest without people needs no copy of.
LEAVE_OUT=(./usr/share/{doc,man,info,locale,lintian,bash-completion,zoneinfo}
	"./usr/lib/python3*" ./usr/share/{perl,perl5,python3}
	"./usr/bin/perl*" "./usr/lib/*/perl*" "./usr/lib/*/perl")

wanted()
{
	awk '$1 == "root" { for (i = 2; i <= NF; i++) print $i }' \
		"$TOP/scripts/packages"
}

# resolve: name=version of everything that the wanted packages need.
resolve()
{
	local packages

	mapfile -t packages < <(wanted)
	apt-get -s -o Dir::State::status=/dev/null -o Debug::NoLocking=1 \
		--no-install-recommends install "${packages[@]}" \
		2>"$ROOT/apt.err" |
		sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*\[\(.*\)\]).*/\1:\3=\2/p' |
		sort
}

# resolve_list FILE: as above, and update apt's index if that is what it takes.
resolve_list()
{
	if resolve >"$1" && [[ -s $1 ]]; then
		return
	fi
	[[ $(id -u) -eq 0 ]] ||
		die E_MISSING "apt cannot find the guest's packages" \
			"($(tail -n 1 "$ROOT/apt.err")); run: sudo apt-get update"
	run_logged "update apt's index" apt-get update || :
	resolve >"$1" || die E_MISSING "apt cannot find the guest's packages:" \
		"$(tail -n 1 "$ROOT/apt.err")"
}

# download LIST: into the current directory.
download()
{
	xargs apt-get -o Debug::NoLocking=1 \
		-o APT::Get::AllowUnauthenticated=false download <"$1"
}

# unpack DEBS ROOT: with /usr merged, as Debian installs it.
unpack()
{
	local deb dir exclude=()

	for dir in "${LEAVE_OUT[@]}"; do
		exclude+=(--exclude="$dir")
	done
	for dir in bin sbin lib lib64; do
		mkdir -p "$2/usr/$dir"
		ln -s "usr/$dir" "$2/$dir"
	done
	for deb in "$1"/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$2" \
			--keep-directory-symlink --no-same-owner "${exclude[@]}"
	done
}

# finish ROOT: what maintainer scripts would have done.
finish()
{
	local root=$1 dir

	cp "$root/usr/share/base-passwd/passwd.master" "$root/etc/passwd"
	cp "$root/usr/share/base-passwd/group.master" "$root/etc/group"
	ln -sf gawk "$root/usr/bin/awk"
	ln -sf dash "$root/usr/bin/sh"
	echo "127.0.0.1 localhost" >"$root/etc/hosts"
	echo guest >"$root/etc/hostname"
	ln -sf /proc/mounts "$root/etc/mtab"
	for dir in dev proc sys tmp run guest out root var/tmp; do
		mkdir -p "$root/$dir"
	done
	install -m 755 "$TOP/guest/stage1" "$root/usr/sbin/stage1"
}

# make_image ROOT FILE: ext2, the same for the same files but for the inodes'
# change times.
make_image()
{
	local kib

	find "$1" -exec touch -h -d "@$EPOCH" {} +
	kib=$(du -sk --apparent-size "$1" | cut -f 1)
	rm -f "$2"
	E2FSPROGS_FAKE_TIME=$EPOCH mke2fs -q -t ext2 -d "$1" -m 0 -L root \
		-U 5d1f3f0e-0000-4000-8000-000000000001 \
		-E root_owner=0:0,hash_seed=5d1f3f0e-0000-4000-8000-000000000002 \
		"$2" "$((kib * 5 / 4 + 8192))k"
}

build()
{
	local list=$1 tmp=$ROOT/tmp

	rm -rf "$tmp"
	mkdir -p "$tmp/debs" "$tmp/root"
	(cd "$tmp/debs" && download "$list")
	unpack "$tmp/debs" "$tmp/root"
	finish "$tmp/root"
	make_image "$tmp/root" "$tmp/root.img"
	mv "$tmp/root.img" "$IMAGE"
	rm -rf "$tmp"
}

main()
{
	local list hash

	need_tool mke2fs guest
	mkdir -p "$ROOT"
	list=$ROOT/packages
	hash=$({ wanted; cat "$0" "$TOP/guest/stage1"; } | sha256sum)
	if [[ ! -f $IMAGE || $hash != "$(cat "$ROOT/hash" 2>/dev/null)" ]]; then
		lock
		need_space 1 "the guest's root"
		rm -f "$ROOT/hash"
		resolve_list "$list"
		run_logged "guest root of $(wc -l <"$list") packages" \
			bash "$0" build "$list" ||
			die E_BUILD "cannot make the guest's root; see build/log"
		echo "$hash" >"$ROOT/hash"
	fi
	echo "${IMAGE#"$TOP"/}"
}

case ${1:-} in
build) build "$2" ;;
'') main ;;
*) die E_USAGE "takes no argument" ;;
esac
