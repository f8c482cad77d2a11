#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# tree.sh [base]: compose build/$BASE/linux, branch series = one commit per
# entry of series/$BASE.  With "base", also check the pristine source out in
# build/$BASE/linux-base.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$TOP/scripts/lib-series.sh"

# The pristine source in a work tree of its own.
base_tree()
{
	local dir=$B/linux-base

	if [[ ! -f $B/linux-base.done ]]; then
		rm -rf "$dir"
		g worktree prune
		run_logged "check out linux-base" \
			git -C "$TREE" worktree add --detach "$dir" base ||
			die "cannot check out $dir; see build/log"
		touch "$B/linux-base.done"
	fi
}

compose_tree()
{
	local hash commit pending

	read_series "$TOP"
	hash=$(inputs_hash "$TOP")
	pending=$(work)
	if [[ $hash = "$(cat "$TREE/.git/workbench-hash" 2>/dev/null)" ]]; then
		[[ -z $pending ]] || step "build/$BASE/linux is ahead of this" \
			"repository ($pending); make refresh carries it back"
		return
	fi
	[[ -z $pending ]] || die E_SERIES "series/$BASE or its files changed" \
		"here while build/$BASE/linux is ahead ($pending); undo the" \
		"change here and run make refresh, or throw the work away:" \
		"git -C build/$BASE/linux checkout -f -B series $COMPOSED"
	step "compose ${#ENTRIES[@]} commits on $(g log -1 --format=%s base)"
	commit=$(compose "$TOP")
	set_tree "$commit" "$hash"
}

main()
{
	"$TOP/scripts/base.sh"
	lock
	[[ ! -d $B/refresh.ready ]] || "$TOP/scripts/refresh.sh"
	finish_pending
	compose_tree
	[[ ${1:-} != base ]] || base_tree
	step "build/$BASE/linux: $(g describe --always --tags series)"
}

main "$@"
