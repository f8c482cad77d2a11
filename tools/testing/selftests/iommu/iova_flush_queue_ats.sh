#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The flush queue of lazy mode and devices with ATS: their TLBs are flushed when
# their domain has something queued, and not for others.
#
# guest: IOMMU_OPTS=device-iotlb=on DEVS="ats-net net nvme nvme"
# debug: always
set -euo pipefail
# shellcheck source=iova_lib.sh
. "$(dirname "$(readlink -f "$0")")/iova_lib.sh"

# ats_net: a virtio network device with ATS in lazy mode; ATS is its group, and
# NETDEV its interface.
ats_net()
{
	local dir

	for dir in /sys/bus/pci/devices/*/virtio*/net/*; do
		[[ -e $dir ]] || continue
		NETDEV=${dir##*/}
		ATS=$(group_of "$(basename "${dir%/virtio*}")")
		[[ -e $COUNTERS/$ATS/flush_queue ]] || continue
		[[ $(fq "$ATS" extra) != 1 ]] || return 0
	done
	skip "no network device with ATS in lazy mode"
}

# send N: packets that nobody answers.
send()
{
	local n

	ip link set "$NETDEV" up
	ip addr replace 192.0.2.1/24 dev "$NETDEV"
	ip neigh replace 192.0.2.2 lladdr 02:00:00:00:00:02 dev "$NETDEV"
	for ((n = 0; n < $1; n++)); do
		echo x >/dev/udp/192.0.2.2/9
	done
}

quiet()
{
	[[ $(fq "$ATS" pending) -eq 0 ]]
}

# Case 15: lockdep sees the flush of a device TLB from the timer.
test_ats_device_is_extra_and_others_are_not()
{
	ats_net
	nvme 0
	equal "$(fq "$ATS" extra)" 1 "extra, of the ATS device"
	equal "$(fq "$GROUP" extra)" 0 "extra, of the disk"
	equal "$(fq "$GROUP" queue)" "$(fq "$ATS" queue)" "queue"
	send 200
	retry quiet
}

# read_two: two disks at once, so that the unit is flushed.
read_two()
{
	local unit disks

	need fio
	nvme 1
	disks=("$(disk_of "$NVME")")
	nvme 0
	disks+=("$(disk_of "$NVME")")
	unit=$(fq "$GROUP" flushes_unit)
	read_for 1000 "${disks[@]}" || fail "$(tail -n 3 "$WORK/fio.log")"
	at_most $((unit + 1)) "$(fq "$GROUP" flushes_unit)" \
		"flushes of the unit, at least"
}

test_device_tlbs_of_idle_domains_are_left_alone()
{
	local before

	ats_net
	ip link set "$NETDEV" down
	retry quiet
	before=$(fq "$ATS" flushes_extra)
	read_two
	equal "$(fq "$ATS" flushes_extra)" "$before" "flushes of device TLBs"
}

test_device_tlb_is_flushed_with_the_unit()
{
	local before sender

	ats_net
	before=$(fq "$ATS" flushes_extra)
	(while [[ ! -e $WORK/enough ]]; do send 20; done) &
	sender=$!
	read_two
	: >"$WORK/enough"
	wait "$sender"
	at_most $((before + 1)) "$(fq "$ATS" flushes_extra)" \
		"flushes of device TLBs, at least"
}

# The driver goes and comes back: ATS is switched off and on.
test_ats_device_goes_and_comes_back()
{
	local old n

	ats_net
	old=$(group_type "$ATS")
	for n in {1..5}; do
		send 50
		unbind_group "$ATS"
		set_type "$ATS" DMA
		set_type "$ATS" "$old"
		rebind_group "$ATS"
		sleep "0.$n"
	done
	ats_net
	send 50
	retry quiet
}

run_tests
