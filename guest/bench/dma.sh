# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# dma_map_benchmark, within its limits: whole seconds, no more threads than
# CPUs, an otherwise idle guest, one bound device.

# dma_map PAGES THREADS SECONDS
dma_map()
{
	[[ $2 -le $(nproc) ]] || guest_fail "$2 threads need as many CPUs"
	dma_map_benchmark -b 64 -g "$1" -t "$2" -s "$3"
}

run_dma()
{
	local name pages threads

	bench_bind >/dev/null
	while read -r name pages threads; do
		say "dma_map_benchmark $name"
		dma_map "$pages" "$threads" "$DMA_TIME" >"/out/dma-$name.txt"
	done < <(cases dma)
}
