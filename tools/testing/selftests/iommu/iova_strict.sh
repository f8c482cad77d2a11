#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Strict mode under load, while what it relies on changes: CPUs, types of domains,
# devices that come and go in a group that is in use, with and without ATS.
#
# boot: iommu.strict=1
# guest: DEVS="nvme+nvme ats-net+ats-net" APPEND=iommu.strict=1
# guest: DEVS="nvme+nvme ats-net+ats-net" IOMMU_OPTS=device-iotlb=on,x-scalable-mode=on APPEND="iommu.strict=1 intel_iommu=on,sm_on"
# guest: DEVS="nvme+nvme ats-net+ats-net" IOMMU_OPTS=caching-mode=on
# debug: always
set -euo pipefail
# shellcheck source=iova_lib.sh
. "$(dirname "$(readlink -f "$0")")/iova_lib.sh"

# strict N: the N-th unused disk, whose group has to be in strict mode.
strict()
{
	need fio
	nvme "$1"
	[[ $(group_type "$GROUP") = DMA ]] ||
		skip "group $GROUP is $(group_type "$GROUP"), not DMA"
}

# strict_pair: NVME and OTHER, two disks of one group in strict mode; OTHER is not
# the first function of their slot.
strict_pair()
{
	local dev
	declare -A first=()

	need fio
	while IFS= read -r dev; do
		GROUP=$(group_of "$dev")
		[[ $(group_type "$GROUP") = DMA ]] || continue
		NVME=${first[$GROUP]:-}
		OTHER=$dev
		[[ -z $NVME || $OTHER = *.0 ]] || return 0
		first[$GROUP]=$dev
	done < <(nvme_unused | sort)
	skip "no two disks of one group in strict mode"
}

# reads MS DISK...: reads of all of them that do not fail.
reads()
{
	read_for "$@" || fail "$(grep -v '^ ' "$WORK/fio.log" | tail -n 3)"
}

test_a_load_leaves_nothing_behind()
{
	local ranges

	strict 0
	read_disk "$(disk_of "$NVME")"
	ranges=$(ranges_used "$GROUP")
	read_disk "$(disk_of "$NVME")" --bssplit=4k/50:64k/25:2m/25
	equal "$(wc -l <"$COUNTERS/$GROUP/flush_queue")" 0 \
		"counters of a flush queue"
	no_range_lost "$GROUP" "$ranges"
}

# Case 13.
test_two_disks_of_one_group()
{
	strict_pair
	reads 3000 "$(disk_of "$NVME")" "$(disk_of "$OTHER")"
}

test_cpus_come_and_go()
{
	local file files reader

	strict 0
	mapfile -t files < <(hotplug_cpus)
	[[ ${#files[@]} -gt 0 ]] || skip "no CPU can be taken off line"
	read_for 6000 "$(disk_of "$NVME")" &
	reader=$!
	for file in "${files[@]}" "${files[@]}"; do
		set_cpu "$file" 0
		sleep 0.3
		set_cpu "$file" 1
	done
	wait "$reader" || fail "$(grep -v '^ ' "$WORK/fio.log")"
}

test_types_change()
{
	local n reader

	strict 0
	for n in {1..4}; do
		change_type "$GROUP" DMA
		retry disk_ready "$NVME"
		read_for 1500 "$(disk_of "$NVME")" &
		reader=$!
		sleep "0.$n"
		# From strict to lazy it goes under load; where the unit wants
		# strict mode, it does not.
		set_type "$GROUP" DMA-FQ || :
		wait "$reader" || fail "$(grep -v '^ ' "$WORK/fio.log")"
	done
	change_type "$GROUP" DMA
	retry disk_ready "$NVME"
}

# come_and_go PCI N: a device is detached from its group's domain and attached.
come_and_go()
{
	local n

	for ((n = 0; n < $2; n++)); do
		echo 1 >"/sys/bus/pci/devices/$1/remove"
		sleep 0.1
		echo 1 >/sys/bus/pci/rescan
		retry test -e "/sys/bus/pci/devices/$1/driver"
	done
}

test_a_disk_comes_and_goes_beside_another()
{
	local reader

	strict_pair
	read_for 6000 "$(disk_of "$NVME")" &
	reader=$!
	come_and_go "$OTHER" 5
	wait "$reader" || fail "$(grep -v '^ ' "$WORK/fio.log")"
	retry disk_ready "$OTHER"
	reads 500 "$(disk_of "$OTHER")"
}

# ats_pair: NETDEV, the interface of a device with ATS in strict mode, and OTHER,
# a second device of its group.
ats_pair()
{
	local dir dev

	for dir in /sys/bus/pci/devices/*.0/virtio*/net/*; do
		[[ -e $dir ]] || continue
		NETDEV=${dir##*/}
		dev=$(basename "${dir%/virtio*}")
		GROUP=$(group_of "$dev")
		OTHER=${dev%.0}.1
		[[ -e $GROUPS_DIR/$GROUP/devices/$OTHER ]] || continue
		[[ $(group_type "$GROUP") != DMA ]] || return 0
	done
	skip "no two network devices of one group in strict mode"
}

send_until()
{
	ip link set "$NETDEV" up
	ip addr replace 192.0.2.1/24 dev "$NETDEV"
	ip neigh replace 192.0.2.2 lladdr 02:00:00:00:00:02 dev "$NETDEV"
	while [[ ! -e $1 ]]; do
		echo x >/dev/udp/192.0.2.2/9
	done
}

# with_device_tlbs: does the unit of GROUP know of them?
with_device_tlbs()
{
	local dev unit

	dev=$(find "$GROUPS_DIR/$GROUP/devices" -type l | head -n 1)
	unit=$(cat "$dev/iommu/intel-iommu/ecap")
	((16#$unit & 4))
}

# Case 25: its TLB is flushed by the other's unmaps until it is gone, and from when
# it is there.
test_ats_goes_on_and_off_beside_another()
{
	local sender before event=$TRACING/events/intel_iommu/qi_submit

	ats_pair
	: >"$TRACING/trace"
	echo 1 >"$event/enable"
	before=$(cat "/sys/class/net/$NETDEV/statistics/tx_packets")
	send_until "$WORK/enough" &
	sender=$!
	come_and_go "$OTHER" 8
	: >"$WORK/enough"
	wait "$sender"
	at_most $((before + 100)) \
		"$(cat "/sys/class/net/$NETDEV/statistics/tx_packets")" \
		"packets, at least"
	echo 0 >"$event/enable"
	if with_device_tlbs; then
		grep -q 'dev_tlb_inv' "$TRACING/trace" ||
			fail "no flush of a device TLB among the last"
	fi
}

run_tests
