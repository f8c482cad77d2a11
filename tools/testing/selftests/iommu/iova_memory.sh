#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What the caches of the IOVA allocator cost: nothing before they are used,
# whatever max_opt_dma_size says, and a bounded amount afterwards.
set -euo pipefail
# shellcheck source=iova_lib.sh
. "$(dirname "$(readlink -f "$0")")/iova_lib.sh"

# groups: those that have a DMA domain.
groups()
{
	local file

	for file in "$COUNTERS"/*/iova; do
		[[ -e $file ]] || skip "no $COUNTERS"
		file=$(basename "$(dirname "$file")")
		[[ -z $(counter "$file" granule) ]] || echo "$file"
	done
}

possible_cpus()
{
	awk -F - '{ print $NF + 1 }' /sys/devices/system/cpu/possible
}

# Case 20: magazines for every CPU, group and size used to be made in advance.
# A tenth of that, 12 KiB a possible CPU, is the most that an idle group may cost.
test_idle_groups_cost_a_pointer_a_cpu()
{
	local group bound idle=0

	bound=$((12288 * $(possible_cpus) / 10))
	for group in $(groups); do
		[[ $(counter "$group" cpus) -eq 0 ]] || continue
		idle=$((idle + 1))
		at_most "$(counter "$group" memory_caches)" "$bound" \
			"bytes of idle group $group"
	done
	[[ $idle -gt 0 ]] || skip "no idle group"
	echo "$idle idle groups, $(possible_cpus) possible CPUs"
}

test_idle_cost_does_not_follow_the_knob()
{
	local group value cost idle=

	for group in $(groups); do
		[[ $(counter "$group" cpus) -eq 0 ]] || continue
		idle=$group
		cost=$(counter "$group" memory_caches)
		for value in 4K 128K 4M; do
			knob "$group" "$value"
			equal "$(counter "$group" memory_caches)" "$cost" \
				"bytes of group $group at $value"
		done
	done
	[[ -n $idle ]] || skip "no idle group"
}

# A CPU's part, and two magazines of at most 2 KiB a class; the depot holds what
# is exchanged, and lets go of it.
test_used_cost_is_bounded_and_falls()
{
	local bound

	need fio
	nvme 0
	groups >/dev/null
	knob "$GROUP" 4M
	unbind "$NVME"
	echo "$NVME" >/sys/bus/pci/drivers/nvme/bind
	retry disk_ready "$NVME"
	read_disk "$(disk_of "$NVME")" --bssplit=4k/20:16k/20:64k/20:256k/40 \
		--numjobs=4 --iodepth=64
	bound=$((8192 + $(counter "$GROUP" cpus) * (2048 + 11 * 2 * 2048)))
	retry costs_at_most "$GROUP" "$bound"
	echo "$(counter "$GROUP" memory_caches) of $bound bytes"
}

costs_at_most()
{
	[[ $(counter "$1" memory_caches) -le $2 ]]
}

run_tests
