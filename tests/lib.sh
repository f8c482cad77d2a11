# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the workbench's tests share: a copy of the workbench in a directory of
# its own, on a base of a dozen lines that a stand-in for apt-get delivers.

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# unset what `make check` exports: each test is a run of its own
unset BASE KERNEL FLAVOUR CPUS APPEND CMD WB_START SUITES

# fake_source DIR SUBLEVEL: a kernel's source as far as these tests need one.
fake_source()
{
	local dir=$1 i

	mkdir -p "$dir"/{drivers/iommu,drivers/vfio,include/linux}
	printf 'VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = %s\n' "$2" \
		>"$dir/Makefile"
	printf '*.o\n' >"$dir/.gitignore"
	printf 'obj-y += iova.o\n' >"$dir/drivers/iommu/Makefile"
	printf 'upstream iova\n' >"$dir/drivers/iommu/iova.c"
	printf 'obsolete\n' >"$dir/drivers/iommu/obsolete.c"
	printf 'upstream header\n' >"$dir/include/linux/iova.h"
	for i in {1..40}; do
		echo "vfio line $i"
	done >"$dir/drivers/vfio/vfio.c"
	printf 'for Windows\r\n' >"$dir/crlf.txt"
	printf '#!/bin/sh\n' >"$dir/run.sh"
	chmod +x "$dir/run.sh"
	ln -s run.sh "$dir/link.sh"
}

# fake_package FILE SUBLEVEL [VERSION-OF-THE-PACKAGE]
fake_package()
{
	local dir

	dir=$(mktemp -d)
	fake_source "$dir/linux-source-6.12" "$2"
	mkdir -p "$dir/root/DEBIAN" "$dir/root/usr/src" \
		"$dir/root/usr/share/doc/linux-source-6.12"
	tar -cJf "$dir/root/usr/src/linux-source-6.12.tar.xz" -C "$dir" \
		linux-source-6.12
	cat >"$dir/root/DEBIAN/control" <<-END
		Package: linux-source-6.12
		Version: ${3:-6.12.$2-1}
		Architecture: all
		Maintainer: nobody <nobody@localhost>
		Description: a stand-in
	END
	gzip -n >"$dir/root/usr/share/doc/linux-source-6.12/changelog.Debian.gz" <<-END
		linux (6.12.$2-1) stable; urgency=medium

		  * A stand-in.

		 -- Nobody <nobody@localhost>  Thu, 01 May 2025 10:00:00 +0200
	END
	dpkg-deb --root-owner-group -b "$dir/root" "$1" >/dev/null
	rm -rf "$dir"
}

# fake_apt BIN: an apt-get that delivers $FAKE_DEB, first in PATH.  With
# FAKE_HANG it writes half a file and hangs.
fake_apt()
{
	mkdir -p "$1"
	cat >"$1/apt-get" <<-'END'
		#!/bin/bash
		echo "$*" >>"${FAKE_LOG:-/dev/null}"
		case " $* " in
		*" download "*)
			[[ -f ${FAKE_DEB:-} ]] || exit 100
			name=linux-source-6.12_6.12.1-1_all.deb
			if [[ -n ${FAKE_HANG:-} ]]; then
				head -c 100 "$FAKE_DEB" >"$name"
				sleep 60
			fi
			cp "$FAKE_DEB" "$name" ;;
		esac
	END
	chmod +x "$1/apt-get"
	PATH=$1:$PATH
}

# mail FILE SUBJECT: the head of an entry's file; the diff comes from stdin.
mail()
{
	cat >"$1" <<-END
		From: A. Developer <dev@example.org>
		Date: Thu, 1 May 2025 12:00:00 +0200
		Subject: [PATCH] $2

		The problem, and what mends it.

		Signed-off-by: A. Developer <dev@example.org>
		---

	END
	cat >>"$1"
}

# workbench DIR: the repository's scripts with a small series of three.
workbench()
{
	local dir=$1

	mkdir -p "$dir"/{patches/6.12,series,drivers/iommu,include/linux}
	cp -r "$REPO"/{Makefile,.gitignore,scripts,base} "$dir/"
	sed 's/^> //' >"$dir/series/6.12" <<-'END'
		# head

		patch vfio.patch # hook

		# why
		group tree.patch
		> 	drivers/iommu/tree.c

		group switch.patch
		> 	drivers/iommu/iova.c # ours
		> 	include/linux/iova.h
		> 	-drivers/iommu/obsolete.c
	END
	echo 'our tree' >"$dir/drivers/iommu/tree.c"
	echo 'our iova' >"$dir/drivers/iommu/iova.c"
	echo 'our header' >"$dir/include/linux/iova.h"
	mail "$dir/patches/6.12/vfio.patch" 'vfio: change line 20' <<-'END'
		diff --git a/drivers/vfio/vfio.c b/drivers/vfio/vfio.c
		--- a/drivers/vfio/vfio.c
		+++ b/drivers/vfio/vfio.c
		@@ -18,5 +18,5 @@
		 vfio line 18
		 vfio line 19
		-vfio line 20
		+vfio line twenty
		 vfio line 21
		 vfio line 22
	END
	mail "$dir/patches/6.12/tree.patch" 'iommu/iova: Add a tree' </dev/null
	mail "$dir/patches/6.12/switch.patch" 'iommu/iova: Use the tree' <<-'END'
		diff --git a/drivers/iommu/Makefile b/drivers/iommu/Makefile
		--- a/drivers/iommu/Makefile
		+++ b/drivers/iommu/Makefile
		@@ -1 +1 @@
		-obj-y += iova.o
		+obj-y += iova.o tree.o
	END
	git -C "$dir" init -q
}

# as_developer ARGUMENT...: git in the composed tree, with an identity.
as_developer()
{
	git -C "$TREE" -c user.name=Dev -c user.email=dev@example.org "$@"
}

# refused CODE TEXT COMMAND...: it must exit with CODE and one line with TEXT.
refused()
{
	local code=$1 text=$2 out rc=0

	shift 2
	out=$("$@" 2>&1 >/dev/null) || rc=$?
	out=$(grep -v '^\[ *[0-9]*s\]' <<<"$out") || :
	[[ $rc -eq $code ]] || fail "exit code $rc, not $code: $out"
	[[ $out = *"$text"* ]] || fail "no '$text' in: $out"
	[[ $(wc -l <<<"$out") -eq 1 ]] || fail "more than one line: $out"
}

fail()
{
	echo "$*" >&2
	exit 1
}

# equal A B WHAT
equal()
{
	[[ $1 = "$2" ]] || fail "$3: $1, not $2"
}

# state DIR...: what is there, to see that nothing changed.
state()
{
	find "$@" -type f -print0 | sort -z | xargs -0 sha256sum
}

# run_tests: each function test_* in a directory of its own; TAP.
run_tests()
{
	local tests n=0 name log rc failed=0

	mapfile -t tests < <(declare -F | sed -n 's/^declare -f \(test_.*\)/\1/p')
	SCRATCH=$(mktemp -d)
	trap 'rm -rf "$SCRATCH"' EXIT
	log=$SCRATCH/log
	export HOME=$SCRATCH
	set_up
	echo "TAP version 13"
	echo "1..${#tests[@]}"
	for name in "${tests[@]}"; do
		n=$((n + 1))
		mkdir "$SCRATCH/$name"
		# not in a condition: that would switch `set -e` off
		set +e
		(set -e; cd "$SCRATCH/$name"; "$name") >"$log" 2>&1 </dev/null
		rc=$?
		set -e
		if [[ $rc -eq 0 ]]; then
			echo "ok $n ${name#test_}"
		else
			failed=1
			echo "not ok $n ${name#test_}"
			sed 's/^/# | /' "$log"
		fi
		rm -rf "${SCRATCH:?}/$name"
	done
	return $failed
}
