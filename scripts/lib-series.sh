# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The composed tree: how series/$BASE is read and how commits are made of it.
# Source it after lib.sh.  series/$BASE describes the format.

TREE=$B/linux
COMPOSED=refs/workbench/composed	# what `make tree` made last
PENDING=refs/workbench/pending		# what it is checking out right now
# Where an added file is owned, that is, a real file of this repository.
OWNED_ROOTS=(drivers include Documentation tools/testing)

# isolate_git: commit ids must not depend on anybody's git configuration.
isolate_git()
{
	local var pair n=0

	for var in $(git rev-parse --local-env-vars) \
		GIT_{AUTHOR,COMMITTER}_{NAME,EMAIL,DATE}; do
		unset "$var"
	done
	export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
	for pair in safe.directory=* core.autocrlf=false core.safecrlf=false \
		core.hooksPath=/dev/null core.excludesFile=/dev/null \
		core.attributesFile=/dev/null core.quotePath=false \
		core.fsmonitor=false commit.gpgSign=false \
		i18n.commitEncoding=UTF-8 i18n.logOutputEncoding=UTF-8 \
		apply.whitespace=nowarn apply.ignoreWhitespace=no \
		am.threeWay=false am.messageId=false mailinfo.scissors=false \
		diff.algorithm=myers diff.context=3 diff.external= \
		diff.indentHeuristic=true diff.mnemonicPrefix=false \
		diff.noprefix=false diff.orderFile=/dev/null \
		diff.renames=false diff.suppressBlankEmpty=false \
		gc.auto=0 log.showSignature=false; do
		export "GIT_CONFIG_KEY_$n=${pair%%=*}"
		export "GIT_CONFIG_VALUE_$n=${pair#*=}"
		n=$((n + 1))
	done
	export GIT_CONFIG_COUNT=$n
}

# g ARGUMENT...: git, in the composed tree.
g()
{
	git -C "$TREE" "$@"
}

ref()
{
	g rev-parse -q --verify "$1^{commit}" || :
}

# is_owned_root PATH: would an added file at PATH be an owned one?
is_owned_root()
{
	local root

	for root in "${OWNED_ROOTS[@]}"; do
		[[ $1 != "$root"/* ]] || return 0
	done
	return 1
}

# owned_files SRC: the owned files below SRC, sorted.
owned_files()
{
	local roots=() root

	for root in "${OWNED_ROOTS[@]}"; do
		[[ ! -d $1/$root ]] || roots+=("$root")
	done
	[[ ${#roots[@]} -gt 0 ]] || return 0
	if [[ -e $1/.git ]]; then
		git -C "$1" ls-files -co --exclude-standard -- "${roots[@]}"
	else
		(cd "$1" && find "${roots[@]}" ! -type d)
	fi | sort -u | while IFS= read -r root; do
		# what the index lists and the work tree lost is gone
		[[ ! -e $1/$root && ! -L $1/$root ]] || echo "$root"
	done
}

# claim SRC WHERE NAME PATH: PATH, a line of series/$BASE, belongs to NAME.
claim()
{
	local src=$1 where=$2 name=$3 path=$4 file files had

	if [[ $path = -* ]]; then
		GONE[${path#-}]=$name
		return
	fi
	is_owned_root "$path" || die E_SERIES "$where: $path: owned files" \
		"stand below: ${OWNED_ROOTS[*]}"
	files=$path
	if [[ $path = */ ]]; then
		files=$(owned_files "$src" | grep "^$path" || :)
	fi
	[[ -n $files && ( $path = */ || -f $src/$path ) ]] ||
		die E_SERIES "$where: no $path in this repository;" \
			"add it, or take the line out"
	while IFS= read -r file; do
		had=${CLAIM[$file]:-}
		[[ $had != "$path" ]] ||
			die E_SERIES "$where: $file belongs to" \
				"${OWNER[$file]} already; take one line out"
		# all of them begin the same path: a longer one says more
		[[ ${#path} -gt ${#had} ]] || continue
		OWNER[$file]=$name
		CLAIM[$file]=$path
	done <<<"$files"
}

# open_part WHERE NAME MORE: the entries that follow go to the list of NAME.
open_part()
{
	[[ $2 =~ ^[A-Za-z0-9._-]+$ && -z $3 ]] ||
		die E_SERIES "$1: 'part $2 $3' names no part"
	[[ " ${PARTS[*]} " != *" $2 "* ]] ||
		die E_SERIES "$1: part $2 is listed twice"
	[[ -n ${PARTS[*]} || ${#ENTRIES[@]} -eq 0 ]] ||
		die E_SERIES "$1: entries before the first part"
	PARTS+=("$2")
}

# open_entry SRC WHERE KIND NAME
open_entry()
{
	[[ $3 =~ ^(patch|group)$ && $4 =~ ^[A-Za-z0-9._-]+\.patch$ ]] ||
		die E_SERIES "$2: '$3 $4' is neither 'patch NAME.patch'" \
			"nor 'group NAME.patch'"
	[[ -z ${KIND[$4]:-} ]] || die E_SERIES "$2: $4 is listed twice"
	[[ -f $1/patches/$BASE/$4 ]] ||
		die E_SERIES "$2: no patches/$BASE/$4; write it, or take" \
			"the line out"
	KIND[$4]=$3
	ENTRIES+=("$4")
	PART[$4]=${PARTS[*]:+${PARTS[-1]}}
}

# read_series SRC: fill ENTRIES (names in order), PARTS, KIND[name] (patch or
# group), PART[name], OWNER[path] and GONE[path] (name of the group that brings or
# deletes it), CLAIM[path] (the line that says so).
read_series()
{
	local src=$1 line where name='' word more n=0 file

	declare -ga ENTRIES=() PARTS=()
	declare -gA KIND=() PART=() OWNER=() GONE=() CLAIM=()
	while IFS= read -r line || [[ -n $line ]]; do
		n=$((n + 1))
		where=series/$BASE:$n
		read -r word more <<<"${line%%#*}" || :
		if [[ -z $word ]]; then
			continue
		elif [[ $word = part && $line != [[:space:]]* ]]; then
			read -r word more <<<"$more"
			open_part "$where" "$word" "$more"
		elif [[ $line != [[:space:]]* ]]; then
			name=$more
			open_entry "$src" "$where" "$word" "$name"
		elif [[ -n $more || ${KIND[$name]:-} != group ]]; then
			die E_SERIES "$where: only a group has owned files," \
				"one path on a line"
		else
			claim "$src" "$where" "$name" "$word"
		fi
	done <"$src/series/$BASE"
	while IFS= read -r file; do
		[[ -n ${OWNER[$file]:-} ]] || die E_SERIES "$file belongs" \
			"to no group; add a line to series/$BASE"
	done < <(owned_files "$src")
	while IFS= read -r file; do
		[[ -n ${KIND[$file]:-} ]] || die E_SERIES \
			"patches/$BASE/$file is not listed in series/$BASE"
	done < <(cd "$src/patches/$BASE" && ls)
}

# parts: "NAME FIRST LAST" of each part, the numbers of its entries from 1; NAME is
# "-" where there are no parts.
parts()
{
	local name first=1 n=0 part=''

	for name in "${ENTRIES[@]}"; do
		if [[ $n -gt 0 && ${PART[$name]} != "$part" ]]; then
			echo "$part $first $n"
			first=$((n + 1))
		fi
		part=${PART[$name]}
		n=$((n + 1))
	done
	echo "${part:--} $first $n"
}

# inputs_hash SRC: of all that the composed commits depend on.
inputs_hash()
{
	local file

	{
		g rev-parse base^0
		sha256sum <"$TOP/scripts/lib-series.sh"
		(cd "$1" && sha256sum "series/$BASE" && cd "patches/$BASE" &&
			find . -type f -print0 | sort -z | xargs -0r sha256sum)
		while IFS= read -r file; do
			[[ ! -x $1/$file ]] || echo executable
			(cd "$1" && sha256sum "$file")
		done < <(owned_files "$1")
	} | sha256sum | cut -d ' ' -f 1
}

# split_mail SRC NAME TMP: TMP/{info,message,diff} of an entry's file.
split_mail()
{
	local where=patches/$BASE/$2 field

	git mailinfo --encoding=UTF-8 "$3/body" "$3/diff" \
		<"$1/patches/$BASE/$2" >"$3/info" ||
		die E_SERIES "$where: not in the form of git format-patch"
	for field in Author Email Subject Date; do
		grep -q "^$field: ." "$3/info" || die E_SERIES "$where: no" \
			"$field; begin the file with From:, Date: and Subject:"
	done
	grep -q '^Signed-off-by: ' "$3/body" ||
		die E_SERIES "$where: no Signed-off-by: line"
	{ sed -n 's/^Subject: //p' "$3/info"; echo; cat "$3/body"; } |
		git stripspace >"$3/message"
	grep -q '^diff --git ' "$3/diff" || : >"$3/diff"
}

# check_diff NAME DIFF: it may change only what upstream owns.
check_diff()
{
	local where=patches/$BASE/$1 path

	while IFS= read -r path; do
		[[ -z ${OWNER[$path]:-}${GONE[$path]:-} ]] ||
			die E_SERIES "$where changes $path, which belongs" \
				"to ${OWNER[$path]:-}${GONE[$path]:-}; edit it" \
				"there"
	done < <(g apply --numstat "$2" | cut -f 3)
	while read -r path; do
		! is_owned_root "$path" || die E_SERIES "$where adds or" \
			"deletes $path; list it in a group of series/$BASE"
	done < <(g apply --summary "$2" | awk '$2 == "mode" { print $4 }')
	if g apply --summary "$2" | grep -E '^ (rename|copy) ' >/dev/null; then
		die E_SERIES "$where: renames; use git format-patch" \
			"--no-renames"
	fi
}

# stage_owned SRC NAME: put the group's files into the index.
stage_owned()
{
	local path mode

	for path in "${!OWNER[@]}"; do
		[[ ${OWNER[$path]} = "$2" ]] || continue
		[[ ! -L $1/$path ]] ||
			die E_SERIES "$path: a symlink cannot be owned"
		mode=100644
		[[ ! -x $1/$path ]] || mode=100755
		printf '%s %s\t%s\n' "$mode" \
			"$(g hash-object -w --no-filters "$1/$path")" "$path"
	done | g update-index --index-info
	for path in "${!GONE[@]}"; do
		[[ ${GONE[$path]} = "$2" ]] || continue
		g ls-files --error-unmatch -- "$path" >/dev/null 2>&1 ||
			die E_SERIES "$2 deletes $path, which is not there"
		g update-index --force-remove -- "$path"
	done
}

# add_entry SRC NAME PARENT TMP: print the commit that NAME makes of PARENT.
add_entry()
{
	local src=$1 name=$2 parent=$3 tmp=$4 tree

	split_mail "$src" "$name" "$tmp"
	if [[ -s $tmp/diff ]]; then
		check_diff "$name" "$tmp/diff"
		g apply --cached "$tmp/diff" 2>"$tmp/why" ||
			die E_SERIES "patches/$BASE/$name does not apply" \
				"without fuzz: $(head -n 1 "$tmp/why")"
	fi
	stage_owned "$src" "$name"
	tree=$(g write-tree)
	[[ $tree != "$(g rev-parse "$parent^{tree}")" ]] ||
		die E_SERIES "patches/$BASE/$name changes nothing;" \
			"take it out of series/$BASE"
	GIT_AUTHOR_NAME=$(sed -n 's/^Author: //p' "$tmp/info")
	GIT_AUTHOR_EMAIL=$(sed -n 's/^Email: //p' "$tmp/info")
	GIT_AUTHOR_DATE=$(sed -n 's/^Date: //p' "$tmp/info")
	export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE
	GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME \
		GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL \
		GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE \
		g commit-tree -p "$parent" -F "$tmp/message" "$tree" ||
		die E_SERIES "patches/$BASE/$name: git cannot commit it;" \
			"look at its From: and Date:"
}

# compose SRC: print the commit that series/$BASE below SRC leads to.  Touches
# neither the work tree nor a branch.  read_series SRC comes first.
compose()
(
	tmp=$(mktemp -d "$B/compose.XXXXXX")
	trap 'rm -rf "$tmp"' EXIT
	export GIT_INDEX_FILE=$tmp/index
	commit=$(ref base)
	g read-tree "$commit"
	for name in "${ENTRIES[@]}"; do
		commit=$(add_entry "$1" "$name" "$commit" "$tmp") || exit
	done
	echo "$commit"
)

# work: what stands in the composed tree and not in this repository, one line;
# nothing if there is none.
work()
{
	local head commits changed

	head=$(g symbolic-ref -q HEAD || :)
	if [[ $head != refs/heads/series ]]; then
		echo "another branch is checked out"
		return
	fi
	commits=$(g rev-list --count "$COMPOSED..series")
	changed=$(g status --porcelain -uno | wc -l)
	[[ $commits$changed = 00 && $(ref series) = "$(ref $COMPOSED)" ]] ||
		echo "$commits commits, $changed uncommitted files"
}

# set_tree COMMIT HASH: make COMMIT, composed of inputs HASH, the branch that
# is checked out.  Only files that differ are written.  If this is killed,
# finish_pending completes it.
set_tree()
{
	echo "$2" >"$TREE/.git/workbench-hash.new"
	g update-ref $PENDING "$1"
	if ! g checkout -q -B series "$1"; then
		g update-ref -d $PENDING
		die E_SERIES "the composed tree has files in the way;" \
			"remove them from build/$BASE/linux"
	fi
	commit_pending
}

commit_pending()
{
	g update-ref $COMPOSED $PENDING
	mv "$TREE/.git/workbench-hash.new" "$TREE/.git/workbench-hash"
	g update-ref -d $PENDING
}

# finish_pending: complete what a killed run began.
finish_pending()
{
	[[ -n $(ref $PENDING) ]] || return 0
	rm -f "$TREE/.git/index.lock" "$TREE/.git/HEAD.lock"
	g checkout -q -f -B series $PENDING
	commit_pending
}

isolate_git
