#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The packages of make deb: installed into a Debian root, and booted behind
# VT-d.  TAP.
# shellcheck disable=SC2016 # the guest expands
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

set_up()
{
	"$REPO/scripts/root.sh" >/dev/null
	"$REPO/scripts/deb.sh" >"$SCRATCH/debs"
	mapfile -t DEBS <"$SCRATCH/debs"
	ROOT=$SCRATCH/root
}

test_bad_configurations_are_refused()
{
	echo 'CONFIG_IOMMU_SUPPORT is not set' >config
	refused 2 'no kernel configuration' env CONFIG="$PWD/config" \
		"$REPO/scripts/deb.sh"
	refused 2 'no kernel configuration' env CONFIG=none \
		"$REPO/scripts/deb.sh"
}

test_image_and_headers_install()
{
	local deb

	mkdir -p "$ROOT"
	debugfs -R "rdump / $ROOT" "$REPO/build/root/root.img" 2>debugfs.log
	mkdir -p "$ROOT"/var/lib/dpkg/{info,updates,triggers}
	touch "$ROOT"/var/lib/dpkg/status
	for deb in "${DEBS[@]}"; do
		case $deb in
		*/linux-image-*-dbg_*) ;;
		*/linux-image-* | */linux-headers-*)
			# what it depends on was unpacked, and not by dpkg
			dpkg --root="$ROOT" --force-depends -i "$REPO/$deb" ;;
		esac
	done
	ls "$ROOT"/boot/vmlinuz-*-iova
	ls -d "$ROOT"/usr/src/linux-headers-*-iova
}

test_it_boots_behind_vt_d()
{
	local kernel

	kernel=$(echo "$ROOT"/boot/vmlinuz-*-iova)
	BZIMAGE=$kernel RUN=test-deb CMD='
		set -e
		uname -r
		disk=$(pci_find nvme)
		domain_type "$disk"
		knob "$disk" 1M
		knob "$disk"' "$REPO/scripts/vm.sh" </dev/null >out
	equal "$(cat out)" "$(printf '%s\n' "${kernel##*/vmlinuz-}" DMA-FQ \
		1048576)" 'the guest says'
}

run_tests
