#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The guest's side of the workbench: what vm.sh passes through, what it tells
# apart, what splat.sh sees.  Boots a kernel a few times.  TAP.
# shellcheck disable=SC2016 # the guest expands
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

set_up()
{
	export KERNEL=series BZIMAGE
	BZIMAGE=$REPO/$("$REPO/scripts/kernel.sh" | tail -n 1)
}

# vm STATUS VARIABLE=VALUE...: vm.sh with these; it must end with STATUS.  Its
# outputs are left in the files out and err.
vm()
{
	local want=$1 rc=0

	shift
	env "$@" "$REPO/scripts/vm.sh" >out 2>err </dev/null || rc=$?
	[[ $rc -eq $want ]] || { cat err; fail "exit code $rc, not $want"; }
}

# last_words TEXT: the last line on stderr says it.
last_words()
{
	[[ $(tail -n 1 err) = *"$1"* ]] ||
		fail "no '$1' in: $(tail -n 1 err)"
}

test_outputs_and_status_0()
{
	vm 0 CMD='echo to stdout; echo to stderr >/dev/stderr'
	equal "$(cat out)" "to stdout" stdout
	equal "$(cat err)" "to stderr" stderr
}

test_status_255()
{
	vm 255 CMD='exit 255'
	last_words "exit status: 255"
}

test_status_that_looks_like_a_timeout()
{
	vm 14 CMD='exit 14' RUN=test-vm-14
	last_words "exit status: 14"
	equal "$(cat "$REPO/build/log/test-vm-14/result")" "exit 14" result
}

test_timeout()
{
	vm 14 CMD='echo begun; sleep 1000' TIMEOUT=8 RUN=test-vm-timeout
	last_words "more than 8 s"
	equal "$(cat out)" begun stdout
	equal "$(cat "$REPO/build/log/test-vm-timeout/result")" timeout result
}

test_crash_is_a_splat()
{
	vm 13 CMD='echo c >/proc/sysrq-trigger; sleep 100'
	last_words "kernel complained"
	grep -q 'Kernel panic' err || fail "the panic is not shown"
}

test_splat_outdoes_success()
{
	vm 13 CMD='echo "WARNING: CPU: 0 PID: 1 at a/test" >/dev/kmsg; exit 0'
	last_words "kernel complained"
}

test_no_init_is_a_failed_boot()
{
	vm 11 CMD=true APPEND=init=/missing
	last_words "did not come up"
}

test_crash_of_qemu_is_repaired()
{
	mkdir bin
	cat >bin/qemu-system-x86_64 <<-'END'
		#!/bin/bash
		! mkdir "$0.crashed" 2>/dev/null || kill -SEGV $$
		exec /usr/bin/qemu-system-x86_64 "$@"
	END
	chmod +x bin/qemu-system-x86_64
	vm 3 PATH="$PWD/bin:$PATH" CMD='echo once; exit 3'
	equal "$(cat out)" once stdout
	grep -q 'QEMU crashed while the guest booted' err
}

test_hanging_boot_ends()
{
	vm 11 CMD=true BOOT_TIMEOUT=1
	last_words "did not come up"
}

test_files_come_back()
{
	echo from the host >file
	vm 0 FILES="$PWD/file" RUN=test-vm-files \
		CMD='cp /guest/files/file /out; echo more >>/out/file'
	equal "$(cat "$REPO/build/log/test-vm-files/out/file")" \
		$'from the host\nmore' file
}

test_cpus_and_parameters()
{
	vm 0 CPUS=2 MAXCPUS=16 MEM=1G APPEND="iommu.strict=1 a.b=c" CMD='
		nproc; cat /sys/devices/system/cpu/possible
		domain_type $(pci_find nvme); grep -o a.b=c /proc/cmdline'
	equal "$(xargs <out)" "2 0-15 DMA a.b=c" "what the guest sees"
}

test_two_functions_share_a_group()
{
	vm 0 DEVS=nvme+nvme CMD='
		equal() { [[ $1 = "$2" ]]; }
		equal "$(group_of "$(pci_find nvme 0)")" \
			"$(group_of "$(pci_find nvme 1)")"'
}

test_amd_iommu()
{
	vm 0 IOMMU=amd CMD='domain_type "$(pci_find nvme)" &&
		dd if=/dev/nvme0n1 of=/dev/null bs=1M count=4 iflag=direct'
	equal "$(cat out)" DMA "domain type"
}

test_virtio_iommu()
{
	vm 0 IOMMU=virtio CMD='domain_type "$(pci_find nvme)"'
	[[ $(cat out) = DMA* ]] || fail "domain type: $(cat out)"
}

test_no_iommu()
{
	vm 0 IOMMU=none CMD='ls /sys/kernel/iommu_groups | wc -l'
	equal "$(cat out)" 0 groups
}

test_caching_mode_is_strict()
{
	vm 0 IOMMU_OPTS=caching-mode=on CMD='domain_type "$(pci_find nvme)"'
	equal "$(cat out)" DMA "domain type"
}

test_ats()
{
	vm 0 IOMMU_OPTS=device-iotlb=on DEVS="ats-net net" CMD='net_up &&
		lspci -vv -s "$(pci_find net)" | grep -A2 "Address Translation"'
	grep -q "Enable+" out || fail "ATS is off: $(cat out)"
}

test_shell_on_a_terminal()
{
	local log=$REPO/build/log/test-vm-shell rc=0

	rm -rf "$log"
	{
		until grep -qs 'exit ends the guest' "$log/console.log"; do
			sleep 0.2
		done
		sleep 2
		echo 'echo ok-$((6 * 7)); exit 9'
		sleep 5
	} | timeout 120 script -qec "CMD= RUN=test-vm-shell \
		$REPO/scripts/vm.sh" /dev/null >out || rc=$?
	equal $rc 9 "the shell's exit status"
	grep -q ok-42 out || fail "no answer: $(tail out)"
}

test_bad_options_are_refused()
{
	refused 2 IOMMU=arm env IOMMU=arm CMD=true "$REPO/scripts/vm.sh"
	refused 2 MAXCPUS=2 env CPUS=4 MAXCPUS=2 CMD=true "$REPO/scripts/vm.sh"
	refused 2 MEM=much env MEM=much CMD=true "$REPO/scripts/vm.sh"
	refused 2 TIMEOUT=1m env TIMEOUT=1m CMD=true "$REPO/scripts/vm.sh"
	refused 2 "no terminal" env CMD= "$REPO/scripts/vm.sh"
}

# Each line as a kernel printed it, or would: a splat of its own.
test_splats_are_seen()
{
	local line n=0

	while IFS= read -r line; do
		n=$((n + 1))
		printf '[    1.000000] before\n[    2.000000] %s\n' "$line" >log
		if "$REPO/scripts/splat.sh" log >seen; then
			fail "not seen: $line"
		fi
		grep -qF "$line" seen || fail "not shown: $line"
	done <<-'END'
		WARNING: CPU: 0 PID: 7 at drivers/iommu/iova.c:10 f+0x1/0x2
		BUG: KASAN: slab-use-after-free in f+0x1/0x2
		BUG: unable to handle page fault for address: ffff888000000000
		BUG: kernel NULL pointer dereference, address: 0000000000000000
		BUG: sleeping function called from invalid context at mm/slub.c:1
		BUG: scheduling while atomic: swapper/0/0/0x00000002
		BUG: spinlock bad magic on CPU#0, swapper/0
		BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0
		BUG iommu_iova (Not tainted): Poison overwritten
		kernel BUG at drivers/iommu/iova.c:10!
		Oops: Oops: 0000 [#1] PREEMPT SMP KASAN
		Oops: general protection fault, probably for non-canonical address
		UBSAN: shift-out-of-bounds in drivers/iommu/iova.c:10:5
		ODEBUG: free active (active state 0) object: 0000000000000000
		INFO: task fio:100 blocked for more than 60 seconds.
		INFO: trying to register non-static key.
		rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
		WARNING: possible circular locking dependency detected
		WARNING: inconsistent lock state
		WARNING: suspicious RCU usage
		watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [fio:100]
		watchdog: Watchdog detected hard LOCKUP on cpu 0
		kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
		refcount_t: underflow; use-after-free.
		list_del corruption. prev->next should be 0, but was 1
		DMAR: ERROR: DMA PTE for vPFN 0x1 already set (to 2 not 3)
		DMAR: DRHD: handling fault status reg 2
		DMAR: [DMA Write NO_PASID] Request device [01:00.0] fault addr 0x1
		nvme nvme0: I/O tag 1 (0001) opcode 0x2 QID 1 timeout, aborting
		Kernel panic - not syncing: Fatal exception
	END
	[[ $n -gt 20 ]] || fail "only $n lines were tried"
}

test_ordinary_lines_are_no_splat()
{
	local log=$REPO/build/log/test-vm-ordinary

	vm 0 RUN=test-vm-ordinary CMD='echo "WARNING: of a program"
		echo "[    1.000000] WARNING: of a program"'
	[[ $(wc -l <"$log/console.log") -gt 100 ]] || fail "no boot log"
	[[ ! -s $log/splat ]] || fail "$(cat "$log/splat")"
}

run_tests
