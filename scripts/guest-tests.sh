#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# guest-tests.sh [KERNEL/FLAVOUR...]: run what is tested inside a guest, by
# default in series/vm and series/debug: the KUnit suites in one boot, in
# another guest/tests and tools/testing/selftests/iommu (see selftests.sh).
# Prints KTAP, a subtest for each boot; it fails, too, when the guest ends in
# any other way than it should, above all when its kernel complains.
#
# ONLY=kunit, or ONLY="guest:devices.sh iommu:some-test.sh", runs only that.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

: "${ONLY:=}"
N=0
FAILED=0

# ktap: what a guest said, as the subtest that report() sums up.
ktap()
{
	sed 's/\r$//; s/^/    /'
}

# report NAME STATUS: the result line of a boot.
report()
{
	local why

	N=$((N + 1))
	case $2 in
	0)	echo "ok $N $1"; return ;;
	"$E_BOOT") why="the guest did not boot" ;;
	"$E_SPLAT") why="the kernel complained" ;;
	"$E_TIMEOUT") why="time-out" ;;
	*)	why="exit status $2" ;;
	esac
	FAILED=$((FAILED + 1))
	echo "not ok $N $1: $why"
}

# boot NAME COMMAND: in a guest of KERNEL and FLAVOUR.
boot()
{
	local name=$1 rc=0

	BZIMAGE=$B/$KERNEL-$FLAVOUR/arch/x86/boot/bzImage \
		CMD=$2 RUN=test-$KERNEL-$FLAVOUR-$name \
		"$TOP/scripts/vm.sh" </dev/null 2> >(sed 's/^/: /' >&2) |
		ktap || rc=$?
	report "$KERNEL/$FLAVOUR $name" "$rc"
}

# suites: the names in configs/kunit; only the series has them.
suites()
{
	[[ $KERNEL = base ]] || sed 's/#.*//' "$TOP/configs/kunit" | xargs
}

# kunit: the suites ran while the kernel booted; their results are in debugfs.
# With none there is nothing to run.
kunit()
{
	local wanted

	wanted=$(suites)
	[[ -n $wanted ]] || return 0
	BOOT_TIMEOUT=600 APPEND="kunit.enable=1 $APPEND" \
		boot kunit "kunit_results $wanted"
}

selftests()
{
	local tests=${ONLY//kunit/} one args=()

	for one in $tests; do
		args+=(-t "$one")
	done
	[[ -z $ONLY || ${#args[@]} -gt 0 ]] || return 0
	[[ $FLAVOUR != debug ]] || args+=(-o 900)
	TIMEOUT=1800 boot selftests \
		"/guest/selftests/run_kselftest.sh ${args[*]}"
}

# run_guest KERNEL/FLAVOUR
run_guest()
{
	KERNEL=${1%/*}
	FLAVOUR=${1#*/}
	check_vars
	"$TOP/scripts/kernel.sh" >/dev/null
	[[ -n $ONLY && " $ONLY " != *" kunit "* ]] || kunit
	selftests
}

main()
{
	local guest

	[[ $# -gt 0 ]] || set -- series/vm series/debug
	echo "TAP version 13"
	for guest; do
		run_guest "$guest"
	done
	echo "1..$N"
	[[ $FAILED -eq 0 ]] || exit "$E_TEST"
}

main "$@"
