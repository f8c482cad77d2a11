# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# fio: random reads of one block size from the null disk.

run_fio()
{
	local name size

	while read -r name size; do
		say "fio $name"
		fio --name="$name" --filename=/dev/nvme0n1 --rw=randread \
			--bs="$size" --ioengine=io_uring --iodepth=32 \
			--numjobs=4 --direct=1 --norandommap --time_based \
			--ramp_time=500ms --runtime="$FIO_TIME" \
			--group_reporting --output-format=json \
			--output="/out/fio-$name.json"
	done < <(cases fio)
}
