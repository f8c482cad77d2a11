# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What every script of the workbench shares.  Source it first:
#
#	set -euo pipefail
#	. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
#
# It sets TOP (this repository), BASE, KERNEL, FLAVOUR, CPUS, B (build/$BASE)
# and LOGS (build/log), refuses bad values of them, and changes nothing.

# Exit codes.  Anything else is the status of the command that was asked for.
# shellcheck disable=SC2034
{
E_FAIL=1	# anything not listed below
E_USAGE=2	# a variable or an argument is wrong
E_MISSING=3	# a package, a tool or disk space is missing
E_BUSY=4	# another run works in this checkout
E_BASE=5	# the base source is not one that is accepted
E_SERIES=6	# the series does not apply, or work would be lost
E_BUILD=10	# a compilation failed
E_BOOT=11	# the guest did not boot
E_TEST=12	# a test failed
E_SPLAT=13	# the kernel complained: WARN, BUG, KASAN, lockdep, ...
E_TIMEOUT=14	# a time-out
}

# The same text in every locale; no umask that hides files from ourselves; an
# error in $(...) is one; and no variable of our make may reach the kernel's.
export LC_ALL=C
umask 022
shopt -s inherit_errexit
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
: "${BASE:=6.12}" "${KERNEL:=series}" "${FLAVOUR:=vm}" "${CPUS:=4}"
: "${APPEND:=}" "${CMD:=}" "${WB_START:=$(date +%s)}"
export BASE KERNEL FLAVOUR CPUS APPEND CMD WB_START
B=$TOP/build/$BASE
LOGS=$TOP/build/log

# die [E_CODE] MESSAGE: one line that says what is wrong and what mends it.
die()
{
	local code=$E_FAIL

	case $1 in E_*) code=${!1}; shift ;; esac
	echo "${0##*/}: $*" >&2
	exit "$code"
}

# elapsed: seconds since the command the user typed began.
elapsed()
{
	echo $(($(date +%s) - WB_START))
}

# step TEXT: a line of progress, with the time so far.
step()
{
	printf '[%4ds] %s\n' "$(elapsed)" "$*" >&2
}

check_vars()
{
	[[ -f $TOP/base/$BASE && $BASE =~ ^[0-9.]+$ ]] ||
		die E_USAGE "BASE=$BASE: no such base; use one of: $(ls "$TOP/base")"
	[[ $KERNEL =~ ^(series|base)$ ]] ||
		die E_USAGE "KERNEL=$KERNEL: use KERNEL=series or KERNEL=base"
	[[ $FLAVOUR =~ ^(vm|debug)$ ]] ||
		die E_USAGE "FLAVOUR=$FLAVOUR: use FLAVOUR=vm or FLAVOUR=debug"
	[[ $CPUS =~ ^[1-9][0-9]?$ && $CPUS -le 64 ]] ||
		die E_USAGE "CPUS=$CPUS: use a number from 1 to 64"
}

# lock: one run at a time in this checkout.  Scripts that this one calls hold
# the same lock; it is released when the last of them ends, or by unlock.
lock()
{
	[[ ${WB_LOCK:-} != "$TOP" ]] || return 0
	mkdir -p "$TOP/build"
	exec 9>>"$TOP/build/.lock"
	flock -n 9 || die E_BUSY "another run works in this checkout" \
		"($(tail -n 1 "$TOP/build/.lock")); wait for it, or end it"
	echo "pid $$: ${0##*/}, since $(date +%T)" >"$TOP/build/.lock"
	export WB_LOCK=$TOP
	WB_LOCK_OWNER=$$
}

# unlock: only what this very script has taken.
unlock()
{
	[[ ${WB_LOCK_OWNER:-} = "$$" ]] || return 0
	exec 9>&-
	unset WB_LOCK WB_LOCK_OWNER
}

# need_tool COMMAND GROUP: GROUP is the one in scripts/packages that brings it.
need_tool()
{
	command -v "$1" >/dev/null ||
		die E_MISSING "no $1; run: scripts/deps.sh $2"
}

# need_space GIB WHAT-FOR
need_space()
{
	local have

	mkdir -p "$TOP/build"
	have=$(df -Pk "$TOP/build" | awk 'NR == 2 { print int($4 / 1048576) }')
	[[ $have -ge $1 ]] || die E_MISSING \
		"$2 needs $1 GiB and $TOP/build has $have GiB free; make room there"
}

# strict FUNCTION ARGUMENT...: run it in a bash of its own in which an error
# ends it, wherever the caller stands.  Of variables it sees those of this file
# and exported ones.
strict()
{
	# shellcheck disable=SC2016
	bash -euo pipefail -O inherit_errexit \
		-c '. /dev/fd/8; exec 8<&-; "$@"' "$0" "$@" \
		8< <(declare -p TOP B LOGS "${!E_@}"; declare -f)
}

# run_ticker NAME: the progress of run_logged, until its parent ends.
run_ticker()
{
	local every=30 now next begin line

	[[ ! -t 2 ]] || every=2
	begin=$(date +%s)
	next=$((begin + every))
	while sleep 1 >/dev/null 2>&1 && kill -0 "$$" 2>/dev/null; do
		now=$(date +%s)
		[[ $now -ge $next ]] || continue
		next=$((now + every))
		line=$(${PROGRESS:-:} 2>/dev/null) || line=
		line=$(printf '[%4ds] %s: %s' "$((now - WB_START))" "$1" \
			"${line:-$((now - begin)) s so far}")
		if [[ -t 2 ]]; then
			printf '\r\033[K%s' "$line" >&2
		else
			echo "$line" >&2
		fi
	done
}

# run_logged NAME COMMAND...: run it with its output in build/log/NAME.log and
# show how long it takes; PROGRESS may name a command that prints how far it
# is.  On failure show the log's end.  Returns the command's status.  A
# function of the caller's needs strict in front of it.  The command has a
# process group of its own, so that it ends as a whole when this script must.
run_logged()
{
	local name=$1 log=$LOGS/${1//[ \/]/-}.log rc=0 ticker child traps
	local tail=${TAIL:-20}

	shift
	mkdir -p "$LOGS"
	step "$name"
	run_ticker "$name" 9>&- </dev/null &
	ticker=$!
	unset TAIL PROGRESS	# said to this call, not to the command
	traps=$(trap -p INT TERM)
	set -m
	"$@" </dev/null >"$log" 2>&1 &
	child=$!
	set +m
	# shellcheck disable=SC2064 # this very child
	trap "kill -TERM -- -$child; kill $ticker; exit 130" INT TERM
	wait "$child" || rc=$?
	trap - INT TERM
	eval "$traps"
	kill "$ticker" 2>/dev/null || :
	wait "$ticker" 2>/dev/null || :
	[[ ! -t 2 ]] || printf '\r\033[K' >&2
	if [[ $rc -ne 0 ]]; then
		tail -n "$tail" "$log" | sed 's/^/    /' >&2
		step "$name: failed ($rc), whole log: ${log#"$TOP"/}"
	fi
	return "$rc"
}

# in_parallel FUNCTION...: of the caller's, all at once; ends the script if one
# fails.  Each has a process group of its own, as above.
in_parallel()
{
	local one children=() rc=0

	set -m
	for one; do
		"$one" </dev/null &
		children+=($!)
	done
	set +m
	# shellcheck disable=SC2064 # these very children
	trap "kill -TERM -- ${children[*]/#/-}; exit 130" INT TERM
	for one in "${children[@]}"; do
		wait "$one" || rc=$?
	done
	trap - INT TERM
	[[ $rc -eq 0 ]] || exit "$rc"
}

check_vars
