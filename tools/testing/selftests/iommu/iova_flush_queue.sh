#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The flush queue of lazy mode, by what it counts in debugfs: what is flushed and
# how often, and that nothing stays behind when loads end, CPUs and devices go,
# and types change. Intel's units share a queue, elsewhere each domain has its own.
#
# guest: IOMMU=intel
# guest: IOMMU=amd IOMMU_OPTS=
# debug: always
set -euo pipefail
# shellcheck source=iova_lib.sh
. "$(dirname "$(readlink -f "$0")")/iova_lib.sh"

# lazy N: the N-th unused disk, whose group is in lazy mode, or is made so.
lazy()
{
	need fio
	nvme "$1"
	[[ -e $COUNTERS/$GROUP/flush_queue ]] || skip "no $COUNTERS"
	[[ $(group_type "$GROUP") != DMA-FQ ]] || return 0
	change_type "$GROUP" DMA-FQ
	retry disk_ready "$NVME"
}

# lazy_disks: all of them that use the queue of the first, one a group; DISKS,
# and GROUP of the first.
lazy_disks()
{
	local dev groups=' ' group

	lazy 0
	DISKS=()
	for dev in $(nvme_unused); do
		group=$(group_of "$dev")
		[[ $groups != *" $group "* ]] || continue
		[[ $(fq "$group" queue) = "$(fq "$GROUP" queue)" ]] || continue
		groups+="$group "
		DISKS+=("$(disk_of "$dev")")
	done
}

# at_rest GROUP: nothing waits, and rings have given up their blocks.
at_rest()
{
	[[ $(fq "$1" pending) -eq 0 && $(fq "$1" reclaimable) -eq 0 &&
	   $(fq "$1" memory) -le $(($(fq "$1" rings) * 1024)) ]]
}

iommu_pages()
{
	awk '$1 == "nr_iommu_pages" { print $2 }' /proc/vmstat
}

test_format()
{
	lazy 0
	if grep -Evx '[a-z0-9_]+ [0-9]+' "$COUNTERS/$GROUP/flush_queue"; then
		fail "a line is no key and number"
	fi
	if cut -d ' ' -f 1 "$COUNTERS/$GROUP/flush_queue" | sort |
		uniq -d | grep .; then
		fail "a key comes twice"
	fi
}

test_a_load_leaves_nothing_behind()
{
	lazy 0
	read_disk "$(disk_of "$NVME")" --bssplit=4k/50:64k/25:256k/25
	retry at_rest "$GROUP"
	equal "$(fq "$GROUP" oldest_ms)" 0 "age of the oldest entry"
	equal "$(counter "$GROUP" ranges_queued)" 0 "queued ranges"
}

# traced FUNCTION: how many events of the queue, and the sum of their ranges.
traced()
{
	awk -v event=" $1: queue=$(fq "$GROUP" queue) " 'index($0, event) {
		n++
		if (match($0, / ranges=[0-9]+/))
			ranges += substr($0, RSTART + 8, RLENGTH - 8)
	} END { print n + 0, ranges + 0 }' "$WORK/trace"
}

# In the trace, each flush that starts ends, and what is queued comes back.
test_trace_events()
{
	local events=$TRACING/events/iommu_fq added ranges _

	lazy 0
	[[ -d $events ]] || skip "no trace events of iommu_fq"
	retry at_rest "$GROUP"
	: >"$TRACING/trace"
	echo 1 >"$events/enable"
	read_disk "$(disk_of "$NVME")" --number_ios=500
	retry at_rest "$GROUP"
	echo 0 >"$events/enable"
	cat "$TRACING/trace" >"$WORK/trace"
	read -r added _ < <(traced iommu_fq_add)
	read -r _ ranges < <(traced iommu_fq_reclaim)
	echo "$added ranges queued, $ranges reclaimed"
	at_most 1000 "$added" "ranges queued, at least"
	# Some other device may just have queued a few.
	at_most "$ranges" "$added" "ranges reclaimed"
	at_most $((added - 16)) "$ranges" "ranges reclaimed, at least"
	equal "$(traced iommu_fq_flush_start)" \
		"$(traced iommu_fq_flush_done)" "flushes that start and end"
}

# While only one domain has something queued, that one is flushed.
test_one_domain_is_flushed_by_itself()
{
	local unit domain

	lazy 0
	retry at_rest "$GROUP"
	unit=$(fq "$GROUP" flushes_unit)
	domain=$(fq "$GROUP" flushes_domain)
	read_disk "$(disk_of "$NVME")"
	retry at_rest "$GROUP"
	unit=$(($(fq "$GROUP" flushes_unit) - unit))
	domain=$(($(fq "$GROUP" flushes_domain) - domain))
	echo "$domain flushes of the domain, $unit of the unit"
	at_most 1 "$domain" "flushes of the domain, at least"
	# A packet or a timer of some other device may fall into it.
	at_most "$unit" $((domain / 4 + 2)) "flushes of the unit"
}

# flushes_in MS DISK...: FLUSHES that were not asked for by a full ring, and the
# time in milliseconds that it really took.
flushes_in()
{
	local before after begin

	before=$(fq "$GROUP" flushes_timer)
	begin=$(date +%s%3N)
	read_for "$@" || fail "$(tail -n 3 "$WORK/fio.log")"
	after=$(fq "$GROUP" flushes_timer)
	TOOK=$(($(date +%s%3N) - begin))
	FLUSHES=$((after - before))
}

# One timer for all: no more than a flush every 10 ms, however many domains.
test_flushes_do_not_grow_with_domains()
{
	lazy_disks
	[[ ${#DISKS[@]} -gt 1 ]] || skip "no two disks behind one unit"
	flushes_in 1000 "${DISKS[0]}"
	echo "1 domain: $FLUSHES flushes by the timer in $TOOK ms"
	at_most "$FLUSHES" $((TOOK / 10 + 2)) "flushes of one domain"
	flushes_in 1000 "${DISKS[@]}"
	echo "${#DISKS[@]} domains: $FLUSHES flushes by the timer in $TOOK ms"
	at_most "$FLUSHES" $((TOOK / 10 + 2)) "flushes of all domains"
	retry at_rest "$GROUP"
}

# Case 1: rings of all CPUs wrap; page tables come and go.
test_rings_wrap()
{
	local cpu pages

	lazy 0
	retry at_rest "$GROUP"
	pages=$(iommu_pages)
	for cpu in $(seq 0 $(($(nproc) - 1))); do
		read_disk "$(disk_of "$NVME")" --cpus_allowed="$cpu" \
			--number_ios=5000 --numjobs=1 --bssplit=4k/90:512k/10
	done
	retry at_rest "$GROUP"
	echo "$pages pages of page tables before, $(iommu_pages) after"
	at_most "$(iommu_pages)" $((pages + 64)) "pages of page tables"
	equal "$(fq "$GROUP" strict)" 0 "strict flushes"
}

# Case 17's other half: what CPUs that are gone have queued.
test_cpus_that_go_lose_nothing()
{
	local file files

	lazy 0
	mapfile -t files < <(hotplug_cpus)
	[[ ${#files[@]} -gt 0 ]] || skip "no CPU can be taken off line"
	for file in "${files[@]}" "${files[@]}"; do
		read_disk "$(disk_of "$NVME")" --number_ios=500
		set_cpu "$file" 0
		read_disk "$(disk_of "$NVME")" --number_ios=500
		retry at_rest "$GROUP"
		set_cpu "$file" 1
	done
	no_range_lost "$GROUP" "$(ranges_used "$GROUP")"
}

# The type changes from strict to lazy under load, as it always could.
test_strict_to_lazy_under_load()
{
	local disk reader added

	lazy 0
	disk=$(disk_of "$NVME")
	change_type "$GROUP" DMA
	retry disk_ready "$NVME"
	equal "$(wc -l <"$COUNTERS/$GROUP/flush_queue")" 0 "counters of strict mode"
	read_for 1500 "$disk" &
	reader=$!
	sleep 0.5
	set_type "$GROUP" DMA-FQ
	added=$(fq "$GROUP" flushes)
	wait "$reader" || fail "$(grep -v '^ ' "$WORK/fio.log")"
	at_most $((added + 1)) "$(fq "$GROUP" flushes)" "flushes, at least"
	retry at_rest "$GROUP"
}

# Devices go in the middle of a burst, with their domains.
test_domains_that_go_leave_nothing()
{
	local n disk reader pages ranges

	lazy 0
	unbind_group "$GROUP"
	set_type "$GROUP" identity
	pages=$(iommu_pages)
	ranges=$(slab iommu_iova)
	for n in {1..10}; do
		set_type "$GROUP" DMA-FQ
		rebind_group "$GROUP"
		retry disk_ready "$NVME"
		disk=$(disk_of "$NVME")
		read_for 2000 "$disk" &
		reader=$!
		sleep "0.$n"
		unbind_group "$GROUP"
		wait "$reader" || :
		set_type "$GROUP" identity
	done
	echo "pages $pages, now $(iommu_pages); ranges $ranges, now $(slab iommu_iova)"
	at_most "$(iommu_pages)" $((pages + 16)) "pages of page tables"
	# Each CPU's slab counts as used, and a round queues hundreds.
	at_most "$(slab iommu_iova)" $((ranges + 256)) "ranges"
	set_type "$GROUP" DMA-FQ
	rebind_group "$GROUP"
	retry disk_ready "$NVME"
}

# A device that comes back has the default type, strict with an emulated AMD unit.
test_hot_removal_under_load()
{
	local reader _

	for _ in {1..3}; do
		lazy 0
		read_for 2000 "$(disk_of "$NVME")" &
		reader=$!
		sleep 0.3
		echo 1 >"/sys/bus/pci/devices/$NVME/remove"
		wait "$reader" || :
		echo 1 >/sys/bus/pci/rescan
		retry disk_ready "$NVME"
	done
	lazy 0
	read_disk "$(disk_of "$NVME")"
	retry at_rest "$GROUP"
}

run_tests
