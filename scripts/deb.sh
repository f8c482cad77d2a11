#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# deb.sh: Debian packages of the series' kernel, made by the kernel's own
# bindeb-pkg, in build/$BASE/deb.  Their paths are printed last.
#
# From the environment:
#	CONFIG		a configuration, such as /boot/config-6.12.y-amd64: what the
#			series adds takes its defaults; without it, the guest's
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$TOP/scripts/lib-series.sh"
. "$TOP/scripts/lib-objects.sh"

: "${CONFIG:=}"
DEB=$B/deb
OUT=$DEB/build
SUFFIX=-iova

check_config()
{
	[[ -z $CONFIG ]] || grep -qs '^CONFIG_IOMMU_SUPPORT=y' "$CONFIG" ||
		die E_USAGE "CONFIG=$CONFIG: no kernel configuration with an" \
			"IOMMU; use such as /boot/config-$(uname -r)"
}

# kbuild ARGUMENT...
kbuild()
{
	CCACHE_DIR=${CCACHE_DIR:-$TOP/build/ccache} CCACHE_BASEDIR="$B" \
		CCACHE_DEPEND=1 make -C "$TREE" O="$OUT" -j"$(nproc)" CC="ccache gcc" \
		HOSTCC="ccache gcc" LOCALVERSION="$SUFFIX" \
		KDEB_PKGVERSION="$VERSION" "$@"
}

# configure: keys that a distribution signs with are not here.
configure()
{
	cp "${CONFIG:-$B/series-vm/.config}" "$OUT/.config"
	"$TREE/scripts/config" --file "$OUT/.config" \
		--set-str LOCALVERSION '' --disable LOCALVERSION_AUTO \
		--set-str SYSTEM_TRUSTED_KEYS '' \
		--set-str SYSTEM_REVOCATION_KEYS ''
	kbuild -s olddefconfig
}

# objects: for run_logged.
objects()
{
	echo "$(grep -Ec '^  (CC|AS) ' "$LOGS/deb.log") objects," \
		"$(tail -n 1 "$LOGS/deb.log" | xargs | cut -c 1-50)"
}

main()
{
	check_config
	"$TOP/scripts/deps.sh" tree build deb
	# the guest's configuration
	if [[ -z $CONFIG ]]; then
		KERNEL=series FLAVOUR=vm "$TOP/scripts/kernel.sh" >/dev/null
	fi
	"$TOP/scripts/tree.sh"
	lock
	need_space "$([[ -n $CONFIG ]] && echo 30 || echo 4)" "a package's build"
	# 6.12.y, how many patches, of which state
	VERSION=$(make -s -C "$TREE" kernelversion)-$(g rev-list --count \
		base..series)+g$(g rev-parse --short=8 series)
	export TREE OUT SUFFIX VERSION CONFIG
	mkdir -p "$DEB"
	if [[ -z $CONFIG && ! -d $OUT ]]; then
		run_logged "copy objects of series-vm" strict \
			copy_objects "$B/series-vm" "$TREE" "$OUT" "$TREE"
	fi
	mkdir -p "$OUT"
	rm -f "$DEB"/*.deb
	run_logged deb-config strict configure ||
		die E_BUILD "cannot configure; see build/log/deb-config.log"
	PROGRESS=objects run_logged deb strict kbuild bindeb-pkg ||
		die E_BUILD "no package; see build/log/deb.log"
	(cd "$TOP" && ls "${DEB#"$TOP"/}"/*.deb)
}

main
