# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# iova_bench.ko: latency of the search for free space in a fragmented domain.

run_search()
{
	local name ranges calls params=/sys/module/iova_bench/parameters

	while read -r name ranges calls; do
		say "tree search, $name ranges"
		insmod /guest/files/iova_bench.ko \
			ranges="$ranges" calls="$calls"
		(cd $params && grep . ranges calls mean_ns worst_ns) \
			>"/out/search-$name.txt"
		rmmod iova_bench
	done < <(cases search)
}
