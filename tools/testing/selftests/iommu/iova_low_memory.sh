#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# I/O virtual addresses below 4 GiB: who gets them, and that caches of long
# ranges do not keep them from a device that can drive no others.  The guest's
# tests boot once with each of these:
# boot: iommu.forcedac=0
# boot: iommu.forcedac=1
set -euo pipefail
# shellcheck source=iova_lib.sh
. "$(dirname "$(readlink -f "$0")")/iova_lib.sh"

# mapped: first address of each mapping that is traced while the command runs.
mapped()
{
	local trace=$TRACING

	[[ -d $trace/events/iommu/map ]] || skip "no trace event iommu:map"
	echo 1 >"$trace/events/iommu/map/enable"
	: >"$trace/trace"
	"$@"
	echo 0 >"$trace/events/iommu/map/enable"
	sed -n 's/.*iova=0x\([0-9a-f]*\) .*/\1/p' "$trace/trace"
}

forced_dac()
{
	grep -Eq '(^| )iommu\.forcedac=(1|y|on)' /proc/cmdline
}

# Case 35: some hardware fails above 4 GiB, although it says otherwise.
test_low_addresses_first_unless_forced()
{
	local high

	nvme 0
	[[ $(group_type "$GROUP") = DMA* ]] || skip "$GROUP maps no DMA"
	# a knob of one page caches no long range from before
	knob "$GROUP" 4K
	mapped dd if="$(disk_of "$NVME")" of=/dev/null bs=128k count=100 \
		iflag=direct status=none >"$WORK/iova"
	at_most 50 "$(wc -l <"$WORK/iova")" "mappings seen, at least"
	high=$(grep -Ec '[1-9a-f][0-9a-f]*[0-9a-f]{8}$' <(
		sed 's/^0*//' "$WORK/iova")) || :
	if forced_dac; then
		at_most 1 "$high" "above 4 GiB with iommu.forcedac=1, at least"
	else
		equal "$high" 0 "above 4 GiB"
	fi
}

# neighbour: a pci-testdev in the group of an unused NVMe disk.
neighbour()
{
	local found dev

	mapfile -t found < <(nvme_unused)
	for NVME in "${found[@]}"; do
		GROUP=$(group_of "$NVME")
		for dev in $(group_devices "$GROUP"); do
			[[ $(<"/sys/bus/pci/devices/$dev/device") = 0x0005 ]] ||
				continue
			TESTDEV=$dev
			return
		done
	done
	skip "no NVMe disk and pci-testdev in one group"
}

# Case 10.
test_32bit_device_beside_a_busy_64bit_one()
{
	local reader pages

	need fio
	neighbour
	knob "$GROUP" 4M
	unbind "$NVME"
	echo "$NVME" >/sys/bus/pci/drivers/nvme/bind
	retry disk_ready "$NVME"
	fio --name=busy --filename="$(disk_of "$NVME")" --direct=1 \
		--rw=randread --bssplit=4k/20:64k/20:132k/20:512k/40 \
		--ioengine=io_uring --iodepth=64 --numjobs=4 --time_based \
		--runtime=120 >"$WORK/fio.log" 2>&1 &
	reader=$!
	for pages in 1 32 256 1024; do
		map_benchmark "$TESTDEV" 32 "$pages" 2
		kill -0 "$reader" || fail "the reader has ended: $(<"$WORK/fio.log")"
	done
	kill -INT "$reader"
	wait "$reader" || :
	unbind "$TESTDEV"
}

run_tests
