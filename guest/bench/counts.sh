# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What dma_map_benchmark makes the kernel do, counted and not timed: calls by
# ftrace's function profiler, acquisitions of the tree lock by a kprobe with a
# histogram, after a second of warming up.  The lock is the only one in struct
# iova_domain, near its begin.

# shellcheck source-path=SCRIPTDIR
. "$HERE/dma.sh"

FUNCTIONS=(alloc_iova_fast alloc_iova)
LOCK=_raw_spin_lock_irqsave

# bench_domain: the address of the domain that dma_map_benchmark maps into.
bench_domain()
{
	local dir=$TRACING/events/kprobes/domain

	# shellcheck disable=SC2016 # $arg1 is the probe's
	echo 'p:domain alloc_iova_fast at=$arg1:x64' >"$TRACING/kprobe_events"
	echo 'hist:keys=at' >"$dir/trigger"
	dma_map 1 1 1 >/dev/null
	sed -n 's/^{ at: *\([0-9a-fx]*\) } hitcount: *\([0-9]*\)/\2 \1/p' \
		"$dir/hist" | sort -n | awk 'END { print $2 }'
	echo '!hist:keys=at' >"$dir/trigger"
	echo >"$TRACING/kprobe_events"
}

# counter NAME: of the series' own in debugfs, so far; 0 on stock, which has
# none.  The series counts the depots' trimming apart, and its searches: it
# refills in batches, so that calls of alloc_iova() do not tell them.
counter()
{
	local file

	file=/sys/kernel/debug/iommu/groups/$(group_of "$(pci_find testdev)")/iova
	if [[ -e $file ]]; then
		awk -v name="$1" '$1 == name { print $2; found = 1 }
			END { exit !found }' "$file"
	else
		echo 0
	fi
}

# count_one PAGES THREADS DOMAIN
count_one()
{
	local lock=$TRACING/events/kprobes/lock hist trimmed searched

	hist=$(printf 'hist:keys=at if at >= %s && at < %#x' "$3" $(($3 + 128)))

	dma_map "$1" "$2" 1 >/dev/null	# fills the caches
	trimmed=$(counter tree_trim_locks)
	searched=$(counter tree_searches)
	echo "$hist" >"$lock/trigger"
	calls_during "${FUNCTIONS[@]}" "$(submit_function)" -- \
		dma_map "$1" "$2" 1 2>/dev/null | submissions
	awk '/^{.*hitcount:/ { n += $NF } END { if (n) print "tree_lock", n }' \
		"$lock/hist"
	echo "!$hist" >"$lock/trigger"
	echo "trim_lock $(($(counter tree_trim_locks) - trimmed))"
	echo "tree_search $(($(counter tree_searches) - searched))"
}

run_counts()
{
	local name pages threads domain

	bench_bind >/dev/null
	domain=$(bench_domain)
	echo "p:lock $LOCK at=\$arg1:x64" >"$TRACING/kprobe_events"
	while read -r name pages threads; do
		say "counts $name"
		count_one "$pages" "$threads" "$domain" \
			>"/out/counts-$name.txt"
	done < <(cases counts)
}
