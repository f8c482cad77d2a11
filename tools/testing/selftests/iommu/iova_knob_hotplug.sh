#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# max_opt_dma_size against CPUs that come and go, and against a controller that
# is reset: the orders in which their locks are taken must not close a circle.
# The verdict is lockdep's, on a kernel that has it; on any other, it is whether
# all of it ends.
#
# debug: always
set -euo pipefail
# shellcheck source=iova_lib.sh
. "$(dirname "$(readlink -f "$0")")/iova_lib.sh"

VALUES=(128K 4M 4K 1M 0)

# flap_cpus TIMES: in turn, and all back at the end.
flap_cpus()
{
	local cpus n file

	mapfile -t cpus < <(hotplug_cpus)
	for ((n = 0; n < $1; n++)); do
		file=${cpus[n % ${#cpus[@]}]}
		set_cpu "$file" 0
		set_cpu "$file" 1
	done
}

need_hotplug()
{
	[[ -n $(hotplug_cpus) ]] || skip "no CPU can be taken off line"
}

# Case 7.
test_cpus_flap_while_knob_and_type_are_written()
{
	local flapper n=0 old types=(DMA DMA-FQ)

	need_hotplug
	nvme 0
	old=$(group_type "$GROUP")
	flap_cpus 30 &
	flapper=$!
	while [[ $n -lt 20 ]] || kill -0 "$flapper" 2>/dev/null; do
		unbind_group "$GROUP"
		set_type "$GROUP" "${types[n % 2]}"
		knob "$GROUP" "${VALUES[n % 5]}"
		rebind_group "$GROUP"
		retry disk_ready "$NVME"
		dd if="$(disk_of "$NVME")" of=/dev/null bs=132k count=20 \
			iflag=direct status=none
		n=$((n + 1))
		knob "$GROUP" "${VALUES[n % 5]}"
	done
	wait "$flapper" || fail "a CPU did not go or did not come back"
	change_type "$GROUP" "$old"
}

# parked GROUP: ranges in CPUs' magazines.
parked()
{
	awk '$1 ~ /^class[0-9]+_cpu$/ { n += $2 } END { print n + 0 }' \
		"$COUNTERS/$1/iova"
}

# A CPU that goes gives back what it has parked.
test_cpu_off_line_parks_nothing()
{
	local file cpu all

	need_hotplug
	nvme 0
	[[ -e $COUNTERS/$GROUP/iova ]] || skip "no $COUNTERS"
	file=$(hotplug_cpus | tail -n 1)
	cpu=${file#*/cpu/cpu}
	cpu=${cpu%/online}
	taskset -c "$cpu" dd if="$(disk_of "$NVME")" of=/dev/null bs=64k \
		count=200 iflag=direct status=none
	retry queue_empty "$GROUP"
	all=$(parked "$GROUP")
	set_cpu "$file" 0
	at_most "$(parked "$GROUP")" $((all - 1)) "parked without CPU $cpu"
	set_cpu "$file" 1
	taskset -c "$cpu" dd if="$(disk_of "$NVME")" of=/dev/null bs=64k \
		count=20 iflag=direct status=none
}

# eat_memory: most of what is free, and page cache on top of it.
eat_memory()
{
	local kib

	kib=$(df -k --output=avail /dev/shm | tail -n 1)
	head -c "$((kib * 9 / 10))K" /dev/zero >/dev/shm/iova_eaten || :
	kib=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
	dd if="$1" of=/dev/null bs=1M count=$((kib / 1024)) status=none || :
	rm -f /dev/shm/iova_eaten
}

# Case 8: the group's mutex, memory and a frozen queue.
test_reset_under_memory_pressure()
{
	local old disk ctrl n eater

	nvme 0
	[[ -d /dev/shm ]] || skip "no /dev/shm"
	old=$(group_type "$GROUP")
	change_type "$GROUP" DMA
	retry disk_ready "$NVME"
	disk=$(disk_of "$NVME")
	ctrl=$(echo "/sys/bus/pci/devices/$NVME"/nvme/nvme*)
	eat_memory "$disk" &
	eater=$!
	for n in {0..9}; do
		knob "$GROUP" "${VALUES[n % 5]}"
		[[ $n -ne 3 ]] || set_type "$GROUP" DMA-FQ
		echo 1 >"$ctrl/reset_controller"
		dd if="$disk" of=/dev/null bs=64k count=50 iflag=direct \
			status=none
	done
	wait "$eater"
	change_type "$GROUP" "$old"
}

run_tests
