#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lint.sh [CHECK...]: checkpatch --strict, sparse, W=1, kernel-doc, shellcheck,
# whitespace, SPDX, MAINTAINERS: of the series, of the owned files, of this
# repository; all of it, or the checks that are named.  Where upstream's own
# files are concerned, only what the base has not counts.  What compiles the
# series, or looks at each of its commits, and has passed, is not done again for
# the same series.  Prints TAP.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$TOP/scripts/lib-series.sh"
. "$TOP/scripts/lib-build.sh"

# Types of checkpatch that do not fit: MAINTAINERS is checked here, and the
# tree has no history in which a commit could be looked up.
IGNORE=FILE_PATH_CHANGES,UNKNOWN_COMMIT_ID,GIT_COMMIT_ID
# What it says of every header of trace events, and of stand-ins for kernel
# headers in userspace, which define what it wants to be used.
TRACE='^(include/trace/events/|[^ ]*trace\.h:)[^ ]* [A-Z]+:(OPEN_ENDED_LINE|PARENTHESIS_ALIGNMENT|LONG_LINE):'
STAND_IN='^tools/testing/iova/[^ ]* [A-Z]+:(AVOID_BUG|BIT_MACRO|CAMELCASE|COMPLEX_MACRO|EXPORT_SYMBOL|MACRO_ARG_REUSE|MACRO_ARG_UNUSED|MEMORY_BARRIER|NEW_TYPEDEFS|PREFER_DEFINED_ATTRIBUTE_MACRO|UNCOMMENTED_DEFINITION):'

# repo_files: every file of this repository, but those that are as they come.
repo_files()
{
	git -C "$TOP" ls-files -co --exclude-standard |
		grep -Ev '^COPYING$|\.(patch|png|svg)$|\.gitkeep$' |
		while IFS= read -r file; do
			[[ ! -f $TOP/$file ]] || echo "$file"
		done
}

# kernel_files: the owned C files that are part of the kernel.
kernel_files()
{
	owned_files "$TOP" | grep -E '^(drivers|include)/.*\.[ch]$' || :
}

lint_shellcheck()
{
	local files

	mapfile -t files < <(repo_files | while IFS= read -r file; do
		if [[ $file = *.sh ]] ||
			head -n 1 "$file" | grep -Eaq '^#!.*[/ ](ba|da)?sh( |$)'
		then
			echo "$file"
		fi
	done)
	shellcheck -f gcc "${files[@]}"
}

lint_whitespace()
{
	repo_files | while IFS= read -r file; do
		git diff --no-index --check /dev/null "$file" |
			grep -v '^[+-]' || :
		[[ -z $(tail -c 1 "$file") ]] || echo "$file: no newline at end"
	done
	g diff --check base series | grep -v '^[+-]' || :
}

lint_spdx()
{
	repo_files | while IFS= read -r file; do
		head -n 3 "$file" | grep -q 'SPDX-License-Identifier: ' ||
			echo "$file: no SPDX-License-Identifier in its first lines"
	done
}

# lint_maintainers: each owned file matches an F: line.
lint_maintainers()
{
	local file pattern found

	owned_files "$TOP" | while IFS= read -r file; do
		found=''
		while read -r pattern; do
			[[ $pattern != */ ]] || pattern+='*'
			# shellcheck disable=SC2053 # it is a pattern
			[[ $file != $pattern ]] || found=1
		done < <(sed -n 's/^F:[[:space:]]*//p' "$TOP/MAINTAINERS")
		[[ -n $found ]] || echo "$file: no F: line of MAINTAINERS has it"
	done
}

# checkpatch ARGUMENT...: exit status 1 means that it found something.
checkpatch()
{
	local out rc=0

	out=$(cd "$TREE" && PATH=/usr/bin:/bin:$PATH perl scripts/checkpatch.pl \
		--strict --terse --show-types --showfile --no-summary \
		--color=never --ignore "$IGNORE" "$@" 2>/dev/null) || rc=$?
	if [[ $rc -gt 1 ]]; then
		echo "checkpatch.pl: exit status $rc"
		return "$rc"
	fi
	out=$'\n'$out
	grep -Ev "$TRACE|$STAND_IN|^\$" \
		<<<"${out//$'\n'$TOP\//$'\n'}" || :
}

# lint_checkpatch_commits: message and hooks; checkpatch_files has the rest.
lint_checkpatch_commits()
{
	local commit line name

	for commit in $(g rev-list --reverse base..series); do
		name=$(g log -1 --format=%s "$commit")
		checkpatch --git "$commit" | while IFS= read -r line; do
			grep -Fqx "${line%%:*}" <(owned_files "$TOP") ||
				echo "$name: $line"
		done
	done
}

lint_checkpatch_files()
{
	local files

	mapfile -t files < <(owned_files "$TOP" | grep -E '\.[chS]$')
	[[ ${#files[@]} -eq 0 ]] || checkpatch --no-tree -f "${files[@]/#/$TOP/}"
}

lint_kernel_doc()
{
	local files

	mapfile -t files < <(kernel_files)
	[[ ${#files[@]} -eq 0 ]] || perl "$TREE/scripts/kernel-doc" -none \
		-Wall "${files[@]}" 2>&1
}

# objects COMMIT: those that sparse looks at.
objects()
{
	local file

	echo drivers/iommu/
	while IFS= read -r file; do
		! g cat-file -e "$1:$file" 2>/dev/null || echo "${file%.c}.o"
	done < <(g diff --name-only base series -- '*.c' \
		':!tools' ':!drivers/iommu')
}

# sparse COMMIT LOG: compile with sparse; build/log/LOG.log
sparse()
{
	local what

	mapfile -t what < <(objects "$1")
	check_out "$1"
	run_logged "$2" strict sparse_build "${what[@]}"
}

sparse_build()
{
	configure
	kmake C=2 "$@"
}

lint_sparse()
{
	local key

	key=$(objects base; fragments; g rev-parse base)
	if [[ $key != "$(cat "$B/sparse-base.key" 2>/dev/null)" ]]; then
		sparse base lint-sparse-base || return
		warnings "$LOGS/lint-sparse-base.log" >"$B/sparse-base.warn"
		echo "$key" >"$B/sparse-base.key"
	fi
	sparse series lint-sparse || return
	comm -13 "$B/sparse-base.warn" <(warnings "$LOGS/lint-sparse.log")
}

# lint_W1: compile the owned objects with more of gcc's warnings.
lint_W1()
{
	local files

	mapfile -t files < <(kernel_files | sed -n 's/\.c$/.o/p')
	[[ ${#files[@]} -gt 0 ]] || return 0
	check_out series
	run_logged lint-W1 strict w1_build "${files[@]}" || return
	warnings "$LOGS/lint-W1.log"
}

w1_build()
{
	configure
	kmake W=1 "$@"
}

# stamp NAME: the file that says that lint_NAME has passed for this series; no
# name for the checks of single files, which take seconds.
stamp()
{
	case $1 in
	checkpatch_commits | sparse | W1)
		echo "$B/check-passed/lint-$1-$({
			g rev-parse series
			fragments
			cat "$TOP/scripts/lint.sh" "$TOP/scripts/lib-build.sh"
		} | sha256sum | cut -c 1-16)" ;;
	esac
}

# check N NAME: lint_NAME prints what is wrong.
check()
{
	local out rc mark

	mark=$(stamp "$2")
	if [[ -n $mark && -e $mark ]]; then
		echo "ok $1 $2"
		return
	fi
	step "lint: $2"
	# not in a condition: that would switch `set -e` off
	set +e
	out=$(set -e; "lint_$2")
	rc=$?
	set -e
	[[ $rc -eq 0 || -n $out ]] || out="exit status $rc, see above"
	if [[ -z $out ]]; then
		[[ -z $mark ]] || { mkdir -p "${mark%/*}" && : >"$mark"; }
		echo "ok $1 $2"
		return
	fi
	echo "# ${out//$'\n'/$'\n'# }"
	echo "not ok $1 $2 ($(grep -c . <<<"$out") lines)"
	RESULT=$E_TEST
}

CHECKS=(shellcheck whitespace spdx maintainers checkpatch_commits
	checkpatch_files kernel_doc sparse W1)

main()
{
	local name n=0

	for name; do
		[[ " ${CHECKS[*]} " = *" $name "* ]] || die E_USAGE \
			"no check $name; use: ${CHECKS[*]}"
	done
	[[ $# -eq 0 ]] || CHECKS=("$@")
	"$TOP/scripts/deps.sh" tree build lint
	need_tool shellcheck lint
	need_tool sparse lint
	"$TOP/scripts/tree.sh"
	lock
	cd "$TOP"
	echo "TAP version 13"
	echo "1..${#CHECKS[@]}"
	for name in "${CHECKS[@]}"; do
		n=$((n + 1))
		check $n "$name"
	done
	exit "$RESULT"
}

RESULT=0
main "$@"
