#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# kernel.sh: build KERNEL (series or base) in FLAVOUR (vm or debug) out of tree,
# in build/$BASE/$KERNEL-$FLAVOUR.  The last line is the bzImage's path.
#
# Nearly all objects of the two kernels are the same, so the first build of the
# second one begins with a copy of the other's build directory.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$TOP/scripts/lib-objects.sh"

BASE_SRC=$B/linux-base
SERIES_SRC=$B/linux

# source_of KERNEL
source_of()
{
	case $1 in
	base) echo "$BASE_SRC" ;;
	series) echo "$SERIES_SRC" ;;
	esac
}

# fragment: the lines of configs/ for FLAVOUR, the deciding one last.
fragment()
{
	cat "$TOP/configs/vm"
	[[ $FLAVOUR = vm ]] || cat "$TOP/configs/$FLAVOUR"
}

# kbuild KERNEL ARGUMENT...: make, with all that could tell two builds of the
# same source apart held fixed.  CCACHE_DEPEND: no preprocessing besides.
kbuild()
{
	local kernel=$1 src

	shift
	src=$(source_of "$kernel")
	CCACHE_DIR=${CCACHE_DIR:-$TOP/build/ccache} \
		CCACHE_DEPEND=1 CCACHE_BASEDIR="$B" \
		make -C "$src" O="$B/$kernel-$FLAVOUR" -j"$(nproc)" \
		CC="ccache gcc" HOSTCC="ccache gcc" \
		LOCALVERSION="-$kernel-$FLAVOUR" KBUILD_BUILD_VERSION=1 \
		KBUILD_BUILD_USER=workbench KBUILD_BUILD_HOST=workbench \
		KBUILD_BUILD_TIMESTAMP="$(
			git -C "$src" log -1 --format=%cD base)" "$@"
}

# configure KERNEL: allnoconfig plus the fragment.  An unchanged .config keeps
# its time stamp.
configure()
{
	local out=$B/$1-$FLAVOUR

	mkdir -p "$out"
	fragment | sed 's/[[:space:]]*# optional$//' >"$out/fragment"
	kbuild "$1" -s KCONFIG_ALLCONFIG="$out/fragment" allnoconfig
}

# not_held KERNEL: the fragment's lines that .config does not follow.
not_held()
{
	fragment | awk -v config="$B/$1-$FLAVOUR/.config" '
		function name(line) { return substr(line, 1, index(line, "=") - 1) }
		function value(line) { return substr(line, index(line, "=") + 1) }
		BEGIN {
			while ((getline line < config) > 0)
				if (line ~ /^CONFIG_/)
					is[name(line)] = value(line)
				else if (split(line, word, " ") > 1)
					is[word[2]] = "n"
		}
		/^CONFIG_/ {
			optional[name($0)] = /# optional$/
			sub(/[ \t]*# optional$/, "")
			want[name($0)] = value($0)
		}
		END {
			for (key in want) {
				have = key in is ? is[key] : "n"
				if (optional[key] && !(key in is))
					continue
				if (have != want[key])
					printf "%s=%s (is %s) ", key,
						want[key], have
			}
		}'
}

# touched: files in which the two source trees differ.
touched()
{
	{
		git -C "$SERIES_SRC" diff --name-only --no-renames base
		git -C "$BASE_SRC" diff --name-only --no-renames base
	} | sort -u
}

# seed FROM TO: begin TO's build with a copy of FROM's.
seed()
{
	touched | copy_objects "$B/$1-$FLAVOUR" "$(source_of "$1")" \
		"$B/$2-$FLAVOUR" "$(source_of "$2")"
}

# other KERNEL
other()
{
	case $1 in
	base) echo series ;;
	series) echo base ;;
	esac
}

# progress: how far make is, for run_logged.  The total is that of the last
# complete build in this flavour.
progress()
{
	local log=$LOGS/$NAME.log total

	total=$(cat "$OUT/.objects" 2>/dev/null || echo 1400)
	echo "$(grep -Ec '^  (CC|AS) ' "$log") of about $total objects," \
		"$(tail -n 1 "$log" | xargs | cut -c 1-50)"
}

# build_one KERNEL
build_one()
{
	local kernel=$1 missed

	OUT=$B/$kernel-$FLAVOUR
	NAME=kernel-$kernel-$FLAVOUR
	mkdir -p "$OUT"
	[[ -f $OUT/.started ]] || touch "$OUT/.started"
	rm -f "$OUT/.done"
	run_logged "config-$kernel-$FLAVOUR" strict configure "$kernel" ||
		die E_BUILD "cannot configure; see build/log"
	missed=$(not_held "$kernel")
	[[ -z $missed ]] || die E_BUILD "configs/ asks for what this kernel" \
		"cannot have; mend there: $missed"
	PROGRESS=progress run_logged "$NAME" \
		strict kbuild "$kernel" bzImage modules ||
		die E_BUILD "$kernel does not compile; see build/log/$NAME.log"
	[[ -f $OUT/.objects ]] || grep -Ec '^  (CC|AS) ' "$LOGS/$NAME.log" \
		>"$OUT/.objects"
	touch "$OUT/.done"
}

main()
{
	local tool from

	for tool in bc bison ccache flex gcc lz4 make; do
		need_tool "$tool" build
	done
	from=$(other "$KERNEL")
	if [[ $KERNEL = base || -d $B/base-$FLAVOUR ]]; then
		"$TOP/scripts/tree.sh" base
	else
		"$TOP/scripts/tree.sh"
	fi
	lock
	need_space 4 "a kernel's build"
	export FLAVOUR TOP B BASE_SRC SERIES_SRC
	if [[ ! -d $B/$KERNEL-$FLAVOUR && -f $B/$from-$FLAVOUR/.done ]]; then
		run_logged "copy the objects of $from" \
			strict seed "$from" "$KERNEL"
	fi
	build_one "$KERNEL"
	echo "build/$BASE/$KERNEL-$FLAVOUR/arch/x86/boot/bzImage"
}

main
