#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The benchmark's report: what it reads, computes and refuses.  TAP.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

BENCH=$REPO/guest/bench
CONFIGS="off stock-lazy series-lazy series-tuned stock-strict series-strict"

set_up()
{
	:
}

report()
{
	python3 -B "$REPO/scripts/report" "$@"
}

# metrics WORKLOAD
metrics()
{
	case $1 in
	dma) echo map unmap sum ;;
	search) echo mean worst ;;
	counts) echo searches tree_locks invalidations ;;
	memory) echo unreclaimable magazines ;;
	*) echo rate ;;
	esac
}

# configs WORKLOAD
configs()
{
	case $1 in
	search) echo stock-lazy series-lazy ;;
	counts) echo stock-lazy series-lazy series-tuned ;;
	memory) echo off stock-lazy series-lazy ;;
	*) echo "$CONFIGS" ;;
	esac
}

# samples: a whole run's samples.tsv, in which each value is 7.
samples()
{
	local workload case rest metric config round rounds

	printf 'round\tconfig\tworkload\tcase\tmetric\tvalue\n'
	while IFS=$'\t' read -r workload case rest; do
		rounds="1 2 3"
		case $workload in counts | memory) rounds=$workload ;; esac
		for metric in $(metrics "$workload"); do
			for config in $(configs "$workload"); do
				for round in $rounds; do
					printf '%s\t%s\t%s\t%s\t%s\t7\n' \
						"$round" "$config" "$workload" \
						"$case" "$metric"
				done
			done
		done
	done < <(grep -v '^\(#\|$\)' "$BENCH/cells")
}

# a_run DIR: a directory that `report table` can work on.
a_run()
{
	mkdir -p "$1"
	printf '%s\n' rounds=3 "configs=$CONFIGS" date=today >"$1/host"
	printf 'round\tconfig\tfact\tvalue\n1\toff\trelease\t6.12\n' \
		>"$1/facts.tsv"
	samples >"$1/samples.tsv"
}

# put DIR ROUND CONFIG WORKLOAD CASE METRIC VALUE: change one sample.
put()
{
	awk -v want="$2 $3 $4 $5 $6" -v value="$7" -F '\t' '
		BEGIN { OFS = "\t" }
		$1 " " $2 " " $3 " " $4 " " $5 == want { $6 = value; n++ }
		{ print }
		END { exit n != 1 }' "$1/samples.tsv" >changed
	mv changed "$1/samples.tsv"
}

# line FILE PATTERN: the only line that matches it.
line()
{
	equal "$(grep -c "$2" "$1")" 1 "lines with $2"
	grep "$2" "$1"
}

test_complete_run_fills_every_cell()
{
	local file

	a_run out
	report table out >printed
	cmp printed out/table.txt
	for file in index.html results.tsv measures.tsv search.svg \
		dma-lazy-t4.svg fio-strict.svg; do
		[[ -s out/$file ]] || fail "no $file"
	done
	if grep -E '(^|[^.[:alnum:]-])-( |$)' out/table.txt; then
		fail "an empty cell"
	fi
}

test_medians_spread_and_ratios()
{
	a_run out
	put out 1 stock-lazy dma 256K-t4 sum 90
	put out 2 stock-lazy dma 256K-t4 sum 100
	put out 3 stock-lazy dma 256K-t4 sum 400
	put out 1 series-tuned dma 256K-t4 sum 8
	put out 2 series-tuned dma 256K-t4 sum 20
	put out 3 series-tuned dma 256K-t4 sum 10
	put out 1 off dma 256K-t4 sum 0.5
	put out 2 off dma 256K-t4 sum 0.5
	report table out >/dev/null
	equal "$(line out/results.tsv 'dma.256K-t4.sum.*series-tuned')" \
		"$(printf '%s\t' dma 256K-t4 sum us less series-tuned 3 10 8 20 10
		)0.05" "less is better"
	equal "$(line out/results.tsv 'dma.256K-t4.sum.*stock-lazy')" \
		"$(printf '%s\t' dma 256K-t4 sum us less stock-lazy 3 100 90 400 ''
		)0.005" "the reference"
}

test_rates_are_better_when_higher()
{
	local round

	a_run out
	for round in 1 2 3; do
		put out $round off fio 256k rate 40
		put out $round stock-lazy fio 256k rate 10
		put out $round series-tuned fio 256k rate 16
	done
	report table out >/dev/null
	equal "$(line out/results.tsv 'fio.256k.*series-tuned' | cut -f 8-)" \
		"$(printf '16\t16\t16\t1.6\t0.4')" rate
	equal "$(line out/measures.tsv 'fio 256k' | cut -f 5-)" \
		"$(printf '1.6\tmet')" measure
}

test_measures_met_missed_and_aimed_at()
{
	local round

	a_run out
	for round in 1 2 3; do
		put out $round stock-lazy dma 256K-t4 sum 70
		put out $round stock-lazy dma 1M-t4 sum 10.5
		put out $round series-lazy dma 4K-t1 sum 7.7
	done
	put out counts series-tuned counts 4K-t4 tree_locks 0
	report table out >/dev/null
	equal "$(line out/measures.tsv '256 KiB map' | cut -f 5-)" \
		"$(printf '10\taim')" aim
	equal "$(line out/measures.tsv '1 MiB map' | cut -f 5-)" \
		"$(printf '1.5\tmet')" met
	equal "$(line out/measures.tsv '4 KiB map' | cut -f 5-)" \
		"$(printf '1.1\tMISSED')" missed
	equal "$(line out/measures.tsv 'magazines' | cut -f 5-)" \
		"$(printf '1\tMISSED')" memory
}

test_missing_sample_fails_by_name()
{
	local out rc=0

	a_run out
	sed -i '/^2\tseries-lazy\tfio\t4k/d' out/samples.tsv
	out=$(report table out 2>&1 >/dev/null) || rc=$?
	equal $rc 1 "exit status"
	equal "$out" "report: not measured: fio 4k rate in series-lazy:$(:
		) 2 of 3 samples" message
}

test_bad_usage_is_refused()
{
	refused 2 "usage: bench.sh run|bench" "$REPO/scripts/bench.sh"
	refused 2 "usage: bench.sh run|bench" "$REPO/scripts/bench.sh" all
	refused 2 "usage: report collect" report table
}

run_tests
