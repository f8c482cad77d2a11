# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A work tree and an output directory of their own, in which commits of the
# series are compiled and checked.  Source it after lib-series.sh.

. "$TOP/scripts/lib-objects.sh"

SRC=$B/check-src
OUT=$B/check-out
export SRC OUT
export CCACHE_DIR=${CCACHE_DIR:-$TOP/build/ccache} CCACHE_BASEDIR=$B

# check_out COMMIT: SRC at COMMIT, nothing else in it.
check_out()
{
	if [[ ! -f $SRC.done ]]; then
		rm -rf "$SRC"
		g worktree prune
		run_logged "check out ${SRC##*/}" git -C "$TREE" worktree add \
			--detach "$SRC" base ||
			die "cannot check out ${SRC#"$TOP"/}; see build/log"
		touch "$SRC.done"
	fi
	rm -f "$(git -C "$SRC" rev-parse --git-path index.lock)"
	git -C "$SRC" checkout -q -f --detach "$1"
	git -C "$SRC" clean -q -f -d
}

# seed: begin with what a kernel of the base has, if there is one.  Only what is
# configured otherwise is compiled again.
seed()
{
	if [[ ! -d $OUT && -f $B/base-vm/.done ]]; then
		git -C "$SRC" diff --name-only --no-renames base | copy_objects \
			"$B/base-vm" "$B/linux-base" "$OUT" "$SRC"
		# what is copied has new times, and the checkout is to keep them
		git -C "$SRC" update-index -q --refresh || :
	fi
}

# fragments: the configuration that is compiled; with BUILT_IN, no modules.
fragments()
{
	cat "$TOP/configs/vm" "$TOP/configs/users" |
		sed "${BUILT_IN:+s/=m\$/=y/}"
}

# kmake ARGUMENT...: make in OUT, of SRC.
kmake()
{
	make -C "$SRC" O="$OUT" CC="ccache gcc" HOSTCC="ccache gcc" \
		-j"$(nproc)" "$@"
}

# not_held: what the fragments ask for and .config has not.
not_held()
{
	fragments | grep -v '# optional$' |
		sed -n 's/^\(CONFIG_[A-Z0-9_]*\)=[ym].*/\1/p' | sort -u |
		comm -23 - <(sed -n 's/^\(CONFIG_[A-Z0-9_]*\)=.*/\1/p' \
			"$OUT/.config" | sort -u)
}

# configure: OUT/.config, the same for the same fragments and commit.
configure()
{
	local missing

	mkdir -p "$OUT"
	fragments | sed 's/[[:space:]]*# optional$//' >"$OUT/fragments"
	kmake -s KCONFIG_ALLCONFIG="$OUT/fragments" allnoconfig
	missing=$(not_held | xargs)
	[[ -z $missing ]] || die E_BUILD "configs/ asks for what this kernel" \
		"cannot have; mend there: $missing"
}

# warnings LOG: its compiler or sparse warnings, without line numbers.
warnings()
{
	sed -n -e "s,$SRC/,,g" -e 's,^\(\.\./\)*[^ ]*check-src/,,' \
		-e 's/:[0-9]\+:[0-9]\+: \(warning\|error\): /: \1: /p' \
		-e 's/^WARNING: modpost: /modpost: /p' "$1" | sort -u
}
