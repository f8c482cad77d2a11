#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh check|long DIR FUZZ-SECONDS "THREADED-TEST..." TEST...: run the programs
# that make has built below DIR, one TAP document for all, as the selftests'
# runner does.
# run.sh fuzz DIR FUZZ-SECONDS: the fuzzer alone.
set -euo pipefail

MODE=$1
O=$2
SECONDS_TO_FUZZ=$3
read -r -a THREADED <<<"${4:-}"
shift $(($# > 3 ? 4 : 3))
HERE=$(dirname "$0")
NR=0
FAILED=0

# A report of a sanitizer ends the test, and is not mixed with its TAP.
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1

# run_one NAME COMMAND...
run_one()
{
	local name=$1 rc=0

	shift
	NR=$((NR + 1))
	echo "# iova: $name"
	{ "$@" 2>&1 || rc=$?; echo "$rc" >"$O/status"; } | sed -u 's/^/# /'
	rc=$(cat "$O/status")
	if [[ $rc -eq 0 ]]; then
		echo "ok $NR iova: $name"
	else
		FAILED=1
		echo "not ok $NR iova: $name # exit=$rc"
	fi
}

# seeds DIR: each script of corpus.txt as a file.
seeds()
{
	mkdir -p "$1"
	grep -v '^#' "$HERE/corpus.txt" | while IFS= read -r script; do
		NR=$((NR + 1))
		printf '%s' "$script" >"$1/$NR"
	done
}

# fuzz: from corpus.txt and what it found before on; TAP.
fuzz()
{
	local log=$O/fuzz/log rc=0

	mkdir -p "$O/fuzz/corpus"
	seeds "$O/fuzz/seeds"
	echo "TAP version 13"
	echo "1..1"
	"$O/fuzz/fuzz" -max_total_time="$SECONDS_TO_FUZZ" -max_len=603 \
		-artifact_prefix="$O/fuzz/" -print_final_stats=1 \
		"$O/fuzz/corpus" "$O/fuzz/seeds" >"$log" 2>&1 || rc=$?
	if [[ $rc -eq 0 ]]; then
		echo "# $(grep -a 'number_of_executed_units' "$log")"
		echo "ok 1 no script of $SECONDS_TO_FUZZ seconds breaks a rule"
		return
	fi
	grep -av '^INFO\|^#[0-9]' "$log" | tail -n 40 | sed 's/^/# /'
	echo "# again: $O/fuzz/fuzz the file that it says it wrote"
	echo "not ok 1 no script of $SECONDS_TO_FUZZ seconds breaks a rule"
	return 1
}

# other TEST: one that is no program of its own.
other()
{
	case $1 in
	fuzz) fuzz ;;
	compare) "$HERE/compare.sh" check "$O" ;;
	model) "$HERE/model.sh" "$O" ;;
	clock-test) "$O/ncpu/clock-test" ;;
	sim) "$HERE/sim.sh" check "$O" ;;
	esac
}

main()
{
	local test dir=asan others=(fuzz compare model)

	# the simulation comes with VT-d's queue
	[[ ! -x $O/ncpu/ncpu ]] || others+=(clock-test sim)
	if [[ $MODE = fuzz ]]; then
		fuzz
		return
	fi
	if [[ $MODE = long ]]; then
		dir=fast
		others=()
		export IOVA_LONG=1
	fi
	echo "TAP version 13"
	echo "1..$(($# + ${#THREADED[@]} + ${#others[@]}))"
	for test; do
		run_one "$test" "$O/$dir/$test"
	done
	for test in "${THREADED[@]}"; do
		run_one "$test" "$O/tsan/$test"
	done
	for test in "${others[@]}"; do
		run_one "$test" other "$test"
	done
	exit "$FAILED"
}

main "$@"
