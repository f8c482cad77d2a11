# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# dma_map_benchmark, within its limits: whole seconds, no more threads than
# CPUs, an otherwise idle guest, one bound device.
#
# The tool prints averages in steps of 0.1 us, which is 10% of a short mapping.
# So a return probe, which runs once in a measurement, also reads the sums that
# the tool has divided.  It knows where they stand in struct map_benchmark_data
# (and the pointer to that, in struct file); reports compare them with what the
# tool prints, and fail if that knowledge is out of date.

SUMS=$TRACING/events/kprobes/sums
# shellcheck disable=SC2016 # $arg1 is the probe's
DATA='+32($arg1)'

# dma_map PAGES THREADS SECONDS
dma_map()
{
	[[ $2 -le $(nproc) ]] || guest_fail "$2 threads need as many CPUs"
	dma_map_benchmark -b 64 -g "$1" -t "$2" -s "$3"
}

# dma_cases WORKLOAD
dma_cases()
{
	local name pages threads

	bench_bind >/dev/null
	echo "r:sums map_benchmark_ioctl map=+160($DATA):u64" \
		"unmap=+168($DATA):u64 loops=+192($DATA):u64" \
		>"$TRACING/kprobe_events"
	echo 1 >"$SUMS/enable"
	while read -r name pages threads; do
		say "dma_map_benchmark $name"
		echo >"$TRACING/trace"
		dma_map "$pages" "$threads" "$DMA_TIME" >"/out/$1-$name.txt"
		grep -o 'map=.* loops=.*' "$TRACING/trace" >>"/out/$1-$name.txt"
	done < <(cases "$1")
	echo 0 >"$SUMS/enable"
	echo >"$TRACING/kprobe_events"
}

run_dma()
{
	dma_cases dma
}
