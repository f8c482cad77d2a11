# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What an idle guest spends on its IOMMU domains.

# settle: free what is on its way, so that what counts is in use.
settle()
{
	sync
	echo 3 >/proc/sys/vm/drop_caches
	sleep 2
}

run_memory()
{
	local domain dir=/sys/kernel/debug/iommu

	say "memory of an idle guest"
	settle
	{
		grep -E '^(SUnreclaim|Percpu|KernelStack|PageTables):' \
			/proc/meminfo
		awk '$1 ~ /^iommu_iova/ { print $1 ":", $3 * $4 / 1024, "kB" }' \
			/proc/slabinfo
		echo "groups: $(find /sys/kernel/iommu_groups -mindepth 1 \
			-maxdepth 1 | wc -l)"
	} >/out/memory-idle.txt
}
