#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# guest-tests.sh [KERNEL/FLAVOUR...]: run what is tested inside a guest, by
# default in series/vm and series/debug: the KUnit suites in one boot, in
# another guest/tests and tools/testing/selftests/iommu (see selftests.sh).
# Prints KTAP, a subtest for each boot; it fails, too, when the guest ends in
# any other way than it should, above all when its kernel complains.
#
# A selftest that is a script and has a line "# boot: PARAMETERS" is run alone,
# once for each such line, in a guest that was booted with these; and so it is
# with "# guest: VARIABLE=VALUE...", for a machine that vm.sh makes of these.
# What vfio relies on is tested with IOMMUs of other kinds, too.
#
# In a debug kernel everything takes ten times as long: by default it runs the
# KUnit suites and the tests that have a line "# debug: always", in C with a "*",
# those that race with something or want allocations to fail; with ALL=1 in the
# environment all.
#
# A boot that fails is tried once more, as emulation has races of its own: the first
# try is printed as comments, its log is kept, and the result says "tried twice".
# What a kernel complains of is no matter of emulation, and fails at once.  RETRY=0
# does without.
#
# ONLY=kunit, or ONLY="guest:devices.sh iommu:some-test.sh", runs only that.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

: "${ONLY:=}" "${ALL:=}" "${RETRY:=1}"
# The devices of the selftests.  The first testdev has a BAR to be mapped for
# vfio, the next one shares the group of a disk; "scratch" keeps what is written
# to it, as the null disks do not; the last two have ATS.
SELFTEST_DEVS="nvme nvme net net pci-testdev,membar=8G nvme+testdev scratch"
SELFTEST_DEVS+=" ats-net ats-net"
N=0
FAILED=0

# ktap: what a guest said, as the subtest that report() sums up.
ktap()
{
	sed -u 's/\r$//; s/^/    /'
}

# report NAME STATUS [REMARK]: the result line of a boot.
report()
{
	local why

	N=$((N + 1))
	case $2 in
	0)	echo "ok $N $1${3-}"; return ;;
	"$E_BOOT") why="the guest did not boot" ;;
	"$E_SPLAT") why="the kernel complained" ;;
	"$E_TIMEOUT") why="time-out" ;;
	*)	why="exit status $2" ;;
	esac
	FAILED=$((FAILED + 1))
	echo "not ok $N $1: $why${3-}"
}

# try NAME COMMAND: in a guest of KERNEL and FLAVOUR.
try()
{
	BZIMAGE=$B/$KERNEL-$FLAVOUR/arch/x86/boot/bzImage \
		CMD=$2 RUN=test-$KERNEL-$FLAVOUR-$1 \
		"$TOP/scripts/vm.sh" </dev/null 2> >(sed 's/^/: /' >&2) | ktap
}

# boot NAME COMMAND: what a try prints, and its result.
boot()
{
	local name=$1 out=$LOGS/guest-tests.out rc=0 remark=

	mkdir -p "$LOGS"
	try "$@" >"$out" || rc=$?
	if [[ $RETRY != 0 && $rc -ne $E_SPLAT ]] &&
		{ [[ $rc -ne 0 ]] || grep -q '^ *not ok' "$out"; }
	then
		sed 's/^/# first try: /' "$out"
		echo "# $KERNEL/$FLAVOUR $name: failed ($rc), trying again"
		rm -rf "$LOGS/test-$KERNEL-$FLAVOUR-$name-first"
		mv "$LOGS/test-$KERNEL-$FLAVOUR-$name"{,-first}
		rc=0
		remark=" # tried twice"
		try "$@" >"$out" || rc=$?
	fi
	cat "$out"
	report "$KERNEL/$FLAVOUR $name" "$rc" "$remark"
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

# run_selftests NAME COLLECTION:TEST...: in one boot.
run_selftests()
{
	local name=$1 run=/guest/selftests/run_kselftest.sh

	shift
	[[ $FLAVOUR != debug ]] || run+=" -o 1800"
	DEVS=${DEVS:-$SELFTEST_DEVS} TIMEOUT=2400 \
		IOMMU_OPTS=${IOMMU_OPTS-device-iotlb=on} \
		boot "$name" "$run $(printf -- '-t %s ' "$@")"
}

# marks NAME COLLECTION:TEST: its lines "# NAME: ...", of a program its source's.
marks()
{
	local file=$TOP/tools/testing/selftests/${2/://}

	[[ -f $file ]] || file+=.c
	[[ ! -f $file ]] || sed -n "s/^\(#\| \*\) $1: //p" "$file"
}

# wanted COLLECTION:TEST: is it one for this kernel?
wanted()
{
	[[ $FLAVOUR != debug || -n $ALL$ONLY || -n $(marks debug "$1") ]]
}

selftests()
{
	local test list together=() alone=() line n=0

	list=$TOP/$("$TOP/scripts/selftests.sh")/kselftest-list.txt
	for test in ${ONLY:-$(cat "$list")}; do
		if [[ $test = kunit ]] || ! wanted "$test"; then
			continue
		elif [[ -n $(marks boot "$test")$(marks guest "$test") ]]; then
			alone+=("$test")
		else
			together+=("$test")
		fi
	done
	[[ ${#together[@]} -eq 0 ]] || run_selftests selftests "${together[@]}"
	for test in "${alone[@]}"; do
		while IFS= read -r line; do
			n=$((n + 1))
			APPEND="$line $APPEND" \
				run_selftests "boot-$n" "$test"
		done < <(marks boot "$test")
		while IFS= read -r line; do
			n=$((n + 1))
			eval "$line run_selftests guest-$n $test"
		done < <(marks guest "$test")
	done
}

# other_iommus: each in a boot of its own, with one CPU, where reschedule points
# are counted as well; not in a debug kernel by default.
other_iommus()
{
	local iommu test=iommu:vfio_type1

	[[ $FLAVOUR != debug || -n $ALL$ONLY ]] || return 0
	[[ -z $ONLY || " $ONLY " = *" $test "* ]] || return 0
	for iommu in intel amd virtio; do
		CPUS=1 IOMMU=$iommu IOMMU_OPTS='' run_selftests "vfio-$iommu" "$test"
	done
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
	other_iommus
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
