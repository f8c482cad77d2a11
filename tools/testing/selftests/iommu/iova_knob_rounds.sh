#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Rounds of unbind, type, max_opt_dma_size, bind and short I/O, with caches that
# are empty, half full and full: each round makes and destroys a domain. Nothing
# may be left behind. IOVA_TEST_ROUNDS sets how many.
# debug: always
set -euo pipefail
# shellcheck source=iova_lib.sh
. "$(dirname "$(readlink -f "$0")")/iova_lib.sh"

TYPES=(DMA-FQ DMA identity)
VALUES=(0 4M 4K 1M 96K)
KMEMLEAK=/sys/kernel/debug/kmemleak

# rounds: fewer where every access is checked.
rounds()
{
	if [[ -n ${IOVA_TEST_ROUNDS:-} ]]; then
		echo "$IOVA_TEST_ROUNDS"
	elif checking_kernel; then
		echo 20
	else
		echo 100
	fi
}

# short_io N: nothing, a little, or enough to fill magazines and depots.
short_io()
{
	local disk

	disk=$(disk_of "$NVME")
	case $(($1 % 10)) in
	0) ;;
	5) read_disk "$disk" --bssplit=4k/50:64k/30:200k/20 --iodepth=64 \
		--numjobs=4 --number_ios=300 ;;
	*) dd if="$disk" of=/dev/null bs=$((4 * ($1 % 40 + 1)))k count=10 \
		iflag=direct status=none ;;
	esac
}

one_round()
{
	unbind_group "$GROUP"
	set_type "$GROUP" "${TYPES[$1 % 3]}"
	knob "$GROUP" "${VALUES[$1 % 5]}"
	rebind_group "$GROUP"
	retry disk_ready "$NVME"
	short_io "$1"
}

iommu_pages()
{
	awk '$1 == "nr_iommu_pages" { print $2 }' /proc/vmstat
}

# kmalloc_objects: of the sizes that magazines and CPUs' parts have.
kmalloc_objects()
{
	awk '$1 ~ /^kmalloc-(128|256|512|1k|2k)$/ { n += $2 } END { print n + 0 }' \
		/proc/slabinfo
}

# settle: what is freed late has been freed.
settle()
{
	sync
	echo 1 >/sys/kernel/slab/iommu_iova/shrink 2>/dev/null || :
	sleep 2
}

# leaks: what kmemleak says of this code. KASAN delays frees, so that objects
# cannot be counted where it works.
leaks()
{
	sleep 6		# it does not look at what is younger than 5 s
	echo scan >$KMEMLEAK
	echo scan >$KMEMLEAK
	awk 'BEGIN { RS = "unreferenced object" } /iova|iommu|fq_/' $KMEMLEAK
}

test_nothing_is_left_behind()
{
	local i n ranges pages objects old

	need fio
	nvme 0
	n=$(rounds)
	old=$(group_type "$GROUP")
	# the first rounds allocate what then stays
	for i in {0..14}; do
		one_round "$i"
	done
	settle
	ranges=$(slab iommu_iova)
	pages=$(iommu_pages)
	objects=$(kmalloc_objects)
	! checking_kernel || echo clear >$KMEMLEAK
	for ((i = 15; i < n + 15; i++)); do
		one_round "$i"
	done
	# end on what the first rounds ended on
	one_round 14
	settle
	echo "$n rounds; ranges: $ranges, $(slab iommu_iova);" \
		"page-table pages: $pages, $(iommu_pages);" \
		"kmalloc objects: $objects, $(kmalloc_objects)"
	at_most "$(slab iommu_iova)" $((ranges + n / 4)) ranges
	at_most "$(iommu_pages)" $((pages + n / 4)) "page-table pages"
	if checking_kernel; then
		equal "$(leaks)" "" "kmemleak"
	else
		at_most "$(kmalloc_objects)" $((objects + n / 2)) \
			"kmalloc objects"
	fi
	change_type "$GROUP" "$old"
}

run_tests
