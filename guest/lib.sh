# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What tests and benchmarks need inside the guest.  Every bash there has it
# loaded already (BASH_ENV).  A device is named by its PCI address, which
# pci_find tells:
#
#	pci_find nvme|net|testdev|e1000e [N]	the N-th such device, from 0
#	group_of PCI, group_dir PCI		its IOMMU group: number, directory
#	domain_type PCI				DMA, DMA-FQ, identity
#	pci_driver PCI				the bound driver's name
#	pci_bind PCI DRIVER, pci_unbind PCI
#	knob PCI [VALUE]			max_opt_dma_size: read or write
#	bench_bind [PCI]			dma_map_benchmark on a pci-testdev
#	net_up					10.1.0.1 here, 10.1.0.2 in netns far
#	memcached_start, iperf3_start		servers in netns far
#	cpu_set N 0|1				take a CPU off or on line
#	slab_active CACHE			live objects in a slab cache
#	calls_during FUNCTION... -- COMMAND...	how often the kernel called each
#	kunit_results SUITE...			what KUnit found, as KTAP
#	wait_for SECONDS COMMAND...		until the command succeeds

export PATH=/guest/selftests/dma:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LC_ALL=C
PCI=/sys/bus/pci

# guest_fail TEXT
guest_fail()
{
	echo "guest: $*" >&2
	return 1
}

# wait_for SECONDS COMMAND...
wait_for()
{
	local tries=$(($1 * 20))

	shift
	until "$@" >/dev/null 2>&1; do
		[[ $((tries--)) -gt 0 ]] ||
			guest_fail "waited in vain for: $*" || return
		sleep 0.05
	done
}

pci_find()
{
	local want dir found=()

	case $1 in
	nvme) want=0x1b36:0x0010 ;;
	net) want=0x1af4:0x1041 ;;
	testdev) want=0x1b36:0x0005 ;;
	e1000e) want=0x8086:0x10d3 ;;
	*) guest_fail "pci_find: no kind $1" || return ;;
	esac
	for dir in "$PCI"/devices/*; do
		[[ $(<"$dir/vendor"):$(<"$dir/device") != "$want" ]] ||
			found+=("${dir##*/}")
	done
	[[ -n ${found[${2:-0}]:-} ]] ||
		guest_fail "no $1 number ${2:-0} in this guest" || return
	echo "${found[${2:-0}]}"
}

group_of()
{
	local link

	link=$(readlink "$PCI/devices/$1/iommu_group") ||
		guest_fail "$1 is in no IOMMU group" || return
	echo "${link##*/}"
}

group_dir()
{
	local group

	group=$(group_of "$1") || return
	echo "/sys/kernel/iommu_groups/$group"
}

domain_type()
{
	cat "$(group_dir "$1")/type"
}

knob()
{
	local file

	file=$(group_dir "$1")/max_opt_dma_size
	if [[ $# -gt 1 ]]; then
		echo "$2" >"$file"
	else
		cat "$file"
	fi
}

pci_driver()
{
	local link

	link=$(readlink "$PCI/devices/$1/driver") || return
	echo "${link##*/}"
}

pci_unbind()
{
	[[ ! -e $PCI/devices/$1/driver ]] ||
		echo "$1" >"$PCI/devices/$1/driver/unbind"
}

pci_bind()
{
	pci_unbind "$1" &&
		echo "$2" >"$PCI/devices/$1/driver_override" &&
		echo "$1" >"$PCI/drivers/$2/bind"
}

# The debugfs file has one name, so only one device is bound at a time.
bench_bind()
{
	local dev

	dev=${1:-$(pci_find testdev)} || return
	pci_bind "$dev" dma_map_benchmark && echo "$dev"
}

# net_if N: the interface of the N-th network device, if it is in this netns.
net_if()
{
	local dev

	dev=$(pci_find net "$1") || return
	basename "$(echo "$PCI/devices/$dev"/virtio*/net/*)"
}

net_up()
{
	local near far

	[[ ! -e /run/netns/far ]] || return 0
	near=$(net_if 0) && far=$(net_if 1) || return
	ip netns add far || return
	ip link set "$far" netns far
	ip addr add 10.1.0.1/24 dev "$near"
	ip link set "$near" up
	ip -n far addr add 10.1.0.2/24 dev "$far"
	ip -n far link set "$far" up
	ip -n far link set lo up
	wait_for 10 ping -c 1 -W 1 10.1.0.2
}

# port_open PORT: does somebody listen there?  Not asked by a connection, which
# iperf3 takes for its client's.
port_open()
{
	ip netns exec far grep -qE "$(printf ':%04X 0+:0000 0A ' "$1")" \
		/proc/net/tcp
}

memcached_start()
{
	net_up || return
	ip netns exec far memcached -d -u nobody -l 10.1.0.2 -p 11211 "$@"
	wait_for 10 port_open 11211
}

iperf3_start()
{
	net_up || return
	ip netns exec far iperf3 -s -D "$@"
	wait_for 10 port_open 5201
}

cpu_set()
{
	echo "$2" >"/sys/devices/system/cpu/cpu$1/online"
}

slab_active()
{
	awk -v cache="$1" '$1 == cache { print $2; found = 1 }
		END { exit !found }' /proc/slabinfo
}

# calls_during FUNCTION... -- COMMAND...: "function calls", a line for each that
# was called while the command ran.  The command's stdout goes to stderr.
calls_during()
{
	local t=/sys/kernel/tracing functions=() rc=0

	while [[ $1 != -- ]]; do
		functions+=("$1")
		shift
	done
	shift
	printf '%s\n' "${functions[@]}" >$t/set_ftrace_filter || return
	echo 1 >$t/function_profile_enabled
	"$@" >&2 || rc=$?
	echo 0 >$t/function_profile_enabled
	awk 'FNR > 2 { calls[$1] += $2 }
		END { for (name in calls) print name, calls[name] }' \
		$t/trace_stat/function*
	echo >$t/set_ftrace_filter
	return $rc
}

# kunit_results SUITE...: what KUnit found while the kernel booted, as KTAP.
# The named suites must be there, any other is reported as well.
kunit_results()
{
	local dir=/sys/kernel/debug/kunit suite n=0

	echo "KTAP version 1"
	for suite in $({ printf '%s\n' "$@"; ls "$dir"; } | sort -u); do
		n=$((n + 1))
		if ! grep -qs . "$dir/$suite/results"; then
			echo "not ok $n $suite: did not run"
			continue
		fi
		grep -Ev '^(KTAP version|1\.\.1$)' "$dir/$suite/results" |
			sed "s/^\(\(not \)\?ok\) [0-9]\+ /\1 $n /"
	done
	echo "1..$n"
}
