# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What an idle guest spends on its IOMMU domains, in kB.

# magazines: by the slab cache that stock has for them alone (which must not be
# merged with others), or by the series' own account.
magazines()
{
	awk '$1 == "iommu_iova_magazine" { sum += $3 * $4 }
		FILENAME != "/proc/slabinfo" && $1 == "memory_caches" {
			sum += $2
		}
		END { print sum / 1024 }' /proc/slabinfo "$@"
}

run_memory()
{
	local dir=/sys/kernel files groups

	say "memory of an idle guest"
	sync
	echo 3 >/proc/sys/vm/drop_caches
	sleep 2
	shopt -s nullglob
	files=("$dir"/debug/iommu/groups/*/iova)
	groups=("$dir"/iommu_groups/*)
	{
		grep -E '^(SUnreclaim|Percpu):' /proc/meminfo
		echo "magazines: $(magazines "${files[@]}")"
		echo "groups: ${#groups[@]}"
		echo "cpus: $(nproc)"
	} >/out/memory-idle.txt
}
