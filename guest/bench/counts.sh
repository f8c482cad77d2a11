# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What dma_map_benchmark makes the kernel do, counted and not timed: calls by
# ftrace's function profiler, acquisitions of the tree lock by a kprobe with a
# histogram.  The lock is the first member of struct iova_domain, so that it has
# the domain's address.

FUNCTIONS=(alloc_iova_fast alloc_iova qi_submit_sync)
LOCK=_raw_spin_lock_irqsave

# event NAME: its directory.
event()
{
	echo "$TRACING/events/kprobes/$1"
}

# busiest_domain PAGES THREADS: the domain that dma_map_benchmark maps into.
busiest_domain()
{
	local dir

	echo 'p:domain alloc_iova_fast at=$arg1:x64' >$TRACING/kprobe_events
	dir=$(event domain)
	echo 'hist:keys=at' >"$dir/trigger"
	dma_map "$1" "$2" 1 >/dev/null
	sed -n 's/^{ at: *\([0-9a-fx]*\) } hitcount: *\([0-9]*\)/\2 \1/p' \
		"$dir/hist" | sort -n | awk 'END { print $2 }'
	echo '!hist:keys=at' >"$dir/trigger"
	echo >$TRACING/kprobe_events
}

# watch_lock ADDRESS
watch_lock()
{
	echo "p:lock $LOCK at=\$arg1:x64" >$TRACING/kprobe_events
	echo "hist:keys=at if at == $1" >"$(event lock)/trigger"
}

# count_one PAGES THREADS
count_one()
{
	local cpu

	echo 0 >$TRACING/function_profile_enabled
	echo 'hist:keys=at:clear' >"$(event lock)/trigger"
	echo 1 >$TRACING/function_profile_enabled
	dma_map "$1" "$2" 1 >/dev/null
	echo 0 >$TRACING/function_profile_enabled
	awk 'NF == 6 && $2 ~ /^[0-9]+$/ { hits[$1] += $2 }
		END { for (name in hits) print name, hits[name] }' \
		$TRACING/trace_stat/function*
	awk '/hitcount:/ { print "tree_lock", $NF }' "$(event lock)/hist"
}

run_counts()
{
	local name pages threads

	bench_bind >/dev/null
	printf '%s\n' "${FUNCTIONS[@]}" >$TRACING/set_ftrace_filter
	while read -r name pages threads; do
		say "counts $name"
		count_one "$pages" "$threads" >"/out/counts-$name.txt"
	done < <(cases counts)
}
