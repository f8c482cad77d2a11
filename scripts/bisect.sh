#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Compile every commit of the series: vmlinux and all modules of configs/vm
# with configs/users, and the last one with no modules as well.  A warning that
# the base has not is a failure.  A commit that has passed is not compiled
# again.  Prints TAP.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$TOP/scripts/lib-series.sh"
. "$TOP/scripts/lib-build.sh"

PASSED=$B/check-passed	# one file for each commit that has

# build: what run_logged runs.
build()
{
	seed
	configure
	kmake vmlinux modules
}

# objects: for run_logged.
objects()
{
	echo "$(grep -c '^  \(CC\|AS\|LD\|AR\) ' "$LOG") objects"
}

# compile COMMIT NAME: build/log/NAME.log, and its warnings in $B/NAME.warn
compile()
{
	LOG=$LOGS/$2.log
	check_out "$1"
	PROGRESS=objects run_logged "$2" strict build || return
	warnings "$LOG" >"$B/$2.warn"
}

# verdict COMMIT NAME: compile it; print the reasons why it fails.
verdict()
{
	if ! compile "$1" "$2"; then
		echo "does not compile; see build/log/$2.log"
		grep -m 5 -E 'error|undefined' "$LOGS/$2.log" || :
		return
	fi
	comm -13 "$B/bisect-base.warn" "$B/$2.warn"
}

# stamp COMMIT: the file that says that it has passed.
stamp()
{
	echo "$PASSED/$({ g rev-parse "$1^{tree}"; fragments; } | sha256sum |
		cut -c 1-16)"
}

# check COMMIT N TEXT
check()
{
	local mark why

	mark=$(stamp "$1")
	if [[ ! -e $mark ]]; then
		if [[ ! -e $B/bisect-base.warn ]]; then
			compile base bisect-base || die E_BUILD "the base does" \
				"not compile; see build/log/bisect-base.log"
		fi
		why=$(verdict "$1" "bisect-$2")
		if [[ -n $why ]]; then
			echo "# ${why//$'\n'/$'\n'# }"
			echo "not ok $2 $3"
			RESULT=$E_BUILD
			return
		fi
		touch "$mark"
	fi
	echo "ok $2 $3"
}

main()
{
	local commit commits n=0

	"$TOP/scripts/deps.sh" tree build
	"$TOP/scripts/tree.sh"
	lock
	need_space 4 "compiling each commit"
	mkdir -p "$PASSED"
	mapfile -t commits < <(g rev-list --reverse base..series)
	echo "TAP version 13"
	echo "1..$((${#commits[@]} + 1))"
	for commit in "${commits[@]}"; do
		n=$((n + 1))
		check "$commit" $n "$(g log -1 --format=%s "$commit")"
	done
	export BUILT_IN=1
	check series $((n + 1)) "the whole series without modules"
	exit "$RESULT"
}

RESULT=0
main
