#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run the suites that tests/suites lists, or those that SUITES names, and count
# their results.  The last line is "N passed, N failed[, N skipped]".
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

LIST=$TOP/tests/suites
PASSED=0
FAILED=0
SKIPPED=0

# listed: "name minutes command..." of each suite.
listed()
{
	sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$LIST"
}

# how_far: for run_logged.
how_far()
{
	awk -v so_far=1 -f "$TOP/scripts/tap.awk" "$LOGS/check-$SUITE.log" |
		awk '{ print $1 " passed, " $2 " failed so far" }'
}

# before_failure LOG: what stands before its first failure, where the log itself
# may be out of reach.
before_failure()
{
	grep -m 1 -B 25 -E '^[[:space:]#]*not ok [0-9]' "$1" |
		sed 's/^/     | /' || true
}

# run_suite NAME MINUTES COMMAND...
run_suite()
{
	local log=$LOGS/check-$1.log counts rc=0 begin=$SECONDS

	SUITE=$1
	PROGRESS=how_far TAIL=0 run_logged "check-$1" \
		timeout -k 30 "${2}m" "${@:3}" || rc=$?
	awk -f "$TOP/scripts/tap.awk" "$log" >"$log.count"
	read -r -a counts <"$log.count"
	case $rc in
	0) ;;
	124 | 137) echo "ended after $2 minutes" >>"$log.count" ;;
	*) [[ ${counts[1]} -gt 0 ]] || echo "exit status $rc" >>"$log.count" ;;
	esac
	counts[1]=$(($(wc -l <"$log.count") - 1))
	sed -n "2,\$s,^,FAIL $1: ,p" "$log.count"
	if [[ ${counts[1]} -gt 0 ]]; then
		before_failure "$log"
		echo "     $1: see ${log#"$TOP"/}"
	fi
	echo "$1: ${counts[0]} passed, ${counts[1]} failed," \
		"${counts[2]} skipped ($((SECONDS - begin)) s)"
	PASSED=$((PASSED + counts[0]))
	FAILED=$((FAILED + counts[1]))
	SKIPPED=$((SKIPPED + counts[2]))
}

check_names()
{
	local name

	for name in ${SUITES:-}; do
		listed | grep "^-\?${name}[[:space:]]" >/dev/null ||
			die E_USAGE "SUITES=$name: no such suite; use:" \
				"$(listed | awk '{ print $1 }' | tr -d - | xargs)"
	done
}

# wanted NAME: is the suite one of those to run?
wanted()
{
	if [[ -n ${SUITES:-} ]]; then
		[[ " $SUITES " = *" ${1#-} "* ]]
	else
		[[ $1 != -* ]]
	fi
}

main()
{
	local name minutes command

	check_names
	"$TOP/scripts/deps.sh"
	lock
	cd "$TOP"
	# suites compile what stands there
	"$TOP/scripts/tree.sh"
	while read -r name minutes command; do
		wanted "$name" || continue
		# shellcheck disable=SC2086 # a command and its arguments
		run_suite "${name#-}" "$minutes" $command
	done < <(listed)
	if [[ $SKIPPED -gt 0 ]]; then
		echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
	else
		echo "$PASSED passed, $FAILED failed"
	fi
	[[ $FAILED -eq 0 ]] || exit "$E_TEST"
}

main
