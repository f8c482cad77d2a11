#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The counters in debugfs: they add up, they tell a cached size from one that is
# not, and they can be read while groups and domains come and go.
#
# debug: always
set -euo pipefail
# shellcheck source=iova_lib.sh
. "$(dirname "$(readlink -f "$0")")/iova_lib.sh"

need_counters()
{
	nvme 0
	[[ -e $COUNTERS/$GROUP/iova ]] || skip "no $COUNTERS"
	[[ -n $(counter "$GROUP" granule) ]] || skip "$GROUP maps no DMA"
}

test_format()
{
	need_counters
	if grep -Evx '[a-z0-9_]+ [0-9]+' "$COUNTERS/$GROUP/iova"; then
		fail "a line is no key and number"
	fi
	if cut -d ' ' -f 1 "$COUNTERS/$GROUP/iova" | sort | uniq -d | grep .; then
		fail "a key comes twice"
	fi
}

adds_up()
{
	local live used queued cached sum

	live=$(counter "$1" ranges_live)
	used=$(counter "$1" ranges_used)
	queued=$(counter "$1" ranges_queued)
	cached=$(counter "$1" ranges_cached)
	sum=$(awk '$1 ~ /^class[0-9]+_(cpu|depot)$/ { n += $2 }
		END { print n }' "$COUNTERS/$1/iova")
	[[ $live -eq $((used + queued + cached)) && $cached -eq $sum ]]
}

test_ranges_add_up()
{
	need fio
	need_counters
	read_disk "$(disk_of "$NVME")" --bssplit=4k/50:64k/50
	retry queue_empty "$GROUP"
	retry adds_up "$GROUP"
}

# What the knob is for: one page beyond it, each request searches the tree.
# Within it the tree is asked when more ranges are in flight than ever before,
# and after a pause in which the depots have given some back.
test_tree_is_left_alone_within_the_knob()
{
	local disk knob searches requests=3000

	need_counters
	! checking_kernel || requests=500
	disk=$(disk_of "$NVME")
	for knob in 64K 32K; do
		knob "$GROUP" "$knob"
		one_by_one "$disk" $requests
		searches=$(counter "$GROUP" tree_searches)
		one_by_one "$disk" $requests
		searches=$(($(counter "$GROUP" tree_searches) - searches))
		echo "knob $knob: $searches searches for $requests of 64 KiB"
		case $knob in
		64K) at_most "$searches" $((requests / 10)) \
			"searches within the knob" ;;
		32K) at_most $requests "$searches" \
			"searches beyond it, at least" ;;
		esac
	done
}

# one_by_one DISK REQUESTS: each of 64 KiB, all from one CPU.
one_by_one()
{
	taskset -c 0 dd if="$1" of=/dev/null bs=64k count="$2" \
		iflag=direct status=none
}

# read_all: every file of counters, until told to stop.
read_all()
{
	while [[ -e $WORK/reading ]]; do
		cat "$COUNTERS"/*/iova >/dev/null 2>&1 || :
	done
}

test_readers_while_domains_go()
{
	local old reader

	need_counters
	old=$(group_type "$GROUP")
	: >"$WORK/reading"
	read_all &
	reader=$!
	for _ in {0..9}; do
		unbind_group "$GROUP"
		set_type "$GROUP" identity
		set_type "$GROUP" "$old"
		rebind_group "$GROUP"
		retry disk_ready "$NVME"
	done
	rm "$WORK/reading"
	wait "$reader"
}

# lone_testdev: QEMU's pci-testdev in a group of its own; TESTDEV and GROUP.
lone_testdev()
{
	local dir

	for dir in /sys/bus/pci/devices/*; do
		[[ $(<"$dir/vendor"):$(<"$dir/device") = 0x1b36:0x0005 ]] ||
			continue
		[[ -e $dir/iommu_group ]] || continue
		TESTDEV=${dir##*/}
		GROUP=$(group_of "$TESTDEV")
		[[ $(group_devices "$GROUP" | wc -l) -gt 1 ]] || return 0
	done
	skip "no pci-testdev in a group of its own"
}

test_readers_while_groups_go()
{
	local reader

	[[ -d $COUNTERS ]] || skip "no $COUNTERS"
	lone_testdev
	: >"$WORK/reading"
	read_all &
	reader=$!
	for _ in {0..4}; do
		echo 1 >"/sys/bus/pci/devices/$TESTDEV/remove"
		[[ ! -e $COUNTERS/$GROUP ]] || fail "group $GROUP is still shown"
		echo 1 >/sys/bus/pci/rescan
		GROUP=$(group_of "$TESTDEV")
		[[ -e $COUNTERS/$GROUP/iova ]] || fail "group $GROUP is not shown"
	done
	rm "$WORK/reading"
	wait "$reader"
}

run_tests
