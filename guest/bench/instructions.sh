# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# dma_map_benchmark where each instruction takes a nanosecond (QEMU's -icount), so
# that its times are counts, the same on each host.

# shellcheck source-path=SCRIPTDIR
. "$HERE/dma.sh"

run_instructions()
{
	dma_cases instructions
}
