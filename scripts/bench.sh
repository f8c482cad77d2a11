#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bench.sh run|bench: build what is missing, boot every configuration that
# guest/bench/configs lists, measure what guest/bench/cells lists, print the
# table and write build/report.
#
#	run	three rounds; the main job
#	bench	five longer rounds, and the configurations marked "bench"
#
# A round boots each configuration once, every second round backwards, so that
# what else the host does meets all of them alike.  After the rounds comes what
# is not timed: what is called how often, and what an idle guest's memory is
# spent on; and the allocator's own files are compared in userspace.
#
# With QUICK=1 in the environment there is one short round, which shows that
# everything works and measures nothing; build/report-quick is written.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

CONFIGS=$TOP/guest/bench/configs
# Sixteen CPUs and, with those of bridges and the guest's disks, eight groups.
IDLE_CPUS=16
IDLE_DEVS=nvme
IDLE_QEMU="-device e1000e"
# Requests of 1 MiB need a disk that takes them.
DISK="-global nvme.mdts=9"

# preset COMMAND: how long, how often, where to.
preset()
{
	REPORT=$TOP/build/report
	RAW=$TOP/build/bench
	case $1:${QUICK:-} in
	*:1)	ROUNDS=1 DMA_TIME=1 FIO_TIME=1 IPERF_TIME=1 GETS=100
		REPORT+=-quick
		RAW+=-quick ;;
	run:*)	ROUNDS=3 DMA_TIME=1 FIO_TIME=1 IPERF_TIME=2 GETS=1000 ;;
	bench:*) ROUNDS=5 DMA_TIME=2 FIO_TIME=4 IPERF_TIME=5 GETS=4000 ;;
	*)	die E_USAGE "usage: bench.sh run|bench" ;;
	esac
	export CPUS=4
	mapfile -t NAMES < <(awk -F '\t' -v bench="$1" \
		'/^[^#]/ && ($7 == "always" || $7 == bench) { print $1 }' \
		"$CONFIGS")
}

# field CONFIG N: of its line.
field()
{
	awk -F '\t' -v name="$1" -v n="$2" '$1 == name { print $n }' "$CONFIGS"
}

# build_module KERNEL: iova_bench.ko against that kernel.
build_module()
{
	local dir=$B/iova_bench-$1

	mkdir -p "$dir"
	cp -u "$TOP"/guest/iova_bench/* "$dir"
	run_logged "iova_bench for $1" make -C "$B/$1-vm" M="$dir" \
		CC="ccache gcc" modules ||
		die E_BUILD "iova_bench does not compile;" \
			"see build/log/iova_bench-for-$1.log"
}

# prepare: what all guests need.  Sets BASE_IMAGE and SERIES_IMAGE.
prepare()
{
	local kernel image

	export FLAVOUR=vm
	for kernel in base series; do
		image=$(KERNEL=$kernel "$TOP/scripts/kernel.sh" | tail -n 1)
		declare -g "IMAGE_$kernel=$TOP/$image"
		build_module "$kernel"
	done
	rm -rf "$RAW" "$REPORT"
	mkdir -p "$RAW" "$REPORT"
}

# how_far: for run_logged.
how_far()
{
	tail -n 1 "$LOGS/$RUN/stdout.log"
}

# measure ROUND CONFIG WORKLOAD...: one guest.  Its files end in
# RAW/ROUND-CONFIG.
measure()
{
	local round=$1 config=$2 load rc=0
	local -x RUN=bench-$1-$2 KERNEL BZIMAGE FILES CMD APPEND=$APPEND
	local -x QEMU_EXTRA=${QEMU_EXTRA:-$DISK}

	shift 2
	KERNEL=$(field "$config" 2)
	BZIMAGE=IMAGE_$KERNEL
	BZIMAGE=${!BZIMAGE}
	APPEND+=" $(field "$config" 3)"
	FILES="$TOP/guest/bench $B/iova_bench-$KERNEL/iova_bench.ko"
	CMD="KNOB=$(field "$config" 4) DMA_TIME=$DMA_TIME FIO_TIME=$FIO_TIME \
		IPERF_TIME=$IPERF_TIME GETS=$GETS /guest/files/bench/run.sh $*"
	rm -rf "${RAW:?}/$round-$config"
	load=$(cut -d ' ' -f 1-3 /proc/loadavg)
	PROGRESS=how_far run_logged "$RUN" "$TOP/scripts/vm.sh" || rc=$?
	[[ ! -d $LOGS/$RUN ]] || mv "$LOGS/$RUN" "$RAW/$round-$config"
	if [[ $rc -ne 0 ]]; then
		echo "bench.sh: $config: no result; see" \
			"${RAW#"$TOP"/}/$round-$config" >&2
		exit "$rc"
	fi
	echo "host_load=$load" >>"$RAW/$round-$config/out/facts"
}

# rounds: the timed part.
rounds()
{
	local round name order workloads n=0 begin
	local total=$((ROUNDS * ${#NAMES[@]}))

	begin=$(elapsed)
	for ((round = 1; round <= ROUNDS; round++)); do
		order=("${NAMES[@]}")
		[[ $((round % 2)) -eq 1 ]] ||
			mapfile -t order < <(printf '%s\n' "${NAMES[@]}" | tac)
		for name in "${order[@]}"; do
			workloads="dma fio iperf3 memcslap"
			case $name in
			stock-lazy | series-lazy) workloads+=" search vfio" ;;
			esac
			step "round $round of $ROUNDS, guest $((++n)) of $total"
			# shellcheck disable=SC2086 # words
			measure "$round" "$name" $workloads
		done
	done
	step "$total guests in $(($(elapsed) - begin)) s"
}

# untimed: counts, and memory.  None of it keeps two CPUs of the host busy, so
# that two of them run at a time.
untimed()
{
	in_parallel counting idle_and_userspace
}

# counting: what patches the running kernel under load takes QEMU's single thread.
counting()
{
	local name
	local -x TCG_THREAD=single

	for name in stock-lazy series-lazy series-tuned; do
		measure counts "$name" counts
	done
	for name in stock-lazy series-lazy series-tuned stock-strict \
		series-strict; do
		CPUS=1 QEMU_EXTRA="$DISK -icount shift=0,sleep=off" \
			measure instructions "$name" instructions
	done
	for name in stock-lazy series-lazy; do
		DEVS="nvme nvme nvme nvme nvme nvme nvme nvme" \
			measure flushes "$name" flushes
	done
}

# Vfio's counts take a device with a large BAR.
idle_and_userspace()
{
	local name

	for name in stock-lazy series-lazy; do
		CPUS=1 DEVS="nvme net net pci-testdev,membar=8G" \
			measure vfio "$name" vfio_counts
	done
	for name in off stock-lazy series-lazy; do
		CPUS=$IDLE_CPUS DEVS=$IDLE_DEVS QEMU_EXTRA=$IDLE_QEMU \
			measure memory "$name" memory
	done
	userspace
}

# userspace: the allocator's own files, beside stock's.
userspace()
{
	run_logged userspace make -s -C "$TOP/tools/testing/iova" bench ||
		die E_BUILD "the userspace benchmark failed;" \
			"see build/log/userspace.log"
	grep -P '^[^\t]+(\t[^\t]+){4}$' "$LOGS/userspace.log" \
		>"$REPORT/userspace.tsv"
}

# host_facts: what it ran on.
host_facts()
{
	echo "date=$(date -u +'%F %T UTC')"
	echo "command=bench.sh $1${QUICK:+, QUICK=$QUICK}"
	echo "rounds=$ROUNDS"
	echo "configs=${NAMES[*]}"
	echo "seconds=dma $DMA_TIME, fio $FIO_TIME, iperf3 $IPERF_TIME; $GETS gets"
	echo "host_cpu=$(sed -n 's/^model name\s*: //p' /proc/cpuinfo |
		sort | uniq -c | xargs)"
	echo "host_kernel=$(uname -r)"
	echo "load_before=$LOAD"
	echo "qemu=$(qemu-system-x86_64 --version | head -n 1)"
	echo "accelerator=$(cut -d ' ' -f 1 "$TOP/build/kvm" 2>/dev/null ||
		echo tcg)"
	echo "base=$(git -C "$B/linux" log -1 --format=%s base)"
	echo "series=$(git -C "$B/linux" rev-parse series)"
	echo "raw=${RAW#"$TOP"/}"
}

main()
{
	[[ $# -eq 1 ]] || die E_USAGE "usage: bench.sh run|bench"
	preset "$1"
	"$TOP/scripts/deps.sh" tree build guest bench
	lock
	prepare
	LOAD=$(cut -d ' ' -f 1-3 /proc/loadavg)
	rounds
	untimed
	host_facts "$1" >"$REPORT/host"
	python3 -B "$TOP/scripts/report" collect "$RAW" "$REPORT" ||
		die E_TEST "cannot read the results; see ${RAW#"$TOP"/}"
	python3 -B "$TOP/scripts/report" table "$REPORT" ||
		die E_TEST "the results are incomplete; see ${RAW#"$TOP"/}"
	step "done: ${REPORT#"$TOP"/}/index.html"
}

main "$@"
