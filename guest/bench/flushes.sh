# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Commands that lazy unmapping gives to the remapping unit, counted and not
# timed: fio reads from N disks at once, each in a group and so a domain of its
# own, and ftrace counts the unmaps and the submissions to the unit's queue.

run_flushes()
{
	local name disks n jobs

	while read -r name disks; do
		say "flushes, $disks domains"
		jobs=()
		for ((n = 0; n < disks; n++)); do
			jobs+=(--name="disk$n" --filename="/dev/nvme${n}n1")
		done
		calls_during iommu_unmap_fast "$(submit_function)" -- \
			fio --rw=randread --bs=4k --ioengine=io_uring \
			--iodepth=8 --direct=1 --norandommap --time_based \
			--runtime=2 "${jobs[@]}" 2>/dev/null | submissions \
			>"/out/flushes-$name.txt"
	done < <(cases flushes)
}
