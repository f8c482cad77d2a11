#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# model.sh DIR: have spin verify flush-queue.pml below DIR, and refute each of
# its mutants. Prints TAP.
set -euo pipefail

D=$1/model
MODEL=$(realpath "$(dirname "$0")/flush-queue.pml")
# What each run may take.
KIB=2000000
SECONDS_EACH=300

# explore MUTANT: spin's verdict in DIR/<mutant>/out; fails if there is none.
explore()
{
	local dir=$D/$1

	rm -rf "$dir"
	mkdir -p "$dir"
	cd "$dir"
	spin "-DMUTANT=$1" -a "$MODEL" >spin.log
	gcc -O2 -w -DSAFETY -DCOLLAPSE "-DMEMLIM=$((KIB / 1024))" -o pan pan.c
	timeout "$SECONDS_EACH" ./pan -m100000 >out 2>&1
	grep -q '^State-vector .* errors: ' out
}

# verdict MUTANT: complete without an error, error, or unknown.
verdict()
{
	local out=$D/$1/out

	if ! (explore "$1") || grep -q 'max search depth too small' "$out"; then
		echo unknown
	elif ! grep -q 'errors: 0$' "$out"; then
		echo error
	elif grep -q 'Search not completed' "$out"; then
		echo unknown
	else
		echo complete
	fi
}

# check NR MUTANT WANTED NAME
check()
{
	local found

	found=$(verdict "$2")
	if [[ $found = "$3" ]]; then
		echo "ok $1 $4"
		grep 'states, stored' "$D/$2/out" | sed 's/^ */# /'
		return
	fi
	sed 's/^/# /' "$D/$2/out" 2>/dev/null || :
	echo "not ok $1 $4: $found, not $3"
	return 1
}

main()
{
	local mutants mutant failed=0

	command -v spin >/dev/null || {
		echo "model.sh: no spin; install the package spin" >&2
		return 1
	}
	mutants=$(grep -c '^ \*	 \?[0-9]\+  ' "$MODEL")
	echo "TAP version 13"
	echo "1..$((mutants + 1))"
	check 1 0 complete "the protocol holds" || failed=1
	for ((mutant = 1; mutant <= mutants; mutant++)); do
		check "$((mutant + 1))" "$mutant" error \
			"mutant $mutant is refuted" || failed=1
	done
	return "$failed"
}

main
