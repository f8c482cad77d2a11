#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# max_opt_dma_size and what happens to a group: its value outlives the default
# domain, waits where there is none, and reaches the drivers that ask for it.
# debug: always
set -euo pipefail
# shellcheck source=iova_lib.sh
. "$(dirname "$(readlink -f "$0")")/iova_lib.sh"

# expect GROUP BYTES: shown, and in force if there is a DMA domain.
expect()
{
	equal "$(knob "$1")" "$2" "group $1, $(group_type "$1")"
	[[ $(group_type "$1") = DMA* ]] || return 0
	[[ ! -e $COUNTERS/$1/iova ]] ||
		equal "$(counter "$1" max_opt_dma_size)" "$2" "in force"
}

# queue FILE: an attribute of the queue of NVME's disk.
queue()
{
	retry disk_ready "$NVME"
	cat "/sys/block/$(basename "$(disk_of "$NVME")")/queue/$1"
}

reprobe()
{
	unbind "$NVME"
	echo "$NVME" >/sys/bus/pci/drivers/nvme/bind
	retry disk_ready "$NVME"
}

test_survives_type_changes()
{
	local type old

	nvme 0
	old=$(group_type "$GROUP")
	knob "$GROUP" 2M
	unbind_group "$GROUP"
	for type in identity DMA-FQ DMA identity DMA auto "$old"; do
		set_type "$GROUP" "$type"
		expect "$GROUP" 2097152
	done
	rebind_group "$GROUP"
	expect "$GROUP" 2097152
}

test_waits_for_a_dma_domain()
{
	local old

	nvme 0
	old=$(group_type "$GROUP")
	unbind_group "$GROUP"
	set_type "$GROUP" identity
	[[ ! -e $COUNTERS/$GROUP/iova ]] ||
		equal "$(wc -c <"$COUNTERS/$GROUP/iova")" 0 "counters' length"
	knob "$GROUP" 0
	expect "$GROUP" $((32 * $(page_size)))
	knob "$GROUP" 1M
	expect "$GROUP" 1048576
	set_type "$GROUP" DMA-FQ
	expect "$GROUP" 1048576
	set_type "$GROUP" "$old"
	rebind_group "$GROUP"
}

# The one change of type that drivers may be bound for.
test_survives_dma_to_dma_fq_while_bound()
{
	local old

	nvme 0
	old=$(group_type "$GROUP")
	change_type "$GROUP" DMA
	retry disk_ready "$NVME"
	knob "$GROUP" 512K
	set_type "$GROUP" DMA-FQ
	expect "$GROUP" 524288
	knob "$GROUP" 256K
	expect "$GROUP" 262144
	change_type "$GROUP" "$old"
}

test_survives_probes()
{
	nvme 0
	knob "$GROUP" 4M
	reprobe
	expect "$GROUP" 4194304
	reprobe
	expect "$GROUP" 4194304
}

test_groups_of_many_devices_with_drivers_bound()
{
	local group dev bound any=

	for group in "$GROUPS_DIR"/*; do
		group=${group##*/}
		bound=0
		for dev in $(group_devices "$group"); do
			[[ -z $(driver_of "$dev") ]] || bound=$((bound + 1))
		done
		[[ $bound -ge 1 && $(group_devices "$group" | wc -l) -ge 2 ]] ||
			continue
		any=yes
		knob "$group" 1M
		expect "$group" 1048576
		knob "$group" 64K
		expect "$group" 65536
	done
	[[ -n $any ]] || skip "no group of two devices with a driver"
}

# Case 34: odd values are rounded before any driver sees them, and a driver sees
# them when it probes, not before.
test_nvme_takes_it_when_it_probes()
{
	local most optimal value want

	nvme 0
	[[ $(group_type "$GROUP") = DMA* ]] || skip "$GROUP maps no DMA"
	knob "$GROUP" 4M
	reprobe
	most=$(queue max_hw_sectors_kb)
	optimal=$(queue optimal_io_size)
	for value in 96K:128 4K:4 0:128 1M:1024 4M:4096; do
		want=${value#*:}
		[[ $want -le $most ]] || want=$most
		knob "$GROUP" "${value%:*}"
		reprobe
		equal "$(queue max_hw_sectors_kb)" "$want" \
			"max_hw_sectors_kb at ${value%:*}"
		equal "$(queue optimal_io_size)" "$optimal" \
			"optimal_io_size at ${value%:*}"
		read_disk "$(disk_of "$NVME")" --bs=64k --number_ios=50
	done
	knob "$GROUP" 64K
	equal "$(queue max_hw_sectors_kb)" "$want" "without a probe"
	if knob "$GROUP" 12M 2>/dev/null; then
		fail "12M was taken"
	fi
	reprobe
	equal "$(queue max_hw_sectors_kb)" 64 "after 12M was refused"
	put_back
	reprobe
}

run_tests
