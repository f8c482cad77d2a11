#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# run.sh WORKLOAD...: measure them in this guest, each in all its cases.  The
# tools' own outputs are kept in /out as WORKLOAD-CASE.EXTENSION; nothing is
# evaluated here.
#
# From the environment:
#	KNOB	max_opt_dma_size of the benchmark's devices, or "default"
#	DMA_TIME FIO_TIME IPERF_TIME	seconds that each case is measured for
#	GETS	requests of each memcslap client
set -euo pipefail
shopt -s inherit_errexit
. /guest/lib.sh

: "${KNOB:=default}" "${DMA_TIME:=1}" "${FIO_TIME:=2}" "${IPERF_TIME:=3}"
: "${GETS:=2000}"
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export TRACING=/sys/kernel/tracing

# cases WORKLOAD: its cases, one a line: name, arguments.
cases()
{
	awk -F '\t' -v want="$1" '$1 == want { print $2, $3 }' "$HERE/cells"
}

# say TEXT: for the host's progress.
say()
{
	echo "$*"
}

# submit_function: the one by which VT-d's driver gives a unit something to
# invalidate, which is another in the series.
submit_function()
{
	grep -wm 1 -o -e qi_ring_submit "$TRACING/available_filter_functions" ||
		echo qi_submit_sync
}

# submissions: give its count a name of its own.
submissions()
{
	sed -E 's/^qi_(ring_submit|submit_sync) /submissions /'
}

# group_facts KIND: the first such device and its group, as far as they exist.
group_facts()
{
	local dev dir

	dev=$(pci_find "$1" 2>/dev/null) || return 0
	dir=$PCI/devices/$dev/iommu_group
	echo "$1.device=$dev"
	[[ -d $dir ]] || return 0
	echo "$1.type=$(<"$dir/type")"
	[[ ! -e $dir/max_opt_dma_size ]] ||
		echo "$1.max_opt_dma_size=$(<"$dir/max_opt_dma_size")"
}

# facts: what one must know to trust a number, KEY=VALUE.
facts()
{
	local queue=$1 kind

	echo "release=$(uname -r)"
	echo "version=$(uname -v)"
	echo "command_line=$(</proc/cmdline)"
	echo "cpus=$(nproc)"
	echo "clocksource=$(</sys/devices/system/clocksource/clocksource0/current_clocksource)"
	echo "knob=$KNOB"
	for kind in testdev nvme net; do
		group_facts $kind
	done
	[[ -d $queue ]] || return 0
	echo "nvme.max_hw_sectors_kb=$(<"$queue/max_hw_sectors_kb")"
	echo "nvme.max_sectors_kb=$(<"$queue/max_sectors_kb")"
}

# tune: give the knob its value, and let the disk's driver read it.  The disk's
# requests may be as long as its driver allows, in every configuration.
tune()
{
	local disk queue=/sys/block/nvme0n1/queue

	disk=$(pci_find nvme)
	if [[ $KNOB != default ]]; then
		knob "$(pci_find testdev)" "$KNOB"
		knob "$disk" "$KNOB"
		pci_bind "$disk" nvme
	fi
	wait_for 20 test -e $queue
	cat $queue/max_hw_sectors_kb >$queue/max_sectors_kb
}

main()
{
	local workload

	[[ "$*" = memory ]] || tune
	facts /sys/block/nvme0n1/queue >/out/facts
	for workload; do
		# shellcheck source=/dev/null
		. "$HERE/$workload.sh"
		"run_$workload"
	done
}

main "$@"
