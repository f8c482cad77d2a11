#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Carry work done in build/$BASE/linux back: commits that were amended, added,
# moved or dropped, and edits of owned files.  The result is put together in a
# directory of its own, composed from there and compared with the work tree;
# only then is this repository changed.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$TOP/scripts/lib-series.sh"

STAGE=$B/refresh.new	# being put together
READY=$B/refresh.ready	# checked, being copied
THROW="git -C build/$BASE/linux checkout -f -B series $COMPOSED"

declare -A WAS=()	# entry -> the commit composed of it
declare -A TAKEN=()	# entry -> the commit of now that is it
declare -A NAME=()	# commit -> entry
declare -A FIRST=()	# owned path -> the first commit that touches it
declare -A OWNS=()	# owned path -> entry, as it will be
declare -A DROPS=()	# deleted path -> entry, as it will be
COMMITS=()		# base..series, oldest first
KEPT=()			# those that stay commits of their own
# the text of series/$BASE: before the first entry, by entry, after the last
declare -A PREFIX=() LINE=() CLAIMS=()
HEADER='' FOOTER=''

in_base()
{
	g cat-file -e "base:$1" 2>/dev/null
}

# check_tree: refuse what cannot be carried back.
check_tree()
{
	local file dir=$TREE/.git

	[[ $(g symbolic-ref -q HEAD) = refs/heads/series ]] ||
		die E_SERIES "build/$BASE/linux is not on its branch series;" \
			"run: git -C build/$BASE/linux checkout series"
	for file in rebase-merge rebase-apply MERGE_HEAD CHERRY_PICK_HEAD \
		REVERT_HEAD; do
		[[ ! -e $dir/$file ]] || die E_SERIES "build/$BASE/linux is in" \
			"the middle of a git operation ($file); finish it"
	done
	g merge-base --is-ancestor base series ||
		die E_SERIES "branch series does not start at tag base;" \
			"rebase it onto base, or throw it away: $THROW"
	[[ -z $(g rev-list --merges base..series) ]] ||
		die E_SERIES "branch series has a merge; run:" \
			"git -C build/$BASE/linux rebase base"
	[[ -z $(g log --format=%s base..series |
		sed -n '/^\(fixup\|squash\|amend\)! /p') ]] ||
		die E_SERIES "branch series has fixup commits; run:" \
			"git -C build/$BASE/linux rebase -i --autosquash base"
	file=$(g ls-files -o --exclude-standard | sed -n 1p)
	[[ -z $file ]] || die E_SERIES "$file is new in build/$BASE/linux;" \
		"git add and commit it there, or remove it"
	[[ $(inputs_hash "$TOP") = "$(cat "$dir/workbench-hash")" ]] ||
		die E_SERIES "series/$BASE or its files changed here as well;" \
			"run: git stash; make refresh; git stash pop"
}

# paths_of COMMIT owned|upstream
paths_of()
{
	local status path kind

	while IFS=$'\t' read -r status path; do
		kind=upstream
		if [[ -n ${OWNER[$path]:-}${GONE[$path]:-} ]]; then
			kind=owned
		elif is_owned_root "$path"; then
			if [[ $status = D ]] || ! in_base "$path"; then
				kind=owned
			fi
		fi
		[[ $kind != "$2" ]] || echo "$path"
	done < <(g diff-tree -r --no-commit-id --no-renames --name-status "$1")
}

# upstream_diff COMMIT: the part of it that a patch carries.
upstream_diff()
{
	local paths

	mapfile -t paths < <(paths_of "$1" upstream)
	[[ ${#paths[@]} -gt 0 ]] || return 0
	GIT_LITERAL_PATHSPECS=1 g diff-tree -r -p --no-commit-id --no-renames \
		--binary --abbrev=12 "$1" -- "${paths[@]}"
}

# key id|subject|diff COMMIT: by what two commits may be the same entry.
key()
{
	case $1 in
	id) echo "$2" ;;
	subject) g log -1 --format=%s "$2" ;;
	diff) upstream_diff "$2" | g patch-id --verbatim | cut -d ' ' -f 1 ;;
	esac
}

# read_commits: COMMITS, WAS and FIRST.
read_commits()
{
	local commit path name was n=0

	mapfile -t was < <(g rev-list --reverse "base..$COMPOSED")
	for name in "${ENTRIES[@]}"; do
		WAS[$name]=${was[n]}
		n=$((n + 1))
	done
	mapfile -t COMMITS < <(g rev-list --reverse base..series)
	for commit in "${COMMITS[@]}"; do
		while IFS= read -r path; do
			: "${FIRST[$path]:=$commit}"
		done < <(paths_of "$commit" owned)
	done
}

# match_commits BY: name the commits whose key is that of an entry.
match_commits()
{
	local key commit name
	local -A entry=()

	for name in "${ENTRIES[@]}"; do
		[[ -z ${TAKEN[$name]:-} ]] || continue
		key=$(key "$1" "${WAS[$name]}")
		[[ -z $key ]] || entry[$key]=$name
	done
	for commit in "${COMMITS[@]}"; do
		[[ -z ${NAME[$commit]:-} ]] || continue
		key=$(key "$1" "$commit")
		name=${entry[${key:--}]:-}
		[[ -n $name ]] || continue
		NAME[$commit]=$name
		TAKEN[$name]=$commit
		unset "entry[$key]"
	done
}

# name_new: a file name for each commit that continues no entry.
name_new()
{
	local commit stem name n

	for commit in "${COMMITS[@]}"; do
		[[ -z ${NAME[$commit]:-} ]] || continue
		stem=$(g log -1 --format=%f "$commit" | cut -c 1-52)
		name=$stem.patch
		n=2
		while [[ -n ${TAKEN[$name]:-}${KIND[$name]:-} ]]; do
			name=$stem-$n.patch
			n=$((n + 1))
		done
		NAME[$commit]=$name
		TAKEN[$name]=$commit
	done
}

# expected_tree: the tree of branch series with the uncommitted edits of owned
# files; edits of other files are refused.
expected_tree()
(
	tmp=$(mktemp -d "$B/refresh.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	g diff --name-only HEAD >"$tmp/list"
	# shellcheck disable=SC2031 # a subshell of its own, as compose is
	export GIT_INDEX_FILE=$tmp/index
	g read-tree series
	while IFS= read -r path; do
		[[ -n ${FIRST[$path]:-} ]] || die E_SERIES "$path is edited and" \
			"not committed; commit it in build/$BASE/linux: git" \
			"commit -s, or git commit --fixup=COMMIT and git" \
			"rebase -i --autosquash base"
		g update-index --add --remove -- "$path"
	done <"$tmp/list"
	g write-tree
)

# assign TREE: OWNS, DROPS and KEPT of what TREE has.
assign()
{
	local path commit
	local -A has=()

	for path in "${!FIRST[@]}"; do
		commit=${FIRST[$path]}
		if g cat-file -e "$1:$path" 2>/dev/null; then
			OWNS[$path]=${NAME[$commit]}
		elif in_base "$path"; then
			DROPS[$path]=${NAME[$commit]}
		else
			continue
		fi
		has[$commit]=1
	done
	for commit in "${COMMITS[@]}"; do
		if [[ -n ${has[$commit]:-} || -n $(paths_of "$commit" upstream) ]]
		then
			KEPT+=("$commit")
		else
			step "folded into the groups that own its files:" \
				"$(g log -1 --format=%s "$commit")"
		fi
	done
}

# same_message A B: author, date and text.
same_message()
{
	local format='%an <%ae> %ad%n%s%n%n%b'

	[[ $(g log -1 --date=raw --format="$format" "$1") = \
		"$(g log -1 --date=raw --format="$format" "$2")" ]]
}

# write_patch COMMIT: its file in STAGE; an unchanged one keeps its bytes.
write_patch()
{
	local name=${NAME[$1]} old out

	out=$STAGE/patches/$BASE/$name
	old=${WAS[$name]:-}
	if [[ -n $old ]] && same_message "$1" "$old" &&
		[[ $(key diff "$1") = "$(key diff "$old")" ]]; then
		cp "$TOP/patches/$BASE/$name" "$out"
		return
	fi
	{
		g log -1 --format=email "$1" | sed 1d
		upstream_diff "$1" | sed '1s/^/---\n\n/'
	} >"$out"
	step "written: patches/$BASE/$name"
}

# read_blocks: fill HEADER, PREFIX, LINE, CLAIMS and FOOTER.
read_blocks()
{
	local line word name='' held=''

	while IFS= read -r line || [[ -n $line ]]; do
		word=${line%%[[:space:]]*}
		if [[ -z $line || $word = '#'* || $word = part ]]; then
			held+=$line$'\n'
		elif [[ -n $word ]]; then
			[[ -n $name ]] || { HEADER=$held; held=''; }
			read -r word name word <<<"${line%%#*}"
			PREFIX[$name]=$held
			LINE[$name]=$line
			held=''
		else
			CLAIMS[$name]+=$held$line$'\n'
			held=''
		fi
	done <"$TOP/series/$BASE"
	FOOTER=$held
	[[ -n $name ]] || { HEADER=$held; FOOTER=''; }
}

# claims_of NAME: its lines in the new list, old ones first and as they were.
claims_of()
{
	local name=$1 line word path
	local -A left=()

	for path in "${!OWNS[@]}"; do
		[[ ${OWNS[$path]} != "$name" ]] || left[$path]=1
	done
	for path in "${!DROPS[@]}"; do
		[[ ${DROPS[$path]} != "$name" ]] || left[-$path]=1
	done
	while IFS= read -r line; do
		read -r word path <<<"${line%%#*}" || :
		if [[ -z $word ]]; then
			[[ -z $line ]] || echo "$line"
			continue
		fi
		for path in "${!left[@]}"; do
			[[ $path = "$word" || ( $word = */ && $path = "$word"* ) ]] ||
				continue
			[[ -z $line ]] || echo "$line"
			line=''
			unset "left[$path]"
		done
	done <<<"${CLAIMS[$name]:-}"
	[[ ${#left[@]} -eq 0 ]] || printf '\t%s\n' "${!left[@]}" | sort
}

write_series()
{
	local commit name claims kind

	read_blocks
	printf '%s' "$HEADER"
	for commit in "${KEPT[@]}"; do
		name=${NAME[$commit]}
		claims=$(claims_of "$name")
		kind="patch"
		[[ -z $claims ]] || kind=group
		printf '%s' "${PREFIX[$name]-$'\n'}"
		if [[ ${KIND[$name]:-} = "$kind" ]]; then
			echo "${LINE[$name]}"
		else
			echo "$kind $name"
		fi
		[[ -z $claims ]] || echo "$claims"
	done
	printf '%s' "$FOOTER"
}

# fill_stage TREE
fill_stage()
{
	local path mode commit

	rm -rf "$STAGE"
	mkdir -p "$STAGE/series" "$STAGE/patches/$BASE"
	for commit in "${KEPT[@]}"; do
		write_patch "$commit"
	done
	write_series >"$STAGE/series/$BASE"
	for path in "${!OWNS[@]}"; do
		mkdir -p "$STAGE/${path%/*}"
		g cat-file blob "$1:$path" >"$STAGE/$path"
		mode=$(g ls-tree --format='%(objectmode)' "$1" -- "$path")
		[[ $mode != 100755 ]] || chmod +x "$STAGE/$path"
	done
}

# check_stage TREE: what the stage composes to must be what stands there.
check_stage()
{
	local new commit made n=0

	read_series "$STAGE"
	new=$(compose "$STAGE")
	[[ $(g rev-parse "$new^{tree}") = "$1" ]] || die E_SERIES \
		"the series would lead to another tree; it differs in:" \
		"$(g diff --name-only "$1" "$new" | xargs)"
	mapfile -t made < <(g rev-list --reverse "base..$new")
	for commit in "${KEPT[@]}"; do
		same_message "$commit" "${made[n]}" ||
			die E_SERIES "the message of this commit does not" \
				"survive being mailed; reword it:" \
				"$(g log -1 --format='%h %s' "$commit")"
		n=$((n + 1))
	done
	echo "$new" >"$STAGE/commit"
	rm -rf "$READY"
	mv "$STAGE" "$READY"
}

# same_file A B: content and the executable bit.
same_file()
{
	cmp -s "$1" "$2" && [[ $(test -x "$1"; echo $?) = "$(test -x "$2"; echo $?)" ]]
}

# finish: copy what was checked.  Can be repeated after it was killed.
finish()
{
	local file commit

	[[ -d $READY ]] || return 0
	commit=$(cat "$READY/commit")
	(cd "$READY" && find . -type f ! -path ./commit) |
		while IFS= read -r file; do
			same_file "$READY/$file" "$TOP/$file" || install -D \
				-m "$(stat -c %a "$READY/$file")" \
				"$READY/$file" "$TOP/$file"
		done
	{
		owned_files "$TOP"
		(cd "$TOP" && find "patches/$BASE" -name '*.patch')
	} | while IFS= read -r file; do
		[[ -e $READY/$file ]] || rm -f "$TOP/$file"
	done
	g update-ref refs/heads/series "$commit"
	g reset -q
	g update-ref $COMPOSED "$commit"
	inputs_hash "$TOP" >"$TREE/.git/workbench-hash"
	rm -rf "$READY"
}

main()
{
	local tree

	[[ -n $(ref base 2>/dev/null) ]] ||
		die E_SERIES "no composed tree; run: make tree"
	lock
	finish
	finish_pending
	check_tree
	[[ -n $(work) ]] || { step "nothing to carry back"; return; }
	read_series "$TOP"
	read_commits
	match_commits id
	match_commits subject
	match_commits diff
	name_new
	tree=$(expected_tree)
	assign "$tree"
	fill_stage "$tree"
	check_stage "$tree"
	finish
	step "carried back; git diff shows it"
}

main
