#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# clean.sh [all]: remove what was built; with "all", the base source and the
# composed tree too.  Work in the composed tree that make refresh has not
# carried back is not thrown away.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$TOP/scripts/lib-series.sh"

# keep_work: refuse while a composed tree has work of its own.
keep_work()
{
	local base unsaved

	for base in "$TOP"/build/*/linux; do
		[[ -d $base/.git ]] || continue
		TREE=$base
		unsaved=$(work)
		[[ -z $unsaved ]] || die E_SERIES "${base#"$TOP"/} is ahead of" \
			"this repository ($unsaved); run make refresh, or" \
			"remove build/ by hand"
	done
}

main()
{
	local base

	[[ -d $TOP/build ]] || return 0
	lock
	if [[ ${1:-} = all ]]; then
		keep_work
		rm -rf "$TOP/build"
		return
	fi
	find "$TOP/build" -mindepth 1 -maxdepth 1 ! -name .lock \
		! -name '[0-9]*' -exec rm -rf {} +
	for base in "$TOP"/build/[0-9]*; do
		[[ -d $base ]] || continue
		find "$base" -mindepth 1 -maxdepth 1 ! -name linux ! -name base \
			-exec rm -rf {} +
		[[ ! -d $base/linux ]] || git -C "$base/linux" worktree prune
	done
}

main "$@"
