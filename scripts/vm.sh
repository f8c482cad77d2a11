#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm.sh: boot KERNEL in FLAVOUR under QEMU behind an emulated IOMMU: a shell on
# the serial console (ctrl-a x ends it), or CMD, whose outputs and exit status
# are passed through.
#
# From the environment, besides what lib.sh knows:
#	CMD		bash script for the guest; guest/lib.sh is loaded there
#	APPEND		kernel parameters, after all others
#	MEM		memory of the guest (4G)
#	MAXCPUS		CPUs that exist, of which $CPUS are on line ($CPUS)
#	IOMMU		intel, amd, virtio or none (intel)
#	IOMMU_OPTS	properties of that device, such as caching-mode=on,
#			x-scalable-mode=on, device-iotlb=on
#	DEVS		devices, each behind a root port of its own and so in an
#			IOMMU group of its own: nvme, net, ats-net, e1000e,
#			testdev, scratch (an NVMe disk of 64M that keeps what is
#			written, and is there for that), or what QEMU's -device
#			takes.  Joined by + they are functions of one slot, in
#			one group.
#			("nvme net net testdev")
#	NVME_SIZE	of each null disk (8G)
#	QEMU_EXTRA	further arguments of QEMU's
#	FILES		files and directories that the guest finds in /guest/files
#	TIMEOUT		seconds that CMD may take, 0 for any number (600)
#	BOOT_TIMEOUT	seconds until the guest is up (300)
#	ACCEL		tcg, kvm, or auto: kvm if a guest really boots (auto)
#	TCG_THREAD	multi: a host thread for each CPU of the guest; single: one
#			for all, slower (multi).  With multi, QEMU 7.2 can lose
#			what one CPU writes over the code that others execute,
#			as kprobes and ftrace do: a guest that does so
#			under load oopses or hangs.
#	KMEMLEAK	yes or no: on the debug kernel, look for leaks at the end
#			(yes for CMD)
#	BZIMAGE		boot this, and build no kernel
#	RUN		name of the run's directory below build/log
#	VERBOSE		1: show the guest's console on stderr
#
# The run's directory keeps the console's log, what CMD wrote, and in out/ what
# CMD left in the guest's /out.  Its file "result" holds one line:
#	exit N		CMD ended with status N: so does this script
#	boot		it never came up: E_BOOT
#	splat		the kernel complained, whatever CMD said or did: E_SPLAT
#	timeout		CMD was not done in time: E_TIMEOUT
#	died		the machine ended without a word: E_FAIL
# CMD may end with a status that is also one of these codes; the script's last
# line on stderr tells whose it is, and so does "result".
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

: "${MEM:=4G}" "${MAXCPUS:=$CPUS}" "${IOMMU:=intel}" "${IOMMU_OPTS:=}"
: "${DEVS:=nvme net net testdev}" "${NVME_SIZE:=8G}" "${QEMU_EXTRA:=}"
: "${FILES:=}" "${TIMEOUT:=600}" "${BOOT_TIMEOUT:=300}" "${ACCEL:=auto}"
: "${TCG_THREAD:=multi}"
: "${KMEMLEAK:=yes}" "${BZIMAGE:=}" "${RUN:=}" "${VERBOSE:=}"

check_options()
{
	[[ $IOMMU =~ ^(intel|amd|virtio|none)$ ]] ||
		die E_USAGE "IOMMU=$IOMMU: use intel, amd, virtio or none"
	[[ $ACCEL =~ ^(auto|kvm|tcg)$ ]] ||
		die E_USAGE "ACCEL=$ACCEL: use auto, kvm or tcg"
	[[ $TCG_THREAD =~ ^(multi|single)$ ]] ||
		die E_USAGE "TCG_THREAD=$TCG_THREAD: use multi or single"
	[[ $TIMEOUT =~ ^[0-9]+$ && $BOOT_TIMEOUT =~ ^[1-9][0-9]*$ ]] ||
		die E_USAGE "TIMEOUT=$TIMEOUT BOOT_TIMEOUT=$BOOT_TIMEOUT:" \
			"use whole seconds"
	[[ $MAXCPUS =~ ^[1-9][0-9]?$ && $MAXCPUS -ge $CPUS &&
		$MAXCPUS -le 64 ]] ||
		die E_USAGE "MAXCPUS=$MAXCPUS: use a number from $CPUS to 64"
	[[ $MEM =~ ^[1-9][0-9]*[MG]$ ]] ||
		die E_USAGE "MEM=$MEM: use a size such as 512M or 4G"
	[[ $NVME_SIZE =~ ^[1-9][0-9]*[MG]$ ]] ||
		die E_USAGE "NVME_SIZE=$NVME_SIZE: use a size such as 8G"
	[[ $RUN =~ ^[A-Za-z0-9._-]*$ ]] ||
		die E_USAGE "RUN=$RUN: use letters, digits, dots and dashes"
	[[ -z $BZIMAGE || -f $BZIMAGE ]] ||
		die E_USAGE "BZIMAGE=$BZIMAGE: no such file; run: make kernel"
	[[ -n $CMD || -t 0 ]] || die E_USAGE \
		"no terminal for a shell; name a command: make vm CMD='...'"
}

# make_disk: RUN/guest.img, what this run brings into the guest.
make_disk()
{
	local dir=$RUN/guest file kib

	mkdir -p "$dir/files"
	cp "$TOP"/guest/{init,lib.sh} "$dir"
	cp -r "$B/selftests" "$dir"
	for file in $FILES; do
		[[ -e $file ]] || die E_USAGE "FILES: no $file"
		cp -r "$file" "$dir/files"
	done
	[[ -z $CMD ]] || printf '%s\n' "$CMD" >"$dir/cmd"
	{
		echo "KERNEL=$KERNEL FLAVOUR=$FLAVOUR"
		[[ -z $CMD ]] || echo "KMEMLEAK=$KMEMLEAK"
		[[ ! -t 0 ]] || stty size |
			sed 's/\(.*\) \(.*\)/LINES=\1 COLUMNS=\2/'
	} >"$dir/env"
	kib=$(du -sk --apparent-size "$dir" | cut -f 1)
	mke2fs -q -t ext2 -m 0 -d "$dir" -E root_owner=0:0 "$RUN/guest.img" \
		"$((kib * 5 / 4 + 1024))k" >/dev/null
	rm -r "$dir"
}

# The counters behind serial numbers, hub ports and slots.
N_NVME=0 N_NET=0 N_SLOT=0

# add_net DRIVER-AND-PROPERTIES ADDRESS
add_net()
{
	ARGS+=(-netdev "hubport,id=net$N_NET,hubid=0" -device
		"$1,netdev=net$N_NET,mac=52:54:00:00:00:0$N_NET,$2")
	N_NET=$((N_NET + 1))
}

# add_device KIND ADDRESS: ADDRESS is bus=...,addr=...
add_device()
{
	local virtio=virtio-net-pci,iommu_platform=on,disable-legacy=on disk

	case $1 in
	nvme)
		disk=driver=null-co,read-zeroes=off
		disk+=,size=$(numfmt --from=iec "$NVME_SIZE")
		ARGS+=(-blockdev "$disk,node-name=null$N_NVME"
			-device "nvme,serial=null$N_NVME,drive=null$N_NVME,$2")
		N_NVME=$((N_NVME + 1))
		;;
	net) add_net $virtio "$2" ;;
	ats-net) add_net $virtio,ats=on "$2" ;;
	e1000e) add_net e1000e "$2" ;;
	testdev) ARGS+=(-device "pci-testdev,$2") ;;
	scratch)
		truncate -s 64M "$RUN/scratch.img"
		disk=driver=file,filename=$RUN/scratch.img
		ARGS+=(-blockdev "$disk,node-name=scratch"
			-device "nvme,serial=iova-scratch,drive=scratch,$2")
		;;
	*) ARGS+=(-device "$1,$2") ;;
	esac
}

# add_slot: sets BUS, a place for the next device.  That is a root port of its
# own; but QEMU's amd-iommu knows no bus number except 0.
add_slot()
{
	N_SLOT=$((N_SLOT + 1))
	if [[ $IOMMU = amd ]]; then
		BUS=bus=pcie.0,addr=$(printf %x $((15 + N_SLOT)))
	else
		ARGS+=(-device "pcie-root-port,id=port$N_SLOT,slot=$N_SLOT")
		BUS=bus=port$N_SLOT,addr=0
	fi
}

add_devices()
{
	local slot kinds function more

	for slot in $DEVS; do
		add_slot
		IFS=+ read -ra kinds <<<"$slot"
		more=
		[[ ${#kinds[@]} -eq 1 ]] || more=,multifunction=on
		for function in "${!kinds[@]}"; do
			add_device "${kinds[function]}" "$BUS.$function$more"
			more=
		done
	done
}

# The IOMMU comes before any device that it is to serve.
add_iommu()
{
	local opts=${IOMMU_OPTS:+,$IOMMU_OPTS}

	case $IOMMU in
	intel)	ARGS+=(-device "intel-iommu,intremap=on,caching-mode=off$opts")
		PARAMS+=(intel_iommu=on) ;;
	amd)	ARGS+=(-device "amd-iommu,intremap=on$opts") ;;
	virtio)	ARGS+=(-device "virtio-iommu-pci$opts") ;;
	esac
}

add_console()
{
	local opts port

	if [[ -n $CMD ]]; then
		ARGS+=(-chardev "file,id=console,path=$RUN/console.log")
	else
		opts=mux=on,signal=off,logfile=$RUN/console.log
		ARGS+=(-chardev "stdio,id=console,$opts"
			-mon "chardev=console,mode=readline")
	fi
	ARGS+=(-serial chardev:console -device virtio-serial-pci)
	for port in status stdout stderr out; do
		ARGS+=(-chardev "file,id=$port,path=$RUN/$port" -device
			"virtserialport,chardev=$port,name=$port")
	done
}

# build_args: ARGS, QEMU's command line.
build_args()
{
	local disk extra append

	PARAMS=(console=ttyS0 earlyprintk=ttyS0 root=/dev/vda rootfstype=ext2 ro
		init=/usr/sbin/stage1 panic=-1 softlockup_panic=1
		hung_task_panic=1 tsc=reliable no_timer_check
		printk.devkmsg=on slab_nomerge "maxcpus=$CPUS")
	ARGS=(-nodefaults -no-user-config -display none -no-reboot
		-machine "q35,kernel-irqchip=split" -cpu max
		-smp "$MAXCPUS" -m "$MEM")
	case $ACCEL in
	tcg) ARGS+=(-accel "tcg,thread=$TCG_THREAD") ;;
	kvm) ARGS+=(-accel kvm) ;;
	esac
	add_iommu
	for disk in "$TOP/build/root/root.img" "$RUN/guest.img"; do
		ARGS+=(-drive "file=$disk,if=virtio,format=raw,readonly=on")
	done
	add_console
	add_devices
	read -ra extra <<<"$QEMU_EXTRA"
	read -ra append <<<"$APPEND"
	ARGS+=("${extra[@]}" -kernel "$BZIMAGE"
		-append "${PARAMS[*]} ${append[*]}")
}

# choose_accel: sets ACCEL.  /dev/kvm may exist and still run no guest, so a
# probe must have booted; its verdict is kept until this host boots again.
choose_accel()
{
	local verdict=$TOP/build/kvm host=/proc/sys/kernel/random/boot_id

	[[ $ACCEL = auto ]] || return 0
	ACCEL=tcg
	[[ -w /dev/kvm ]] || return 0
	if ! grep -qsf $host "$verdict"; then
		step "does a guest boot under KVM?"
		if ACCEL=kvm CMD=true BZIMAGE=$BZIMAGE RUN=kvm-probe \
			BOOT_TIMEOUT=20 TIMEOUT=30 APPEND='' DEVS=testdev \
			IOMMU=intel IOMMU_OPTS='' QEMU_EXTRA='' FILES='' \
			CPUS=2 MAXCPUS=2 "$0" >/dev/null 2>&1; then
			echo "kvm $(<$host)"
		else
			echo "tcg $(<$host)"
		fi >"$verdict"
		step "accelerator: $(cut -d ' ' -f 1 "$verdict")"
	fi
	ACCEL=$(cut -d ' ' -f 1 "$verdict")
}

# open_outputs: CMD's stdout and stderr go to ours as they come.
open_outputs()
{
	local name

	for name in stdout stderr; do
		mkfifo "$RUN/$name"
	done
	tee "$RUN/stdout.log" <"$RUN/stdout" &
	TEES=($!)
	tee "$RUN/stderr.log" <"$RUN/stderr" >&2 &
	TEES+=($!)
	if [[ $VERBOSE = 1 ]]; then
		tail -F -n +1 --pid=$$ "$RUN/console.log" >&2 2>/dev/null &
	fi
}

# close_outputs: opened and closed once more, a pipe that QEMU never got to
# opens and ends, too.
close_outputs()
{
	local name

	for name in stdout stderr; do
		: <>"$RUN/$name"
	done
	wait "${TEES[@]}" || :
	rm "$RUN"/{stdout,stderr}
}

# watch_boot: end QEMU if the guest is not up in time.
watch_boot()
{
	local begin=$SECONDS

	while kill -0 "$QEMU" 2>/dev/null && [[ ! -s $RUN/status ]]; do
		if [[ $((SECONDS - begin)) -ge $BOOT_TIMEOUT ]]; then
			kill "$QEMU"
			return
		fi
		sleep 0.1
	done
}

# watch_command: end QEMU if CMD is not done in time, and set LATE.
watch_command()
{
	local rc=0

	timeout "$TIMEOUT" tail -f -s 0.1 --pid="$QEMU" /dev/null || rc=$?
	[[ $rc -eq 124 ]] || return 0
	LATE=yes
	kill "$QEMU"
}

# run_qemu: sets CRASHED if QEMU, not the guest, fell over.
run_qemu()
{
	local rc=0

	CRASHED=
	: >"$RUN/console.log"
	open_outputs
	setpriv --pdeathsig KILL qemu-system-x86_64 "${ARGS[@]}" \
		</dev/null >"$RUN/qemu.log" 2>&1 9>&- &
	QEMU=$!
	trap 'kill $QEMU 2>/dev/null || :' EXIT
	watch_boot
	watch_command
	wait "$QEMU" || rc=$?
	trap - EXIT
	close_outputs
	case $rc in
	132 | 134 | 135 | 136 | 139)
		CRASHED=yes
		echo "QEMU ended by signal $((rc - 128))" >>"$RUN/qemu.log" ;;
	esac
}

# run_guest: QEMU's emulation has races of its own that a busy host brings out
# now and then while the guest boots, and then QEMU is ended by a signal. As
# long as CMD has not begun, a new start changes nothing.
run_guest()
{
	local tries

	for tries in 2 1 0; do
		run_qemu
		[[ -n $CRASHED && ! -s $RUN/status && $tries -gt 0 ]] || return 0
		step "QEMU crashed while the guest booted; starting again"
	done
}

# outcome: the one line of "result".
outcome()
{
	local status

	status=$(tail -n 1 "$RUN/status" 2>/dev/null || :)
	if ! "$TOP/scripts/splat.sh" "$RUN/console.log" >"$RUN/splat" &&
		[[ -n $status ]]; then
		echo splat
	elif [[ -n $LATE ]]; then
		echo timeout
	elif [[ $status = up ]]; then
		echo died
	else
		echo "${status:-boot}"
	fi
}

# conclude: say what happened and end with its code.
conclude()
{
	local result where=${RUN#"$TOP"/}

	result=$(outcome)
	echo "$result" >"$RUN/result"
	rm -f "$RUN"/{guest,scratch}.img
	if [[ -s $RUN/out ]]; then
		mv "$RUN/out" "$RUN/out.tar"
		mkdir "$RUN/out"
		tar -C "$RUN/out" -xf "$RUN/out.tar"
	fi
	rm -f "$RUN"/out.tar
	[[ -d $RUN/out ]] || rm -f "$RUN/out"
	sed 's/^/    /' "$RUN/splat" >&2
	case $result in
	exit\ 0) exit 0 ;;
	exit\ *)
		step "CMD's exit status: ${result#exit }; log: $where"
		exit "${result#exit }" ;;
	splat)
		die E_SPLAT "the kernel complained; log: $where" ;;
	timeout)
		die E_TIMEOUT "CMD ran for more than $TIMEOUT s; log: $where" ;;
	esac
	tail -n 15 "$RUN"/{qemu.log,console.log} 2>/dev/null |
		sed 's/^/    /' >&2
	[[ $result = died ]] ||
		die E_BOOT "the guest did not come up; log: $where"
	die "the machine ended without a result; log: $where"
}

main()
{
	check_options
	need_tool qemu-system-x86_64 guest
	need_tool mke2fs guest
	"$TOP/scripts/root.sh" >/dev/null
	if [[ -z $BZIMAGE ]]; then
		BZIMAGE=$TOP/$("$TOP/scripts/kernel.sh" | tail -n 1)
	fi
	"$TOP/scripts/selftests.sh" >/dev/null
	choose_accel
	RUN=$LOGS/${RUN:-vm-$KERNEL-$FLAVOUR-$(date +%m%d-%H%M%S)-$$}
	rm -rf "$RUN"
	mkdir -p "$RUN"
	make_disk
	build_args
	printf '%q ' qemu-system-x86_64 "${ARGS[@]}" >"$RUN/command"
	LATE=
	if [[ -n $CMD ]]; then
		run_guest
	else
		qemu-system-x86_64 "${ARGS[@]}" 9>&- || :
	fi
	conclude
}

main
