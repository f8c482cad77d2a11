#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2119,SC2317 # check calls functions by their names
# Is this guest the machine that tests and benchmarks count on?
. /guest/lib.sh

N=0 FAILED=0

# check NAME COMMAND...: one line of KTAP.
check()
{
	local name=$1

	shift
	N=$((N + 1))
	if "$@"; then
		echo "ok $N $name"
	else
		echo "not ok $N $name"
		FAILED=$((FAILED + 1))
	fi
}

group_size()
{
	find "$(group_dir "$1")/devices" -mindepth 1 -maxdepth 1 | wc -l
}

# own_group PCI: nobody shares its group.
own_group()
{
	[[ $(group_size "$1") = 1 ]]
}

lazy_dma()
{
	[[ $(domain_type "$1") = DMA-FQ ]]
}

nvme_reads()
{
	[[ $(dd if=/dev/nvme0n1 bs=1M count=4 iflag=direct status=none |
		wc -c) = 4194304 ]]
}

# calls_are_counted: each of these reads maps something.
calls_are_counted()
{
	[[ $(calls_during alloc_iova_fast -- nvme_reads) =~ ^alloc_iova_fast\ [1-9] ]]
}

# bench_runs: dma_map_benchmark maps and unmaps through the IOMMU.
bench_runs()
{
	bench_bind >/dev/null && dma_map_benchmark -t 1 -s 1 -b 64 |
		grep -q 'average map latency(us):[0-9]'
}

net_answers()
{
	net_up && ping -q -c 2 10.1.0.2 >/dev/null
}

memcached_answers()
{
	memcached_start && memcping --servers=10.1.0.2
}

iperf_runs()
{
	iperf3_start && iperf3 -c 10.1.0.2 -t 1 >/dev/null
}

objects_are_counted()
{
	[[ $(slab_active iommu_iova) -gt 0 ]]
}

cpu_cycles()
{
	cpu_set 1 0 && [[ $(</sys/devices/system/cpu/cpu1/online) = 0 ]] &&
		cpu_set 1 1 && [[ $(</sys/devices/system/cpu/cpu1/online) = 1 ]]
}

echo "TAP version 13"
for spec in "nvme 0" "net 0" "net 1" "testdev 0"; do
	# shellcheck disable=SC2086
	dev=$(pci_find $spec) || dev=
	check "$spec is there" test -n "$dev"
	check "$spec has a group of its own" own_group "$dev"
	check "$spec is in lazy mode" lazy_dma "$dev"
done
check "nvme reads 4 MiB" nvme_reads
check "calls of a kernel function are counted" calls_are_counted
check "dma_map_benchmark runs on the testdev" bench_runs
check "the other namespace answers a ping" net_answers
check "memcached answers" memcached_answers
check "iperf3 runs" iperf_runs
check "a CPU goes off line and comes back" cpu_cycles
check "iommu_iova objects are counted" objects_are_counted
echo "1..$N"
exit $((FAILED > 0))
