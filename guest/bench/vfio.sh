# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# vfio_type1_bench: map and unmap a region for a pci-testdev bound to vfio-pci.

run_vfio()
{
	local name memory mib rounds

	while read -r name memory mib rounds; do
		say "vfio, $name"
		/guest/selftests/iommu/vfio_type1_bench \
			"$memory" "$mib" "$rounds" >"/out/vfio-$name.txt"
	done < <(cases vfio)
}
