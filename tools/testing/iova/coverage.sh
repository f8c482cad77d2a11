#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# coverage.sh DIR SOURCE... -- TEST...: run the tests that make has built below
# DIR/cov and list the lines of the sources that none has reached.
set -euo pipefail

D=$1/cov
shift
SOURCES=()
while [[ $1 != -- ]]; do
	SOURCES+=("$1")
	shift
done
shift

find "$D" -name '*.gcda' -delete
for test; do
	"$D/$test" >"$D/$test.log" 2>&1 || {
		grep '^not ok' "$D/$test.log" || tail -n 5 "$D/$test.log"
		echo "coverage.sh: $test fails, see $D/$test.log" >&2
		exit 1
	}
done
for source in "${SOURCES[@]}"; do
	name=$(basename "$source" .c)
	(cd "$D" && gcov -r -s "$(dirname "$source")" "$name.o" >"$name.gcov.log")
	grep -A 1 "^File '$name.c'" "$D/$name.gcov.log" |
		sed -n "s/^Lines executed:/$name.c: /p"
	grep '^ *#####:' "$D/$name.c.gcov" | sed "s/^ *#####: */  /" || :
done
