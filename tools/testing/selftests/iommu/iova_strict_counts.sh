#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Strict mode, by the kernel functions that an unmap calls: descents of the page
# table, flushes, locks. Needs a VT-d unit and a device for dma_map_benchmark.
#
# guest: TCG_THREAD=single APPEND=iommu.strict=1 DEVS=testdev
set -euo pipefail
# shellcheck source=iova_lib.sh
. "$(dirname "$(readlink -f "$0")")/iova_lib.sh"

# Calls that were under way when counting began or ended.
SLACK=8

# benchmark_device: DEVICE, a pci-testdev in strict mode.
benchmark_device()
{
	local dir

	[[ -d /sys/bus/pci/drivers/dma_map_benchmark ]] ||
		skip "no CONFIG_DMA_MAP_BENCHMARK"
	[[ -e $TRACING/set_ftrace_filter ]] || skip "no function tracer"
	grep -q '^intel_iommu_unmap_pages' "$TRACING/available_filter_functions" ||
		skip "no VT-d"
	for dir in /sys/bus/pci/devices/*; do
		[[ $(cat "$dir/vendor" "$dir/device") = 0x1b36$'\n'0x0005 &&
		   -e $dir/iommu_group ]] || continue
		DEVICE=${dir##*/}
		[[ $(group_type "$(group_of "$DEVICE")") != DMA ]] || return 0
	done
	skip "no pci-testdev in strict mode"
}

# count_calls FUNCTION... -- COMMAND...: CALLS of each function.
count_calls()
{
	local functions=() name

	while [[ $1 != -- ]]; do
		functions+=("$1")
		shift
	done
	shift
	echo 0 >"$TRACING/function_profile_enabled"
	printf '%s\n' "${functions[@]}" >"$TRACING/set_ftrace_filter"
	echo 1 >"$TRACING/function_profile_enabled"
	"$@"
	echo 0 >"$TRACING/function_profile_enabled"
	declare -gA CALLS=()
	for name in "${functions[@]}"; do
		CALLS[$name]=$(cat "$TRACING"/trace_stat/function* | awk \
			-v name="${name:0:30}" '$1 == name { n += $2 }
			END { print n + 0 }')
		echo "$name: ${CALLS[$name]}"
	done
	echo >"$TRACING/set_ftrace_filter"
}

test_an_unmap_descends_the_page_table_once()
{
	benchmark_device
	count_calls iommu_unmap_fast intel_iommu_unmap_pages \
		dma_pte_clear_level iommu_iova_to_phys pfn_to_dma_pte \
		intel_iommu_map_pages -- map_benchmark "$DEVICE" 64 1 1
	at_most 500 "${CALLS[iommu_unmap_fast]}" "unmaps, at least"
	# The first descent is part of the function itself. Clearing goes on
	# where that has ended, and descends no more.
	at_most "${CALLS[intel_iommu_unmap_pages]}" \
		$((CALLS[iommu_unmap_fast] + SLACK)) "chunks"
	at_most "${CALLS[dma_pte_clear_level]}" \
		$((CALLS[iommu_unmap_fast] + SLACK)) "tables cleared in"
	at_most "${CALLS[iommu_iova_to_phys]}" "$SLACK" "look-ups"
	at_most "${CALLS[pfn_to_dma_pte]}" \
		$((CALLS[intel_iommu_map_pages] + SLACK)) "descents to map"
}

# 2 MiB in one chunk, and a page in another.
test_a_gather_of_chunks_of_two_sizes_is_flushed_once()
{
	benchmark_device
	count_calls iommu_unmap_fast intel_iommu_unmap_pages \
		cache_tag_flush_range -- map_benchmark "$DEVICE" 64 513 1
	at_most 50 "${CALLS[iommu_unmap_fast]}" "unmaps, at least"
	at_most $((CALLS[iommu_unmap_fast] * 2 - SLACK)) \
		"${CALLS[intel_iommu_unmap_pages]}" "chunks, at least"
	at_most "${CALLS[cache_tag_flush_range]}" \
		$((CALLS[iommu_unmap_fast] + SLACK)) "flushes"
}

# trace_flushes COMMAND...: what flushes called, to $WORK/trace.
trace_flushes()
{
	echo nop >"$TRACING/current_tracer"
	echo 0 >"$TRACING/options/funcgraph-irqs"
	printf '%s\n' cache_tag_flush_range qi_submit qi_wait qi_ring_submit \
		qi_ring_wait '_raw_spin_lock*' '_raw_spin_trylock*' \
		>"$TRACING/set_ftrace_filter"
	echo cache_tag_flush_range >"$TRACING/set_graph_function"
	echo function_graph >"$TRACING/current_tracer"
	"$@"
	echo 0 >"$TRACING/tracing_on"
	cat "$TRACING/trace" >"$WORK/trace"
	echo nop >"$TRACING/current_tracer"
	echo >"$TRACING/set_graph_function"
	echo >"$TRACING/set_ftrace_filter"
	echo 1 >"$TRACING/tracing_on"
}

# locks_by_caller: of the trace: "flushes N", and "CALLER LOCK N" for each lock
# that was taken by CALLER, as far as that is traced.
locks_by_caller()
{
	awk -F '|' '
	NF == 2 && match($1, /[0-9]+\)/) {
		cpu = substr($1, RSTART, RLENGTH - 1)
		name = $2
		gsub(/[ ();{]/, "", name)
		if (name == "cache_tag_flush_range" && $2 ~ /{/) {
			depth[cpu] = 0
			n++
		}
		if ($2 ~ /{/)
			stack[cpu, ++depth[cpu]] = name
		else if ($2 ~ /}/ && depth[cpu])
			depth[cpu]--
		else if (name ~ /^_raw_spin_(try)?lock/ && depth[cpu])
			locks[stack[cpu, depth[cpu]] " " name]++
	}
	END {
		print "flushes", n + 0
		for (i in locks)
			print i, locks[i]
	}' "$WORK/trace"
}

# The lock of the queue, to submit, and its doorbell, which is only tried; none of
# the domain, and none to wait.
test_a_flush_takes_no_lock_but_to_submit()
{
	local flushes

	benchmark_device
	trace_flushes map_benchmark "$DEVICE" 64 1 "$(nproc)"
	locks_by_caller | tee "$WORK/locks"
	flushes=$(awk '$1 == "flushes" { print $2 }' "$WORK/locks")
	at_most 100 "$flushes" "flushes, at least"
	# Interrupts hit a flush now and then, and take locks of their own.
	if awk -v rare=$((flushes / 100)) '
		$1 != "flushes" && $1 != "qi_ring_submit" && $3 > rare &&
		$1 " " $2 != "qi_ring_wait _raw_spin_trylock"' \
		"$WORK/locks" | grep .; then
		fail "a lock is taken elsewhere"
	fi
	awk '$1 == "qi_ring_submit" { print $3 }' "$WORK/locks" |
		while read -r n; do
			at_most "$n" $((flushes + SLACK)) "locks of one kind"
		done
}

run_tests
