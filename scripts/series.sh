#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# build/$BASE/series: for each part of series/$BASE a directory with a cover letter,
# of series/cover.PART, and numbered patches; git am on the clean base checks them.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$TOP/scripts/lib-series.sh"
. "$TOP/scripts/lib-build.sh"

SERIES=$B/series

# identity: the last commit's, so that the files depend on the series alone.
identity()
{
	GIT_COMMITTER_NAME=$(g log -1 --format=%an series)
	GIT_COMMITTER_EMAIL=$(g log -1 --format=%ae series)
	GIT_COMMITTER_DATE=$(g log -1 --format=%aD series)
	export GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE
}

# cover FILE TEXT: fill in the text.  Its first line is the subject; lines that
# begin with # are comments.
cover()
{
	grep -v '^#' "$2" >"$1.text"
	awk -v text="$1.text" '
		sub(/\*\*\* SUBJECT HERE \*\*\*/, "") {
			getline line <text
			print $0 line
			getline line <text
			next
		}
		/\*\*\* BLURB HERE \*\*\*/ {
			while ((getline line <text) > 0)
				print line
			next
		}
		{ print }' "$1" >"$1.new"
	mv "$1.new" "$1"
	rm "$1.text"
}

# write_part DIR TEXT RANGE: the commits of RANGE.
write_part()
{
	g format-patch -q -o "$1" --cover-letter --no-renames \
		--no-signature --cover-from-description=none \
		"$3"
	cover "$1/0000-cover-letter.patch" "$2"
}

# write_parts DIR
write_parts()
{
	local name first last dir text commits n=0

	# the N-th entry's is commits[N]
	mapfile -t commits < <(ref base; g rev-list --reverse base..series)
	while read -r name first last; do
		n=$((n + 1))
		dir=$n-$name
		text=cover.$name
		[[ $name != - ]] || { dir=; text=cover; }
		[[ -f $TOP/series/$text ]] ||
			die E_SERIES "no series/$text, the cover letter; write it"
		write_part "$1/$dir" "$TOP/series/$text" \
			"${commits[first - 1]}..${commits[last]}"
		step "${dir:-series}: $((last - first + 1)) patches"
	done < <(parts)
}

# check DIR: git am on the clean base gives the same tree.
check()
{
	local patches

	mapfile -t patches < <(find "$1" -name '*.patch' ! -name '0000-*' | sort)
	check_out base
	if ! run_logged "git am on the clean base" \
		git -C "$SRC" am "${patches[@]}"; then
		git -C "$SRC" am --abort
		die E_SERIES "git am refuses the series; see build/log"
	fi
	git -C "$SRC" diff --quiet HEAD "$(ref series)" ||
		die E_SERIES "git am leads to another tree than make tree:" \
			"$(git -C "$SRC" diff --name-only HEAD \
				"$(ref series)" | xargs)"
}

main()
{
	"$TOP/scripts/tree.sh"
	lock
	[[ -n $(g rev-list -n 1 base..series) ]] ||
		die E_SERIES "series/$BASE has no entry; add one"
	identity
	rm -rf "$SERIES.new"
	read_series "$TOP"
	write_parts "$SERIES.new"
	check "$SERIES.new"
	rm -rf "$SERIES"
	mv "$SERIES.new" "$SERIES"
	step "${SERIES#"$TOP"/}: $(g rev-list --count base..series) patches," \
		"git am applies them"
}

main
