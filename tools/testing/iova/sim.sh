#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# sim.sh run DIR OUT	all loads, policies and numbers of CPUs: OUT/sim.tsv; the
#			constants: OUT/sim-costs.tsv
# sim.sh ranges DIR OUT	each constant at both ends of its range, where conclusions
#			are drawn: OUT/sim-ranges.tsv
# sim.sh real DIR OUT	the same code on two of this machine's CPUs, as threads, and
#			what the simulation says of them: OUT/sim-real.tsv
# sim.sh calibrate DIR [NAME=NS...] what the constants are measured by, and how well the paths of
#			one CPU come out
# sim.sh check DIR	counts, and that they are the same each time; TAP
#
# DIR is where make has built the programs.
set -euo pipefail

MODE=$1
O=$2
OUT=${3:-}
CPUS="1 2 4 8 16 32 64 128 256"
LAZY="same receive mixed large large-receive large-far-receive domains-8 domains-64"
STRICT="same large domains-8 domains-64"
MODELS="tree batched batched-percpu magazines stock"

# program POLICY: which one has it.
program()
{
	case $1 in
	off | series) echo "$O/ncpu/ncpu" ;;
	*) echo "$O/stock-ncpu/ncpu" ;;
	esac
}

# job VARIANT POLICY LOAD MODE CPUS [NAME=NS...]: a line for run_jobs.
job()
{
	echo "$1 $(program "$2") run ${*:2}"
}

# run_one NUMBER VARIANT COMMAND...: its line of results, below $TMP.
run_one()
{
	printf '%s\t%s\n' "$2" "$("${@:3}")" >"$TMP/$1"
}
export -f run_one

# run_jobs: from standard input, one on each of this machine's CPUs at a time.
run_jobs()
{
	export TMP

	TMP=$(mktemp -d)
	printf 'variant\t%s\n' "$("$O/ncpu/ncpu" header)"
	nl -w 6 -n rz | xargs -P "$(nproc)" -L 1 \
		bash -c 'run_one "$@"' run_one || {
		rm -rf "$TMP"
		return 1
	}
	cat "$TMP"/*
	rm -rf "$TMP"
}

# table FILE: what is run, and the old table stays until all of it has been.
table()
{
	run_jobs >"$1.new"
	mv "$1.new" "$1"
}

# lazy, strict, models: the jobs, the longest first.
lazy()
{
	local cpus load policy

	for cpus in $(tac -s ' ' <<<"$CPUS "); do
		for load in $LAZY; do
			for policy in series stock off; do
				job - "$policy" "$load" lazy "$cpus"
			done
		done
	done
}

# bursts: what a timer finds when the CPUs' rings are full.
bursts()
{
	local cpus policy

	for cpus in 16 64; do
		for policy in series stock; do
			job - "$policy" bursts lazy "$cpus" warm=150 time=300
		done
	done
}

strict()
{
	local cpus load policy

	for cpus in $CPUS; do
		for load in $STRICT; do
			for policy in series stock; do
				job - "$policy" "$load" strict "$cpus" \
					from=100 warm=200
				job service=100 "$policy" "$load" strict \
					"$cpus" service=100 from=100 warm=200
			done
		done
	done
}

models()
{
	local cpus policy

	for cpus in 1 2 4 8 12 16 32 64; do
		for policy in off $MODELS series; do
			job - "$policy" memcached lazy "$cpus" from=100 \
				time=40
		done
	done
}

# conclusions VARIANT [NAME=NS]: what is said of the policies, once each.
conclusions()
{
	local policy load

	for policy in off $MODELS series; do
		job "$1" "$policy" memcached lazy 16 from=60 time=20 "${@:2}"
	done
	for load in same receive mixed; do
		job "$1" series "$load" lazy 2 from=60 time=20 "${@:2}"
		job "$1" off "$load" lazy 2 "${@:2}"
		job "$1" series "$load" lazy 16 from=60 time=20 "${@:2}"
		job "$1" off "$load" lazy 16 time=5 "${@:2}"
	done
	for policy in series stock; do
		job "$1" "$policy" large lazy 64 time=4 "${@:2}"
		job "$1" "$policy" same strict 64 from=40 warm=60 time=4 "${@:2}"
	done
}

ranges()
{
	local name low high

	conclusions default
	while IFS=$'\t' read -r name _ low high _; do
		conclusions "$name=$low" "$name=$low"
		conclusions "$name=$high" "$name=$high"
	done < <("$O/ncpu/ncpu" costs | tail -n +2)
}

# rates COMMAND: nanoseconds of an operation on one CPU and on two.
rates()
{
	local cpus

	for cpus in 1 2; do
		"$1" "$2" "$3" "$4" "$cpus" "${@:5}" |
			awk -v n="$cpus" '{ print 1e9 * n / $1 }'
	done | xargs
}

# on_threads LOCK POLICY LOAD CPUS DRIVER; simulated POLICY LOAD DRIVER CPUS: rate.
on_threads()
{
	local real=stock-real

	[[ $2 = stock ]] || real=real
	best env REAL_LOCK="$1" "$O/$real/ncpu" run "$2" "$3" lazy "$4" \
		driver="$5" from=60 warm=60 time=100
}

simulated()
{
	"$(program "$1")" run "$1" "$2" lazy "$4" driver="$3" from=60 warm=60 \
		time=40 | field ops/s
}

# two_cpus POLICY LOAD DRIVER: how much of what off gains from a second CPU a policy
# gains: with pthread's locks, with fair ones, simulated. Where off itself does not
# gain nearly twice, the machine has something else to do, and this says nothing.
two_cpus()
{
	local off pthread fair sim

	off=$(rates on_threads pthread off "$2" "$3")
	pthread=$(rates on_threads pthread "$1" "$2" "$3")
	fair=$(rates on_threads fair "$1" "$2" "$3")
	sim=$(rates simulated "$1" "$2" "$3")
	awk -v OFS='\t' -v name="$1	$2	$3" -v o="$off" -v p="$pthread" \
		-v f="$fair" -v s="$sim" 'function gain(t, x, y) {
		split(t, x, " ")
		split(o, y, " ")
		return x[1] / x[2] / (y[1] / y[2])
	} BEGIN {
		split(s, x, " ")
		print name, o, p, f, s, gain(p), gain(f), x[1] / x[2],
		      100 * (x[1] / x[2] / gain(f) - 1) }'
}

# best COMMAND...: the highest rate of some runs; what else the machine does can
# only lower it.
best()
{
	for _ in 1 2 3 4 5; do
		"$@" | field ops/s
	done | sort -n | tail -n 1
}

real()
{
	local load policy driver

	printf 'policy\tload\tdriver\toff ns\tpthread ns\tfair ns\tsim ns\t'
	printf 'pthread\tfair\tsim\terror%%\n'
	for driver in 300 1000 3000; do
		for load in same mixed large; do
			for policy in series stock; do
				two_cpus "$policy" "$load" "$driver"
			done
		done
	done
}

# calibrate: no interrupts and no slab of the kernel's in user space.
calibrate()
{
	local name

	echo "atomic	$("$O/bench/calibrate" atomic)	ns"
	echo "move	$("$O/bench/calibrate" move)	ns"
	printf 'path\tpolicy\tmeasured\tsimulated\taccesses\n'
	for name in lifo-4k burst-4k burst-mixed lifo-256k cross-256k \
		queue-256k queues-256k; do
		path stock "$name" stock stock-ncpu
		path series "$name" bench ncpu
	done
}

# path POLICY NAME REAL SIMULATED: a line about it.
path()
{
	echo "$2	$1	$("$O/$3/calibrate" path "$2" 200)	$(
		"$O/$4/path" "$2" 50 irq=0 slab=0 queue-work=0 worker=0 \
			"${COSTS[@]}")"
}

NR=0
FAILED=0

# result OK NAME
result()
{
	NR=$((NR + 1))
	if [[ $1 = 1 ]]; then
		echo "ok $NR $2"
	else
		echo "not ok $NR $2"
		FAILED=1
	fi
}

# field NAME: of a line of results, on standard input.
field()
{
	awk -F '\t' -v name="$1" -v head="$("$O/ncpu/ncpu" header)" 'BEGIN {
		n = split(head, names)
		while (names[n] != name)
			n--
	} { print $n }'
}

# counts "LOAD MODE CPUS" NAME MOST [NAME MOST]...: of the series.
counts()
{
	local line value

	# shellcheck disable=SC2086 # words
	line=$("$O/ncpu/ncpu" run series $1 warm=60 time=5)
	echo "# series, $1: $(cut -f 18-22 <<<"$line" | tr '\t' ' ')" \
		"(tree, depot, all locks, flushes, moves)"
	while [[ $# -gt 1 ]]; do
		value=$(field "$2" <<<"$line")
		result "$(awk "BEGIN { print $value <= $3 }")" \
			"$1: no more than $3 $2 an operation"
		set -- "$1" "${@:4}"
	done
}

# same_twice POLICY LOAD MODE CPUS
same_twice()
{
	local one two

	one=$("$(program "$1")" run "$@" warm=4 time=4)
	two=$("$(program "$1")" run "$@" warm=4 time=4)
	result "$([[ $one = "$two" && -n $one ]] && echo 1)" \
		"$*: the same to the byte when run again"
}

# timer_is_short: beside stock's, where the rings of 16 CPUs are full.
timer_is_short()
{
	local policy times=()

	for policy in series stock; do
		times+=("$("$(program "$policy")" run "$policy" bursts lazy 16 \
			warm=150 time=300 | field timer)")
	done
	echo "# longest timer: ${times[0]} us, stock ${times[1]} us"
	result "$(awk "BEGIN { print ${times[0]} <= 0.1 * ${times[1]} }")" \
		"bursts lazy 16: the timer takes a tenth of stock's at most"
}

# models_in_order: the table of 2015.
models_in_order()
{
	local policy rate last=0 ok=1

	for policy in tree batched batched-percpu magazines off; do
		rate=$("$(program "$policy")" run "$policy" memcached lazy 16 \
			time=10 | field ops/s)
		echo "# $policy: $rate operations a second"
		[[ $rate -gt $last ]] || ok=0
		last=$rate
	done
	result "$ok" "16 CPUs: the policies in the order that was reported in 2015"
}

check()
{
	echo "TAP version 13"
	echo "1..21"
	# Trips to the depot: one for each magazine, and on one CPU none.
	counts "same lazy 16" tree-locks 0.0005 depot-locks 0.0005 \
		locks 3.01 flushes 0.001
	counts "large lazy 16" tree-locks 0.0005 depot-locks 0.001 \
		locks 3.01
	counts "receive lazy 16" tree-locks 0.0005 depot-locks 0.006 \
		locks 3.03 flushes 0.001
	counts "mixed lazy 16" tree-locks 0.002 depot-locks 0.01
	counts "domains-64 lazy 8" flushes 0.001
	counts "same strict 16" flushes 1 locks 4.01
	same_twice series mixed lazy 16
	same_twice stock mixed lazy 16
	same_twice tree memcached lazy 16
	timer_is_short
	models_in_order
	exit "$FAILED"
}

case $MODE in
run)
	{ lazy; bursts; strict; models; } | table "$OUT/sim.tsv"
	"$O/ncpu/ncpu" costs >"$OUT/sim-costs.tsv"
	"$O/ncpu/ncpu" loads >"$OUT/sim-loads.tsv"
	;;
ranges)
	ranges | table "$OUT/sim-ranges.tsv"
	;;
real)
	real | tee "$OUT/sim-real.tsv"
	;;
calibrate)
	COSTS=("${@:3}")
	calibrate
	;;
check)
	check
	;;
*)
	echo "usage: sim.sh run|ranges|real DIR OUT, or" \
		"sim.sh calibrate|check DIR" >&2
	exit 2
	;;
esac
