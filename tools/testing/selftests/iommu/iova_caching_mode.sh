#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A remapping unit that caches what is not present (VT-d's caching mode, as
# emulated ones may have): each map is followed by an invalidation, too, and
# lazy mode is off. Case 26: every kind of domain, created and mapped into.
#
# guest: IOMMU_OPTS=caching-mode=on
# guest: IOMMU_OPTS=caching-mode=on,x-scalable-mode=on
# debug: always
set -euo pipefail
# shellcheck source=iova_lib.sh
. "$(dirname "$(readlink -f "$0")")/iova_lib.sh"

# caching: skip unless the first unit has the capability.
caching()
{
	local cap

	cap=$(cat /sys/class/iommu/dmar0/intel-iommu/cap 2>/dev/null) ||
		skip "no VT-d unit"
	(((0x$cap >> 7) & 1)) || skip "the unit is not in caching mode"
}

test_lazy_mode_is_off()
{
	local group

	caching
	for group in "$GROUPS_DIR"/*/; do
		[[ $(<"$group/type") != DMA-FQ ]] ||
			fail "group $(basename "$group") is in lazy mode"
	done
}

# The type is left as it was found.
test_dma_domains_of_each_type()
{
	local type old

	caching
	need fio
	nvme 0
	old=$(group_type "$GROUP")
	for type in DMA identity DMA-FQ DMA; do
		change_type "$GROUP" $type || echo "$type is refused"
		retry disk_ready "$NVME"
		echo "asked for $type: $(group_type "$GROUP")"
		read_disk "$(disk_of "$NVME")" --bssplit=4k/50:64k/25:128k/25
	done
	change_type "$GROUP" "$old"
	retry disk_ready "$NVME"
}

test_knob()
{
	caching
	need fio
	nvme 0
	knob "$GROUP" 1M
	read_disk "$(disk_of "$NVME")" --bssplit=4k/50:128k/50
	knob "$GROUP" 0
	read_disk "$(disk_of "$NVME")" --bssplit=4k/50:128k/50
}

# An unmanaged domain: all kinds of memory that user space maps.
test_vfio_domains()
{
	local memory

	caching
	[[ -x $HERE/vfio_type1_bench ]] || skip "no vfio_type1_bench"
	for memory in 4k scattered thp hugetlb; do
		"$HERE/vfio_type1_bench" $memory 16 1
	done
}

run_tests
