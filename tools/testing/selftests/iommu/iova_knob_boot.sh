#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The boot parameter iommu.max_opt_dma_size, on a machine that has just been
# booted with it: every group starts with its value, or with the default and a
# warning if it is none.  The guest's tests boot once with each of these:
# boot: iommu.max_opt_dma_size=1M
# boot: iommu.max_opt_dma_size=9M
set -euo pipefail
# shellcheck source=iova_lib.sh
. "$(dirname "$(readlink -f "$0")")/iova_lib.sh"

# parameter: as it was given, if it was.
parameter()
{
	tr ' ' '\n' </proc/cmdline | sed -n 's/^iommu\.max_opt_dma_size=//p' |
		tail -n 1
}

# meaning TEXT: bytes; the default for what is refused.
meaning()
{
	local bytes size

	case $1 in
	*[0-9][Kk]) bytes=$((${1%[Kk]} * 1024)) ;;
	*[0-9][Mm]) bytes=$((${1%[Mm]} * 1048576)) ;;
	*[!0-9]* | '') bytes=0 ;;
	*) bytes=$1 ;;
	esac
	size=$(page_size)
	if [[ $bytes -eq 0 || $bytes -gt 4194304 ]]; then
		echo $((32 * size))
		return
	fi
	while [[ $size -lt $bytes ]]; do
		size=$((size * 2))
	done
	echo "$size"
}

test_every_group_starts_with_it()
{
	local want group value

	grep -q 'iommu\.max_opt_dma_size=' /proc/cmdline ||
		skip "not booted with iommu.max_opt_dma_size"
	want=$(meaning "$(parameter)")
	while read -r group value; do
		equal "$value" "$want" "group $group"
	done <"$WORK/knobs"
}

test_bad_value_is_reported()
{
	local value

	grep -q 'iommu\.max_opt_dma_size=' /proc/cmdline ||
		skip "not booted with iommu.max_opt_dma_size"
	value=$(parameter)
	if [[ $(meaning "$value") -ne $((32 * $(page_size))) ||
	      $value =~ ^0[KkMm]?$|^128[Kk]$|^131072$ ]]; then
		if dmesg | grep 'max_opt_dma_size=.* ignored'; then
			fail "$value was refused"
		fi
	else
		dmesg | grep "max_opt_dma_size=$value ignored"
	fi
}

run_tests
