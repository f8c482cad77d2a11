#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# max_opt_dma_size changes while devices work. A range that was handed out under
# one value and freed under another must not overlap its neighbour: the IOMMU
# driver sees a second mapping of one address ("DMA PTE already set"), and on a
# disk that holds data, fio sees the wrong data.
#
# debug: always
set -euo pipefail
# shellcheck source=iova_lib.sh
. "$(dirname "$(readlink -f "$0")")/iova_lib.sh"

# Sizes on both sides of each power of two, most of them odd.
SIZES=4k/20:20k/10:60k/10:68k/10:132k/10:160k/10:252k/10:256k/10:400k/10
VALUES=(128K 4M 4K 256K 0 1M 512K 8K 2M 64K)

# turn_knob_while GROUP PID: through all values until the process ends; prints
# how often.
turn_knob_while()
{
	local group=$1 pid=$2 n=0

	while kill -0 "$pid" 2>/dev/null; do
		knob "$group" "${VALUES[n % ${#VALUES[@]}]}"
		n=$((n + 1))
		# let some requests be mapped under this value
		[[ $((n % 3)) -ne 0 ]] || sleep 0.05
	done
	echo "$n changes"
}

# long_requests: probe the disk anew so that it takes requests beyond 128 KiB.
long_requests()
{
	knob "$GROUP" 4M
	unbind "$NVME"
	echo "$NVME" >/sys/bus/pci/drivers/nvme/bind
	retry disk_ready "$NVME"
}

# load FIO-OPTION...: requests of many sizes on NVME's disk, in the background;
# LOAD is its process.
load()
{
	fio --name=live --filename="$(disk_of "$NVME")" --direct=1 \
		--bssplit="$SIZES" --ioengine=io_uring --iodepth=32 \
		--randrepeat=1 "$@" >"$WORK/fio.log" 2>&1 &
	LOAD=$!
}

# load_ends: by itself, and without an error.
load_ends()
{
	wait "$LOAD" || fail "$(grep -E 'verify|err=' "$WORK/fio.log" | head -n 5)"
}

# stop_load: a disk that is gone reads as one that is empty, again and again.
stop_load()
{
	kill -INT "$LOAD" 2>/dev/null || :
	wait "$LOAD" || :
}

# warm_up FIO-OPTION...: what a driver allocates with its first requests.
warm_up()
{
	load "$@"
	load_ends
}

test_under_reads()
{
	local before reads=(--rw=randread --norandommap --numjobs=4)

	need fio
	nvme 0
	long_requests
	warm_up "${reads[@]}" --number_ios=500
	before=$(ranges_used "$GROUP")
	load "${reads[@]}" --number_ios=2000
	turn_knob_while "$GROUP" "$LOAD"
	load_ends
	no_range_lost "$GROUP" "$before"
}

test_under_verified_writes()
{
	local before writes=(--rw=randwrite --size=48m --blockalign=4k
		--verify=crc32c --verify_fatal=1 --verify_backlog=64)

	need fio
	nvme_scratch
	long_requests
	warm_up "${writes[@]}" --io_size=8m
	before=$(ranges_used "$GROUP")
	load "${writes[@]}" --io_size=96m
	turn_knob_while "$GROUP" "$LOAD"
	load_ends
	no_range_lost "$GROUP" "$before"
}

# The other disk's driver comes and goes, with its own knob turned, too.
test_under_reads_beside_bind_and_unbind()
{
	local other other_group n

	need fio
	nvme 1
	other=$NVME
	other_group=$GROUP
	nvme 0
	[[ $GROUP != "$other_group" ]] || skip "both disks are in one group"
	long_requests
	load --rw=randread --norandommap --numjobs=2 --time_based --runtime=600
	for n in {0..9}; do
		knob "$other_group" "${VALUES[n]}"
		unbind "$other"
		knob "$GROUP" "${VALUES[n]}"
		echo "$other" >/sys/bus/pci/drivers/nvme/bind
		knob "$other_group" 4M
		retry disk_ready "$other"
		dd if="$(disk_of "$other")" of=/dev/null bs=132k count=20 \
			iflag=direct status=none
	done
	kill -0 "$LOAD" || fail "the reads ended early"
	stop_load
	if grep 'err=' "$WORK/fio.log" | grep -v 'err= 0'; then
		fail "a read failed"
	fi
}

# The disk goes from under its own load. The load's errors are not ours.
test_unbind_under_load()
{
	local n

	need fio
	nvme 0
	for n in {0..4}; do
		long_requests
		load --rw=randread --norandommap --numjobs=2 --time_based \
			--runtime=600
		for _ in {0..9}; do
			knob "$GROUP" "${VALUES[RANDOM % ${#VALUES[@]}]}"
			sleep 0.1
		done
		unbind "$NVME"
		knob "$GROUP" "${VALUES[n]}"
		stop_load
		echo "$NVME" >/sys/bus/pci/drivers/nvme/bind
		retry disk_ready "$NVME"
		read_disk "$(disk_of "$NVME")" --number_ios=200
	done
}

run_tests
