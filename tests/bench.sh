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
	dma | instructions) echo map unmap sum ;;
	search) echo mean worst ;;
	counts) echo searches tree_locks invalidations ;;
	vfio) echo map unmap ;;
	vfio_counts) echo walks unmaps syncs unpins longest ;;
	memory) echo unreclaimable magazines ;;
	flushes) echo flushes ;;
	*) echo rate ;;
	esac
}

# configs WORKLOAD
configs()
{
	case $1 in
	search | vfio | vfio_counts | flushes) echo stock-lazy series-lazy ;;
	counts) echo stock-lazy series-lazy series-tuned ;;
	instructions) echo "${CONFIGS#off }" ;;
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
		case $workload in
		counts | flushes | instructions | memory) rounds=$workload ;;
		vfio_counts) rounds=vfio ;;
		esac
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
	printf '%s\n' rounds=3 "configs=$CONFIGS" date=today command=run \
		"base=Linux 6.12" qemu=7.2 accelerator=tcg host_cpu=two \
		>"$1/host"
	printf '%s\t%s\t%s\t%s\n' round config fact value \
		1 off release 6.12 1 off host_load "0.5 1 2" \
		2 off host_load "1.5 1 2" >"$1/facts.tsv"
	samples >"$1/samples.tsv"
	cat >"$1/userspace.tsv" <<-'END'
		name	stock	series	ratio	unit
		instructions/lifo-4k	200	150	0.75	instructions/pair
		tree-locks/burst-mixed	9	0	0	acquisitions/million pairs
		tree-locks/cross-mixed	9	1	0.11	acquisitions/million pairs
		depot-locks/cross-4k	80	40	0.5	acquisitions/million pairs
	END
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

# a_guest DIR: what the tools write, cut to what is read.
a_guest()
{
	mkdir -p "$1/out"
	echo "release=6.12" >"$1/out/facts"
	cat >"$1/out/dma-4K-t1.txt" <<-'END'
		dma mapping benchmark: threads:1 seconds:1 node:-1 dir:BIDIRECTIONAL granule: 1
		average map latency(us):1.1 standard deviation:22.4
		average unmap latency(us):1.5 standard deviation:50.6
		map=2588307 unmap=3352981 loops=222202
	END
	cat >"$1/out/fio-4k.json" <<-'END'
		fio: a warning
		{"jobs": [{"error": 0, "read": {"iops": 19239.783358}}]}
	END
	cat >"$1/out/iperf3-tcp.json" <<-'END'
		{"end": {"sum_received": {"bits_per_second": 1234567890.5}}}
	END
	cat >"$1/out/memcslap-get.txt" <<-'END'
		Time to set            2000 keys:                     7.360 seconds.
		Time to get            8000 keys by    4 threads:    40.000 seconds.
	END
	printf '%s\n' ranges:10000 calls:1000 mean_ns:210988 worst_ns:4803776 \
		>"$1/out/search-10000.txt"
	printf '%s\n' "alloc_iova_fast 50000" "alloc_iova 990" "tree_lock 1980" \
		"trim_lock 180" "tree_search 10" "submissions 75" >"$1/out/counts-4K-t4.txt"
	printf '%s\n' "iommu_unmap_fast 40000" "submissions 30" \
		>"$1/out/flushes-8.txt"
	printf '%s\n' "map_us 45000.5" "unmap_us 1200.0" "runs 30" "walks 31" \
		"unmaps 1" "syncs 1" "unpins 64" "reschedules 99" \
		>"$1/out/vfio-thp.txt"
	{ cat "$1/out/vfio-thp.txt"; echo "longest_us 150"; } \
		>"$1/out/vfio_counts-thp.txt"
	printf '%s\n' "SUnreclaim:        16804 kB" "Percpu:   4672 kB" \
		"magazines: 1536" "groups: 8" "cpus: 16" \
		>"$1/out/memory-idle.txt"
}

test_what_tools_write_is_read()
{
	a_guest raw/1-stock-lazy
	mkdir out
	report collect raw out
	sed 1d out/samples.tsv >rows
	equal "$(cut -f 1,2 rows | sort -u)" "$(printf '1\tstock-lazy')" run
	equal "$(cut -f 3- rows | tr '\t' ' ')" "$(printf '%s\n' \
		'dma 4K-t1 map 1.16484' 'dma 4K-t1 unmap 1.50898' \
		'dma 4K-t1 sum 2.67382' 'fio 4k rate 19239.8' \
		'iperf3 tcp rate 1234.57' 'memcslap get rate 200' \
		'search 10000 mean 210.988' 'search 10000 worst 4803.78' \
		'counts 4K-t4 searches 20' 'counts 4K-t4 tree_locks 3600' \
		'counts 4K-t4 invalidations 150' \
		'flushes 8 flushes 7.5' \
		'vfio thp map 45.0005' 'vfio thp unmap 1.2' \
		'vfio_counts thp walks 31' 'vfio_counts thp unmaps 1' \
		'vfio_counts thp syncs 1' 'vfio_counts thp unpins 64' \
		'vfio_counts thp longest 150' \
		'memory idle unreclaimable 21476' \
		'memory idle magazines 1536')" samples
}

test_doubtful_output_is_refused()
{
	a_guest raw/1-off
	mkdir out
	sed -i 's/loops=222202/loops=111101/' raw/1-off/out/dma-4K-t1.txt
	refused 1 "has struct map_benchmark_data changed?" \
		report collect raw out
	a_guest raw/1-off
	sed -i 's/"error": 0/"error": 5/' raw/1-off/out/fio-4k.json
	refused 1 "fio's error 5" report collect raw out
	a_guest raw/1-off
	echo "Segmentation fault" >raw/1-off/out/memcslap-get.txt
	refused 1 "memcslap-get.txt" report collect raw out
	a_guest raw/1-off
	sed -i 's/groups: 8/groups: 9/' raw/1-off/out/memory-idle.txt
	refused 1 "not 8 groups" report collect raw out
	# what is looked for in the wrong place is never seen
	a_guest raw/1-off
	sed -i '/submissions/d' raw/1-off/out/flushes-8.txt
	refused 1 "flushes-8.txt" report collect raw out
	a_guest raw/1-off
	printf '%s\n' "alloc_iova_fast 50000" "alloc_iova 50000" "trim_lock 0" \
		"tree_search 0" "submissions 75" >raw/1-off/out/counts-4K-t4.txt
	refused 1 "no tree lock" report collect raw out
}

test_complete_run_fills_every_cell()
{
	local file

	a_run out
	report table out >printed
	cmp printed out/table.txt
	equal "$(tail -n 1 printed)" \
		"two; load average before each guest 0.5..1.5" load
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
	report table out >/dev/null
	equal "$(line out/measures.tsv '^256 KiB map.*4 threads' | cut -f 5-)" \
		"$(printf '10\taim')" aim
	equal "$(line out/measures.tsv '^1 MiB map' | cut -f 5-)" \
		"$(printf '1.5\tmet')" met
	equal "$(line out/measures.tsv '^4 KiB map.*1 thread' | cut -f 5-)" \
		"$(printf '1.1\tMISSED')" missed
	equal "$(line out/measures.tsv 'magazines' | cut -f 5-)" \
		"$(printf '1\tMISSED')" memory
}

test_what_is_there_without_an_iommu_is_taken_off()
{
	a_run out
	put out memory off memory idle unreclaimable 1000
	put out memory stock-lazy memory idle unreclaimable 1500
	put out memory series-lazy memory idle unreclaimable 1050
	report table out >/dev/null
	equal "$(line out/measures.tsv 'idle IOMMU' | cut -f 5-)" \
		"$(printf '0.1\tmet')" memory
}

test_userspace_is_judged()
{
	local what

	a_run out
	report table out >/dev/null
	for what in 'alloc+free pair.*0.75.met' 'same CPU.*0.met' \
		'tree locks.*elsewhere.*1.MISSED' \
		'depot locks.*elsewhere.*0.5.aim'; do
		line out/measures.tsv "$what" >/dev/null
	done
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
