#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# compare.sh check|bench DIR: the allocator beside the base's own, in one run,
# both compiled the same way. check: the counts, as TAP. bench: all there is, as
# a table: name, stock, series, ratio, unit.
set -euo pipefail

MODE=$1
O=$2
# Chunks of 1024 pairs.
CHUNKS=1000
# What both allocators keep in their caches.
CACHED="lifo-4k burst-4k burst-mixed cross-4k cross-mixed"
# What neither does: a flush queue full of ranges, straight from the tree. An
# exact search costs instructions that a guess from the last place saves while
# it is right; no more than this many times as many.
QUEUED="queue-256k queues-256k queues-1m"
QUEUED_RATIO=1.6
NR=0
FAILED=0

# collected PROGRAM NAME CHUNKS: instructions in the two fast calls.
collected()
{
	valgrind --tool=callgrind --callgrind-out-file=/dev/null \
		--toggle-collect=alloc_iova_fast \
		--toggle-collect=free_iova_fast \
		"$1" run "$2" "$3" 2>&1 | sed -n 's/.*Collected : //p'
}

# instructions FLAVOUR NAME: of a pair, to a tenth, without the warm-up.
instructions()
{
	local few many

	few=$(collected "$O/$1/bench" "$2" 50)
	many=$(collected "$O/$1/bench" "$2" 250)
	awk -v n=$((many - few)) 'BEGIN { printf "%.1f\n", n / 200 / 1024 }'
}

# locks FLAVOUR NAME: "tree depot", of a million pairs.
locks()
{
	"$O/$1/bench" locks "$2" "$CHUNKS"
}

# ratio STOCK SERIES
ratio()
{
	awk -v a="$1" -v b="$2" \
		'BEGIN { if (a > 0) printf "%.4g\n", b / a; else print "-" }'
}

# row NAME STOCK SERIES UNIT
row()
{
	printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$(ratio "$2" "$3")" "$4"
}

# result OK NAME: one line of TAP; OK is a condition of awk.
result()
{
	NR=$((NR + 1))
	if awk "BEGIN { exit !($1) }"; then
		echo "ok $NR $2"
	else
		echo "not ok $NR $2"
		FAILED=1
	fi
}

# check_instructions TIMES NAME...
check_instructions()
{
	local times=$1 name stock series what

	for name in "${@:2}"; do
		what="$name takes no more than $times times stock's instructions"
		if ! command -v valgrind >/dev/null; then
			NR=$((NR + 1))
			echo "ok $NR $what # SKIP no valgrind"
			continue
		fi
		stock=$(instructions stock "$name")
		series=$(instructions bench "$name")
		echo "# $name: $series instructions a pair, stock $stock," \
			"ratio $(ratio "$stock" "$series")"
		result "$series <= $times * $stock" "$what"
	done
}

check_locks()
{
	local name stock series

	for name in $CACHED; do
		read -r -a stock < <(locks stock-locks "$name")
		read -r -a series < <(locks locks "$name")
		echo "# $name: a million pairs take the tree's lock" \
			"${series[0]} times, stock ${stock[0]}, a depot's" \
			"${series[1]} times, stock ${stock[1]}"
		result "${series[0]} == 0" "$name leaves the tree alone"
		result "${series[1]} <= ${stock[1]}" \
			"$name takes a depot's lock no more often than stock"
	done
}

bench_all()
{
	local name stock series

	"$O/bench/bench" names | cut -f 1 >"$O/names"
	while read -r name; do
		row "instructions/$name" "$(instructions stock "$name")" \
			"$(instructions bench "$name")" "instructions/pair"
	done <"$O/names"
	while read -r name; do
		read -r -a stock < <(locks stock-locks "$name")
		read -r -a series < <(locks locks "$name")
		row "tree-locks/$name" "${stock[0]}" "${series[0]}" \
			"acquisitions/million pairs"
		row "depot-locks/$name" "${stock[1]}" "${series[1]}" \
			"acquisitions/million pairs"
	done <"$O/names"
	for name in 1000 10000 100000 400000; do
		row "search/$name" "$("$O/stock/bench" search "$name" 200)" \
			"$("$O/bench/bench" search "$name" 100000)" ns
	done
}

case $MODE in
check)
	echo "TAP version 13"
	echo "1..18"
	# shellcheck disable=SC2086 # names
	check_instructions 1 $CACHED
	# shellcheck disable=SC2086 # names
	check_instructions "$QUEUED_RATIO" $QUEUED
	check_locks
	exit "$FAILED"
	;;
bench)
	command -v valgrind >/dev/null || {
		echo "compare.sh: no valgrind; install the package valgrind" >&2
		exit 1
	}
	printf 'name\tstock\tseries\tratio\tunit\n'
	bench_all
	;;
*)
	echo "usage: compare.sh check|bench DIR" >&2
	exit 2
	;;
esac
