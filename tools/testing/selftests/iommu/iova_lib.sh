# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the iova_*.sh tests share. A test is a function test_*, run in the order
# of their names; it fails when a command in it does, or by fail, and it ends early
# by skip. The kernel's log must stay free of complaints. Afterwards every group
# has its old max_opt_dma_size; a test that changes more puts it back itself.
#
# Drivers are unbound from, and types changed of, nothing that is in use. An NVMe
# disk is taken for
#	reading		if it holds no file system or swap that is in use
#	writing		if IOVA_TEST_SCRATCH names it (/dev/nvme1n1), or if its
#			controller's serial number is iova-scratch: its data is lost

# shellcheck source=/dev/null
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../kselftest/ktap_helpers.sh"

# Some of these are for the tests only.
# shellcheck disable=SC2034
{
HERE=$(dirname "$(readlink -f "$0")")
GROUPS_DIR=/sys/kernel/iommu_groups
COUNTERS=/sys/kernel/debug/iommu/groups
TRACING=/sys/kernel/tracing
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
MARK="iova selftest $$"
}

# What the kernel must not say; each is a fault of its own.
SPLATS='DMA PTE .* already set|WARNING:|BUG:|BUG [a-z]|KASAN|UBSAN|Oops'
SPLATS+='|possible (circular|recursive)|inconsistent lock|DMAR: .*[Ff]ault'
SPLATS+='|blocked for more than|soft lockup|list_(add|del) corruption'

fail()
{
	echo "$*" >&2
	exit 1
}

skip()
{
	echo "$*" >"$WORK/skip"
	exit "$KSFT_SKIP"
}

need()
{
	command -v "$1" >/dev/null || skip "no $1"
}

# equal GOT WANTED WHAT
equal()
{
	[[ $1 = "$2" ]] || fail "$3: $1, not $2"
}

# at_most GOT BOUND WHAT
at_most()
{
	[[ $1 -le $2 ]] || fail "$3: $1, more than $2"
}

# retry COMMAND...: until it succeeds, for 10 s; state that the kernel reaches
# by itself.
retry()
{
	local tries=100

	until "$@" >/dev/null 2>&1; do
		[[ $((tries--)) -gt 0 ]] || fail "in vain: $*"
		sleep 0.1
	done
}

# checking_kernel: is this one that checks so much that all takes ten times as
# long?
checking_kernel()
{
	[[ -e /sys/kernel/debug/kmemleak ]]
}

# group_of PCI, group_devices GROUP, group_type GROUP
group_of()
{
	basename "$(readlink "/sys/bus/pci/devices/$1/iommu_group")"
}

group_devices()
{
	ls "$GROUPS_DIR/$1/devices"
}

group_type()
{
	cat "$GROUPS_DIR/$1/type"
}

# knob GROUP [VALUE]
knob()
{
	if [[ $# -gt 1 ]]; then
		echo "$2" >"$GROUPS_DIR/$1/max_opt_dma_size"
	else
		cat "$GROUPS_DIR/$1/max_opt_dma_size"
	fi
}

# counter GROUP KEY: from debugfs; nothing where the group has no DMA domain.
counter()
{
	awk -v key="$2" '$1 == key { print $2 }' "$COUNTERS/$1/iova"
}

# fq GROUP KEY: the same of the flush queue that the group's domain uses.
fq()
{
	awk -v key="$2" '$1 == key { print $2 }' "$COUNTERS/$1/flush_queue"
}

# ranges_used GROUP: once no range waits in the flush queue.
queue_empty()
{
	[[ $(counter "$1" ranges_queued) -eq 0 ]]
}

ranges_used()
{
	[[ -e $COUNTERS/$1/iova ]] || return 0
	retry queue_empty "$1"
	counter "$1" ranges_used
}

# no_range_lost GROUP BEFORE: what is used is what was used, but for a few pages
# by which a driver's pools have grown. A range on its way between two places
# counts as used for a moment.
uses_at_most()
{
	[[ $(ranges_used "$1") -le $2 ]]
}

no_range_lost()
{
	[[ -n $2 ]] || return 0
	retry uses_at_most "$1" $(($2 + 8))
}

driver_of()
{
	basename "$(readlink "/sys/bus/pci/devices/$1/driver" || :)"
}

# unbind PCI, bind PCI DRIVER
unbind()
{
	[[ ! -e /sys/bus/pci/devices/$1/driver ]] ||
		echo "$1" >"/sys/bus/pci/devices/$1/driver/unbind"
}

bind()
{
	unbind "$1"
	echo "$2" >"/sys/bus/pci/devices/$1/driver_override"
	echo "$1" >"/sys/bus/pci/drivers/$2/bind"
}

# unbind_group GROUP: note the drivers; rebind_group GROUP: bind them again.
unbind_group()
{
	local dev driver

	: >"$WORK/drivers.$1"
	for dev in $(group_devices "$1"); do
		driver=$(driver_of "$dev")
		[[ -n $driver ]] || continue
		echo "$dev $driver" >>"$WORK/drivers.$1"
		unbind "$dev"
	done
}

rebind_group()
{
	local dev driver

	while read -r dev driver; do
		echo "$dev" >"/sys/bus/pci/drivers/$driver/bind"
	done <"$WORK/drivers.$1"
}

# set_type GROUP TYPE: with the drivers unbound; the caller binds them.
set_type()
{
	echo "$2" >"$GROUPS_DIR/$1/type"
}

# change_type GROUP TYPE: with the drivers unbound meanwhile; set_type's status.
change_type()
{
	local rc=0

	unbind_group "$1"
	set_type "$1" "$2" || rc=$?
	rebind_group "$1"
	return $rc
}

# disk_of PCI: the block device of an NVMe controller, if it has come up.
disk_of()
{
	local dir name

	for dir in "/sys/bus/pci/devices/$1"/nvme/nvme*/nvme*n*; do
		[[ -d $dir ]] || continue
		name=${dir##*/}
		# nvme0n1, or nvme0c0n1 behind a multipath head of its own
		dir=${name%n*}
		echo "/dev/${dir%c*}n${name##*n}"
		return
	done
	return 1
}

disk_ready()
{
	local disk

	disk=$(disk_of "$1") && [[ -b $disk ]]
}

# in_use DISK
in_use()
{
	grep -qs "^$1" /proc/mounts /proc/swaps && return
	[[ -n $(find "/sys/block/${1#/dev/}/" -path '*holders/*' 2>/dev/null) ]]
}

# nvme_unused: PCI addresses of NVMe controllers behind an IOMMU that nobody uses.
nvme_unused()
{
	local dir disk

	for dir in /sys/bus/pci/drivers/nvme/*:*; do
		[[ -e $dir/iommu_group ]] || continue
		disk=$(disk_of "${dir##*/}") || continue
		in_use "$disk" || echo "${dir##*/}"
	done
}

# nvme N: the N-th of them, from 0; NVME and GROUP.
# shellcheck disable=SC2034
nvme()
{
	local found

	mapfile -t found < <(nvme_unused)
	NVME=${found[$1]:-}
	[[ -n $NVME ]] || skip "no unused NVMe disk number $1 in a group"
	GROUP=$(group_of "$NVME")
}

# keeps_data DISK: QEMU's null disks, for one, forget what is written to them.
keeps_data()
{
	head -c 4096 /dev/urandom >"$WORK/written"
	dd if="$WORK/written" of="$1" bs=4096 oflag=direct status=none &&
		dd if="$1" bs=4096 count=1 iflag=direct status=none |
			cmp -s - "$WORK/written"
}

# nvme_scratch: an NVMe disk that may be written to; NVME and GROUP.
nvme_scratch()
{
	local found dir disk

	mapfile -t found < <(nvme_unused)
	for NVME in "${found[@]}"; do
		dir=$(echo "/sys/bus/pci/devices/$NVME"/nvme/nvme*)
		disk=$(disk_of "$NVME")
		[[ $disk = "${IOVA_TEST_SCRATCH:-}" ||
		   $(tr -d ' ' <"$dir/serial") = iova-scratch ]] || continue
		keeps_data "$disk" || continue
		# shellcheck disable=SC2034
		GROUP=$(group_of "$NVME")
		return
	done
	skip "no disk to write to that keeps its data; see IOVA_TEST_SCRATCH"
}

# read_disk DISK [FIO-OPTION...]: a short load of reads.
read_disk()
{
	local disk=$1

	shift
	fio --name=read --filename="$disk" --direct=1 --rw=randread --bs=4k \
		--ioengine=libaio --iodepth=16 --numjobs=2 --group_reporting \
		--number_ios=2000 --norandommap --randrepeat=1 "$@" \
		>"$WORK/fio.log" 2>&1 || fail "$(tail -n 3 "$WORK/fio.log")"
}

# read_for MS DISK...: reads of all of them at once; fio's status.
read_for()
{
	local ms=$1 disk args=()

	shift
	for disk; do
		args+=(--name="${disk#/dev/}" --filename="$disk")
	done
	fio --direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=8 \
		--norandommap --time_based --runtime="${ms}ms" "${args[@]}" \
		>"$WORK/fio.log" 2>&1
}

# map_benchmark PCI BITS PAGES THREADS: maps and unmaps for a second; fails when
# a mapping does. The device is left to the benchmark's driver.
map_benchmark()
{
	local tool=$HERE/../dma/dma_map_benchmark

	tool=$(command -v dma_map_benchmark || echo "$tool")
	[[ -x $tool ]] || skip "no dma_map_benchmark"
	[[ -d /sys/bus/pci/drivers/dma_map_benchmark ]] ||
		skip "no CONFIG_DMA_MAP_BENCHMARK"
	[[ $(driver_of "$1") = dma_map_benchmark ]] ||
		bind "$1" dma_map_benchmark
	"$tool" -s 1 -b "$2" -g "$3" -t "$4"
}

page_size()
{
	awk '$1 == "KernelPageSize:" { print $2 * 1024; exit }' /proc/self/smaps
}

# slab CACHE: live objects.
slab()
{
	awk -v name="$1" '$1 == name { n = $2 } END { print n + 0 }' \
		/proc/slabinfo
}

# hotplug_cpus: the files of those CPUs that can be taken off line.
hotplug_cpus()
{
	local file

	for file in /sys/devices/system/cpu/cpu[1-9]*/online; do
		[[ -w $file ]] && echo "$file"
	done
}

# set_cpu FILE 0|1: one of these; it is busy while a PCI driver probes a device.
write_cpu()
{
	echo "$2" >"$1"
}

set_cpu()
{
	retry write_cpu "$1" "$2"
	equal "$(<"$1")" "$2" "$1"
}

# complaints: of the kernel's, since this test began.
complaints()
{
	dmesg | awk -v mark="$MARK" 'index($0, mark) { text = ""; next }
		{ text = text $0 "\n" } END { printf "%s", text }' |
		grep -E "$SPLATS" || :
}

# run_test FUNCTION: in a shell of its own; sets RC.
run_test()
{
	echo "$MARK: $1" >/dev/kmsg
	# not in a condition, which would switch errexit off
	set +e
	(set -e; "$1") >"$WORK/log" 2>&1
	RC=$?
	set -e
	complaints >"$WORK/complaints"
	if [[ -s $WORK/complaints ]]; then
		cat "$WORK/complaints" >>"$WORK/log"
		RC=1
	fi
}

# save_state, put_back: what every test may change.
save_state()
{
	local dir

	for dir in "$GROUPS_DIR"/*/; do
		dir=$(basename "$dir")
		echo "$dir $(knob "$dir")"
	done >"$WORK/knobs"
}

put_back()
{
	local group value

	while read -r group value; do
		[[ ! -d $GROUPS_DIR/$group ]] || knob "$group" "$value"
	done <"$WORK/knobs"
}

# run_tests: every test_* function.
run_tests()
{
	local tests name

	ktap_print_header
	if [[ $(id -u) -ne 0 ]]; then
		ktap_skip_all "must be root"
		exit "$KSFT_SKIP"
	fi
	if ! compgen -G "$GROUPS_DIR/*/max_opt_dma_size" >/dev/null; then
		ktap_skip_all "no IOMMU group has max_opt_dma_size"
		exit "$KSFT_SKIP"
	fi
	mapfile -t tests < <(declare -F |
		sed -n 's/^declare -f \(test_.*\)/\1/p')
	ktap_set_plan "${#tests[@]}"
	save_state
	for name in "${tests[@]}"; do
		run_test "$name"
		sed 's/^/# /' "$WORK/log"
		case $RC in
		0) ktap_test_pass "${name#test_}" ;;
		"$KSFT_SKIP")
			ktap_print_msg "${name#test_}: $(cat "$WORK/skip")"
			ktap_test_skip "${name#test_}" ;;
		*) ktap_test_fail "${name#test_}" ;;
		esac
		put_back
	done
	ktap_finished
}
