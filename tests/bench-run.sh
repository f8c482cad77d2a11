#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The main job from one end to the other, with one round that is too short to
# measure anything: every guest, every benchmark, every cell of the table.  TAP.
set -euo pipefail
held=${WB_LOCK:-}	# by `make check`, which this is a part of
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

OUT=$REPO/build/report-quick

set_up()
{
	[[ -z $held ]] || export WB_LOCK=$held
	QUICK=1 "$REPO/scripts/bench.sh" run >"$SCRATCH/table" || exit
}

# fact CONFIG NAME: what that configuration's guest told.
fact()
{
	awk -F '\t' -v config="$1" -v fact="$2" \
		'$1 == 1 && $2 == config && $3 == fact { print $4 }' \
		"$OUT/facts.tsv"
}

test_every_cell_is_filled()
{
	local cells

	cmp "$SCRATCH/table" "$OUT/table.txt"
	# 8 dma cells of 3 metrics, 4 + 1 + 1 rates, in 6 configurations; 3
	# searches of 2 in 2; 4 counts of 3 in 3; 2 of flushes in 2; vfio's 4 of 2 and 6 of 5 in 2;
	# memory's 2 in 3; instructions' 4 of 3 in 5
	cells=$((1 + (8 * 3 + 6) * 6 + 3 * 2 * 2 + 4 * 3 * 3 +
		2 * 2 + (4 * 2 + 6 * 5) * 2 + 2 * 3 +
		4 * 3 * 5))
	equal "$(wc -l <"$OUT/results.tsv")" "$cells" "lines of results.tsv"
	equal "$(grep -c 'not measured' "$OUT/measures.tsv")" 0 "missing measures"
}

test_configurations_are_what_they_are_called()
{
	local config

	equal "$(fact off testdev.type)" "" "group without IOMMU"
	for config in stock-lazy series-lazy series-tuned; do
		equal "$(fact $config testdev.type)" DMA-FQ $config
	done
	for config in stock-strict series-strict; do
		equal "$(fact $config testdev.type)" DMA $config
	done
	equal "$(fact series-lazy nvme.max_opt_dma_size)" 131072 "default knob"
	equal "$(fact series-tuned nvme.max_opt_dma_size)" 1048576 "tuned knob"
	equal "$(fact series-lazy nvme.max_sectors_kb)" 128 "default limit"
	equal "$(fact series-tuned nvme.max_sectors_kb)" 1024 "tuned limit"
	[[ $(fact stock-lazy release) = *-base-vm ]] || fail "stock's release"
	[[ $(fact series-lazy release) = *-series-vm ]] || fail "series' release"
}

test_page_shows_every_plot()
{
	local plot

	for plot in "$OUT"/*.svg; do
		grep -q '</svg>' "$plot"
		grep -q "src=\"${plot##*/}\"" "$OUT/index.html"
	done
	equal "$(grep -c '<img' "$OUT/index.html")" 8 plots
}

run_tests
