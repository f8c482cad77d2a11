#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The tree side of the workbench: base, compose, refresh, series.  TAP.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# set_up: one composed workbench, which most tests start from.
set_up()
{
	fake_apt "$SCRATCH/bin"
	fake_package "$SCRATCH/base.deb" 99
	export FAKE_DEB=$SCRATCH/base.deb
	workbench "$SCRATCH/ready"
	(cd "$SCRATCH/ready" && make -s tree 2>"$SCRATCH/set_up.log") || {
		cat "$SCRATCH/set_up.log" >&2
		exit 1
	}
}

# ready: the composed workbench in the current directory.
ready()
{
	cp -a "$SCRATCH/ready/." .
	TREE=build/6.12/linux
}

series_id()
{
	git -C "${1:-$TREE}" rev-parse series
}

tree_id()
{
	git -C "$TREE" rev-parse 'series^{tree}'
}

commit_all()
{
	as_developer commit -q -s -a -m "$1"
}

test_tree_is_one_commit_per_entry()
{
	ready
	equal "$(git -C "$TREE" log --reverse --format=%s base..series)" \
		"$(printf '%s\n' 'vfio: change line 20' \
			'iommu/iova: Add a tree' 'iommu/iova: Use the tree')" log
	equal "$(git -C "$TREE" log -1 --format='%an %ae %ai %cn %ci' series)" \
		"A. Developer dev@example.org 2025-05-01 12:00:00 +0200 A.$(:
		) Developer 2025-05-01 12:00:00 +0200" author
	equal "$(git -C "$TREE" show --format= --name-status --no-renames series)" \
		"$(printf '%s\n' M$'\t'drivers/iommu/Makefile \
			M$'\t'drivers/iommu/iova.c D$'\t'drivers/iommu/obsolete.c \
			M$'\t'include/linux/iova.h)" files
	equal "$(cat $TREE/drivers/iommu/iova.c)" 'our iova' content
}

test_tag_base_is_pristine()
{
	ready
	fake_source source 99
	git -C "$TREE" worktree add -q ../pristine base
	diff -r --no-dereference -x .git source build/6.12/pristine
	[[ -x build/6.12/pristine/run.sh && ! -x build/6.12/pristine/Makefile ]]
}

test_ids_depend_on_nothing_else()
{
	export HOME=$PWD
	git config --global core.autocrlf true
	git config --global commit.gpgsign true
	git config --global user.name Somebody
	git config --global core.hooksPath "$PWD/hooks"
	git config --global diff.noprefix true
	mkdir hooks
	printf '#!/bin/sh\nexit 1\n' >hooks/pre-commit
	chmod +x hooks/pre-commit
	export GIT_AUTHOR_DATE='2001-01-01 00:00:00' TZ=Asia/Tokyo
	workbench other
	(cd other && umask 077 && make -s tree)
	equal "$(series_id other/build/6.12/linux)" \
		"$(series_id "$SCRATCH/ready/build/6.12/linux")" series
}

test_tree_again_writes_nothing()
{
	local before

	ready
	before=$(find $TREE -type f ! -path '*/.git/*' -printf '%p %T@\n' | sort)
	make -s tree
	equal "$(find $TREE -type f ! -path '*/.git/*' -printf '%p %T@\n' |
		sort)" "$before" times
}

test_tree_writes_only_what_changed()
{
	local before

	ready
	touch mark
	sleep 0.05
	echo 'our second tree' >drivers/iommu/tree.c
	make -s tree
	equal "$(find $TREE -type f -newer mark ! -path '*/.git/*')" \
		$TREE/drivers/iommu/tree.c written
}

test_tree_keeps_a_developers_work()
{
	local work

	ready
	echo mine >>$TREE/drivers/vfio/vfio.c
	make -s tree			# nothing changed here: not in the way
	commit_all 'vfio: mine'
	work=$(series_id)
	echo 'changed' >drivers/iommu/tree.c
	refused 6 'make refresh' scripts/tree.sh
	equal "$(series_id)" "$work" branch
	git -C "$TREE" checkout -q -f -B series refs/workbench/composed
	make -s tree
	equal "$(cat $TREE/drivers/iommu/tree.c)" changed content
}

test_fuzz_is_refused()
{
	ready
	# the outermost line of context: what patch would call fuzz 1
	sed -i 's/vfio line 22/vfio line 22 of another base/' \
		patches/6.12/vfio.patch
	refused 6 'vfio.patch does not apply without fuzz' scripts/tree.sh
}

test_offset_is_accepted()
{
	ready
	sed -i 's/@@ -18,5 +18,5 @@/@@ -11,5 +11,5 @@/' patches/6.12/vfio.patch
	make -s tree
	equal "$(sed -n 20p $TREE/drivers/vfio/vfio.c)" 'vfio line twenty' line
}

test_owned_file_of_no_group_is_refused()
{
	local before

	ready
	before=$(series_id)
	echo new >drivers/iommu/new.c
	refused 6 'drivers/iommu/new.c belongs to no group' scripts/tree.sh
	equal "$(series_id)" "$before" series
}

test_series_list_errors_are_refused()
{
	ready
	cp series/6.12 list
	printf '\tdrivers/iommu/tree.c\n' >>series/6.12
	refused 6 'belongs to tree.patch already' scripts/tree.sh
	{ cat list; printf '\tdrivers/iommu/none.c\n'; } >series/6.12
	refused 6 'no drivers/iommu/none.c' scripts/tree.sh
	{ cat list; printf '\tlib/none.c\n'; } >series/6.12
	refused 6 'owned files stand below' scripts/tree.sh
	{ cat list; echo 'patch none.patch'; } >series/6.12
	refused 6 'no patches/6.12/none.patch' scripts/tree.sh
	{ cat list; echo 'patch vfio.patch'; } >series/6.12
	refused 6 'listed twice' scripts/tree.sh
	{ cat list; echo 'pitch vfio.patch'; } >series/6.12
	refused 6 "neither 'patch NAME.patch' nor" scripts/tree.sh
	{ cat list; echo 'part late'; } >series/6.12
	refused 6 'entries before the first part' scripts/tree.sh
	{ echo 'part a b'; cat list; } >series/6.12
	refused 6 "'part a b' names no part" scripts/tree.sh
	{ echo 'part a'; cat list; echo 'part a'; } >series/6.12
	refused 6 'part a is listed twice' scripts/tree.sh
	cp list series/6.12
	cp patches/6.12/vfio.patch patches/6.12/other.patch
	refused 6 'other.patch is not listed' scripts/tree.sh
}

test_patch_errors_are_refused()
{
	ready
	cp patches/6.12/vfio.patch keep
	sed -i 's,drivers/vfio/vfio.c,drivers/iommu/iova.c,' \
		patches/6.12/vfio.patch
	refused 6 'belongs to switch.patch' scripts/tree.sh
	sed '/^Signed-off-by/d' keep >patches/6.12/vfio.patch
	refused 6 'no Signed-off-by' scripts/tree.sh
	sed '/^Date/d' keep >patches/6.12/vfio.patch
	refused 6 'no Date' scripts/tree.sh
	sed '/^diff/,$d' keep >patches/6.12/vfio.patch
	refused 6 'changes nothing' scripts/tree.sh
	{
		sed '/^diff/,$d' keep
		printf 'diff --git a/drivers/new.c b/drivers/new.c\n'
		printf 'new file mode 100644\n--- /dev/null\n'
		printf '+++ b/drivers/new.c\n@@ -0,0 +1 @@\n+new\n'
	} >patches/6.12/vfio.patch
	refused 6 'adds or deletes drivers/new.c' scripts/tree.sh
}

test_directory_of_owned_files()
{
	ready
	mkdir -p tools/testing/iova/linux
	echo a >tools/testing/iova/a.c
	printf '#!/bin/sh\n' >tools/testing/iova/linux/b.sh
	chmod +x tools/testing/iova/linux/b.sh
	sed -i 's,^\tdrivers/iommu/tree.c,&\n\ttools/testing/iova/,' series/6.12
	make -s tree
	equal "$(git -C "$TREE" ls-tree -r --format='%(objectmode) %(path)' \
		series tools)" "$(printf '%s\n' '100644 tools/testing/iova/a.c' \
			'100755 tools/testing/iova/linux/b.sh')" files
	# what another group names is that group's
	sed -i 's,^\tinclude/linux/iova.h,&\n\ttools/testing/iova/a.c,' series/6.12
	make -s tree
	equal "$(git -C "$TREE" ls-tree -r --name-only series~1 tools)" \
		tools/testing/iova/linux/b.sh 'files before'
	sed -i 's,^\tinclude/linux/iova.h,&\n\ttools/testing/iova/linux/,' series/6.12
	make -s tree
	equal "$(git -C "$TREE" ls-tree -r --name-only series~1 tools)" '' \
		'nothing left before'
	cp series/6.12 list
	make -s refresh
	cmp list series/6.12 || fail 'refresh changes the list'
}

test_wrong_base_is_refused()
{
	local bad

	workbench .
	for bad in '94 6.12.94-1' '99 6.13.99-1' '94 6.12.99-1'; do
		# shellcheck disable=SC2086 # sublevel and package version
		fake_package bad.deb $bad
		rm -rf build
		FAKE_DEB=$PWD/bad.deb refused 5 \
			'6.12.95 or a later 6.12.y is accepted' scripts/tree.sh
		[[ ! -e build/6.12/linux ]]
	done
	FAKE_DEB=none refused 5 'apt has no linux-source-6.12' \
		env FAKE_DEB=none bash -c 'rm -rf build; scripts/base.sh'
}

test_killed_while_fetching_then_repeated()
{
	local pid

	workbench .
	FAKE_HANG=1 setsid scripts/tree.sh 2>/dev/null &
	pid=$!
	while [[ ! -s $(echo build/6.12/base.tmp/*.deb) ]]; do
		sleep 0.05
	done
	pkill -KILL -s "$pid"	# the session: children too
	wait "$pid" || :
	make -s tree
	equal "$(series_id build/6.12/linux)" \
		"$(series_id "$SCRATCH/ready/build/6.12/linux")" series
}

test_killed_while_checking_out_then_repeated()
{
	local want

	ready
	echo 'our second tree' >drivers/iommu/tree.c
	cp -a . ../whole
	(cd ../whole && make -s tree)
	want=$(series_id ../whole/$TREE)
	# as a kill would leave it: some files written, the index locked
	git -C "$TREE" fetch -q "$(realpath ../whole/$TREE)" series
	git -C "$TREE" update-ref refs/workbench/pending "$want"
	echo 'our second tree' >$TREE/drivers/iommu/tree.c
	cp ../whole/$TREE/.git/workbench-hash $TREE/.git/workbench-hash.new
	touch $TREE/.git/index.lock
	make -s tree
	equal "$(series_id)" "$want" series
	equal "$(git -C "$TREE" status --porcelain)" '' status
	rm -rf ../whole
}

test_two_runs_at_once()
{
	local pid

	ready
	flock build/.lock sleep 30 &
	pid=$!
	while flock -n build/.lock true; do
		sleep 0.05
	done
	refused 4 'another run works in this checkout' scripts/tree.sh
	pkill -P "$pid"
	wait "$pid" || :
	make -s tree
}

# again: compose anew from nothing and compare with the tree that was left.
again()
{
	local want

	want=$(tree_id)
	equal "$(git -C "$TREE" status --porcelain)" '' 'status after refresh'
	make -s tree
	equal "$(tree_id)" "$want" 'tree after refresh'
	rm -rf build
	make -s tree
	equal "$(tree_id)" "$want" 'tree from nothing'
}

test_refresh_round_trip()
{
	local bytes want

	ready
	bytes=$(sha256sum <patches/6.12/switch.patch)
	# a new commit, an amended one, an edit without a commit
	sed -i 's/line 35/line thirty-five/' $TREE/drivers/vfio/vfio.c
	echo 'new' >$TREE/drivers/iommu/new.c
	as_developer add -A
	commit_all 'vfio: change line 35'
	want=$(tree_id)
	as_developer checkout -q series~3
	sed -i 's/line twenty/line  twenty/' $TREE/drivers/vfio/vfio.c
	as_developer commit -q -a --amend --no-edit
	as_developer rebase -q --onto HEAD series~3 series
	echo 'edited' >>$TREE/drivers/iommu/tree.c
	make -s refresh
	equal "$(sed -n '$p' drivers/iommu/tree.c)" edited owned
	equal "$(cat drivers/iommu/new.c)" new 'new file'
	grep -q '^+vfio line  twenty' patches/6.12/vfio.patch
	equal "$(sha256sum <patches/6.12/switch.patch)" "$bytes" untouched
	equal "$(grep -v '^$' series/6.12 | tr -d '\t')" "$(cat <<-'END'
		# head
		patch vfio.patch # hook
		# why
		group tree.patch
			drivers/iommu/tree.c
		group switch.patch
			drivers/iommu/iova.c # ours
			include/linux/iova.h
			-drivers/iommu/obsolete.c
		group vfio-change-line-35.patch
			drivers/iommu/new.c
		END
	)" list
	again
	[[ $(tree_id) != "$want" ]]
}

test_refresh_of_order_and_removal()
{
	ready
	as_developer checkout -q -B series base
	as_developer cherry-pick refs/workbench/composed~1 \
		refs/workbench/composed >/dev/null
	echo 'more' >>$TREE/drivers/vfio/vfio.c
	commit_all 'vfio: more, instead'
	make -s refresh
	[[ ! -e patches/6.12/vfio.patch ]]
	equal "$(sed -n 's/^[pg][^ ]* //p' series/6.12)" "$(printf '%s\n' \
		tree.patch switch.patch vfio-more-instead.patch)" order
	again
}

test_refresh_of_removed_and_restored_files()
{
	ready
	as_developer rm -q drivers/iommu/tree.c
	as_developer checkout -q base -- drivers/iommu/obsolete.c
	commit_all 'iommu/iova: Drop the tree, restore the obsolete'
	refused 6 'make refresh' bash -c \
		'echo x >drivers/iommu/tree.c; scripts/tree.sh'
	echo 'our tree' >drivers/iommu/tree.c
	make -s refresh
	[[ ! -e drivers/iommu/tree.c ]]
	again
	equal "$(cat $TREE/drivers/iommu/obsolete.c)" obsolete restored
}

test_refresh_folds_edits_of_owned_files()
{
	ready
	echo 'more' >>$TREE/drivers/iommu/tree.c
	commit_all 'iommu/iova: more'
	make -s refresh
	equal "$(sed -n '$p' drivers/iommu/tree.c)" more owned
	equal "$(git -C "$TREE" rev-list --count base..series)" 3 commits
	again
}

test_refresh_of_a_message()
{
	ready
	as_developer commit -q --amend -s -m 'iommu/iova: Use it' -m 'Größe: ok.'
	make -s refresh
	equal "$(git -C "$TREE" log -1 --format=%s series)" 'iommu/iova: Use it' log
	grep -q 'group switch.patch' series/6.12
	again
	equal "$(git -C "$TREE" log -1 --format=%b series | sed -n 1p)" \
		'Größe: ok.' body
}

test_refresh_with_nothing_to_do()
{
	local before

	ready
	before=$(state patches series drivers include)
	make -s refresh
	equal "$(state patches series drivers include)" "$before" files
}

test_refresh_refuses()
{
	local before

	ready
	before=$(state patches series drivers include)
	echo edit >>$TREE/drivers/vfio/vfio.c
	refused 6 'edited and not committed' scripts/refresh.sh
	as_developer checkout -q -f
	echo new >$TREE/new.c
	refused 6 'new.c is new in' scripts/refresh.sh
	rm $TREE/new.c
	as_developer commit -q --allow-empty --fixup=HEAD
	refused 6 'rebase -i --autosquash base' scripts/refresh.sh
	as_developer checkout -q -B series base
	as_developer commit -q --amend --allow-empty -s -m 'another base'
	refused 6 'does not start at tag base' scripts/refresh.sh
	as_developer checkout -q -B series refs/workbench/composed
	as_developer checkout -q -b side series~1
	refused 6 'not on its branch series' scripts/refresh.sh
	echo x >>$TREE/drivers/vfio/vfio.c
	commit_all side
	as_developer checkout -q series
	as_developer merge -q -m merge side
	refused 6 'has a merge' scripts/refresh.sh
	as_developer checkout -q -f -B series refs/workbench/composed
	echo x >>$TREE/drivers/vfio/vfio.c
	as_developer commit -q -a -m 'vfio: nobody signs'
	refused 6 'no Signed-off-by' scripts/refresh.sh
	as_developer commit -q --amend -m 'vfio: a line that ends a message' \
		-m "$(printf 'Signed-off-by: D <d@example.org>\n---\n\nafter')"
	refused 6 'does not survive being mailed' scripts/refresh.sh
	equal "$(state patches series drivers include)" "$before" files
	echo x >drivers/iommu/tree.c
	refused 6 'changed here as well' scripts/refresh.sh
}

test_refresh_killed_while_copying_then_repeated()
{
	ready
	echo 'more' >>$TREE/drivers/iommu/tree.c
	sed -i 's/line 35/line thirty-five/' $TREE/drivers/vfio/vfio.c
	as_developer commit -q -s -m 'vfio: change line 35' drivers/vfio
	# a cp that dies at its first file stands for the kill
	mkdir bin
	# shellcheck disable=SC2016
	printf '#!/bin/sh\nkill -KILL $PPID\n' >bin/install
	chmod +x bin/install
	! PATH=$PWD/bin:$PATH scripts/refresh.sh || fail 'not killed'
	make -s tree
	equal "$(sed -n '$p' drivers/iommu/tree.c)" more owned
	[[ -e patches/6.12/vfio-change-line-35.patch ]]
	again
}

run_tests
