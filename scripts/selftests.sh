#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# selftests.sh: build what the guest runs of the composed tree, and lay it out
# as kselftest's own "install" does, in build/$BASE/selftests:
#	dma		dma_map_benchmark
#	iommu		the selftests that this repository owns
#	guest		guest/tests: is the guest what it should be?
# A test is an executable *.sh, or a *.c that includes kselftest.h or
# kselftest_harness.h; any other *.c is a program for the tests, and any other
# file is brought along.  Builds again only what is out of date.  Prints the
# directory.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

TREE=$B/linux
WORK=$B/selftests.build
INSTALL=$B/selftests
KSFT=$TREE/tools/testing/selftests
OWN=$TOP/tools/testing/selftests/iommu
export TOP TREE WORK INSTALL KSFT OWN

# kselftest_install NAME VARIABLE...: by kselftest's makefile in NAME, with
# these variables instead of its own.
kselftest_install()
{
	local name=$1

	shift
	mkdir -p "$WORK/$name"
	make -s -C "$KSFT/$name" OUTPUT="$WORK/$name" \
		INSTALL_PATH="$INSTALL/$name" CFLAGS="-O2 -Wall -D_GNU_SOURCE \
			-I$WORK/usr/include -I$TREE/include -I$KSFT" \
		"$@" install
}

# own_programs test|helper: of the owned *.c, the programs.
own_programs()
{
	local file kind

	for file in "$OWN"/*.c; do
		[[ -f $file ]] || continue
		kind=helper
		! grep -q '^#include ".*kselftest\(_harness\)\?\.h"' "$file" ||
			kind="test"
		[[ $kind != "$1" ]] || echo "$WORK/iommu/$(basename "$file" .c)"
	done
}

# own_scripts test|helper: of the owned rest, the names.
own_scripts()
{
	local file kind

	for file in "$OWN"/*; do
		[[ -f $file && $file != *.[ch] ]] || continue
		kind=helper
		[[ $file != *.sh || ! -x $file ]] || kind="test"
		[[ $kind != "$1" ]] || basename "$file"
	done
}

build_all()
{
	make -s -C "$TREE" O="$WORK" headers
	# kselftest's makefiles know of no header that a program includes
	rm -rf "$INSTALL" "$WORK/iommu"
	mkdir -p "$INSTALL/kselftest" "$INSTALL/iommu"
	cp "$KSFT"/kselftest/*.sh "$INSTALL/kselftest"
	cp "$KSFT/run_kselftest.sh" "$INSTALL"
	kselftest_install dma
	kselftest_install iommu \
		TEST_GEN_PROGS="$(own_programs test | xargs)" \
		TEST_GEN_FILES="$(own_programs helper | xargs)" \
		TEST_PROGS="$(own_scripts test | xargs)" \
		TEST_FILES="$(own_scripts helper | xargs)"
	cp -r "$TOP/guest/tests" "$INSTALL/guest"
	{
		(cd "$INSTALL/guest" && printf 'guest:%s\n' *.sh)
		{ own_programs test; own_scripts test; } |
			sed 's,.*/,,; s,^,iommu:,'
	} >"$INSTALL/kselftest-list.txt"
}

# in_tree: does the composed tree have the selftests of this repository?
in_tree()
{
	local file name

	[[ -d $KSFT/iommu ]] || return
	for file in "$OWN"/*; do
		name=$KSFT/iommu/$(basename "$file")
		[[ ! -f $file ]] || cmp -s "$file" "$name" || return
	done
}

# inputs: the state of all that the build depends on.
inputs()
{
	sha256sum "$0"
	git -C "$TREE" rev-parse "HEAD:include/uapi" \
		"HEAD:tools/testing/selftests/dma"
	git -C "$TREE" diff HEAD -- include/uapi tools/testing/selftests/iommu
	find "$KSFT/iommu" "$TOP/guest/tests" -type f -printf '%P %m %s %T@\n' | sort
}

main()
{
	local hash

	in_tree || "$TOP/scripts/tree.sh"
	hash=$(inputs | sha256sum)
	if [[ $hash != "$(cat "$INSTALL/hash" 2>/dev/null)" ]]; then
		lock
		run_logged "selftests" strict build_all ||
			die E_BUILD "cannot build the selftests; see build/log"
		inputs | sha256sum >"$INSTALL/hash"
	fi
	echo "${INSTALL#"$TOP"/}"
}

main "$@"
