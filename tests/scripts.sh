#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the workbench's scripts share: variables, packages, the lock, progress,
# and how results are counted.  TAP.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

set_up()
{
	fake_apt "$SCRATCH/bin"
	fake_package "$SCRATCH/base.deb" 99
	export FAKE_DEB=$SCRATCH/base.deb
}

# a_suite NAME [MINUTES]: the suite NAME prints what stdin has.
a_suite()
{
	mkdir -p tests
	cat >"tests/$1"
	printf '%s\t%s\tbash tests/%s\n' "$1" "${2:-1}" "$1" >>tests/suites
}

# installed: dpkg-query says that all packages are, or none with "none".
installed()
{
	mkdir -p bin
	PATH=$PWD/bin:$PATH
	cat >bin/dpkg-query <<-END
		#!/bin/bash
		[[ ${1:-all} = none ]] || awk '!/^#/ {
			for (i = 2; i <= NF; i++)
				print "installed", \$i
		}' scripts/packages
	END
	chmod +x bin/dpkg-query
}

not_root()
{
	mkdir -p bin
	PATH=$PWD/bin:$PATH
	printf '#!/bin/sh\necho 1000\n' >bin/id
	chmod +x bin/id
}

# counts RC LAST-LINE: what make check must come to.
counts()
{
	local rc=0

	make check >out 2>err || rc=$?
	equal "$(tail -n 1 out)" "$2" 'last line'
	equal "$rc" "$1" 'exit code'
}

test_bad_variables_are_refused()
{
	local bad

	workbench .
	for bad in KERNEL=stock KERNEL= 'KERNEL=base series' FLAVOUR=fast \
		BASE=5.10 BASE= CPUS=0 CPUS=65 CPUS=four CPUS=; do
		refused 2 "${bad%%=*}=" make -s tree "$bad"
	done
	for bad in KERNEL=stock FLAVOUR=fast BASE=5.10 BASE=../base CPUS=0 \
		CPUS=65 CPUS=4x; do
		refused 2 "${bad%%=*}=" env "$bad" scripts/tree.sh
	done
	[[ ! -e build ]] || fail 'build/ was made'
}

test_variables_reach_the_scripts()
{
	workbench .
	# shellcheck disable=SC2016
	printf '#!/bin/sh\necho "$KERNEL|$FLAVOUR|$CPUS|$APPEND|$CMD|${MAKEFLAGS-}"\n' \
		>scripts/vm.sh
	chmod +x scripts/vm.sh
	# shellcheck disable=SC2016 # the guest's
	equal "$(make vm KERNEL=base FLAVOUR=debug CPUS=64 APPEND='a b' \
		CMD='echo "$HOME" | cat' | cut -d '|' -f 1-6)" \
		'base|debug|64|a b|echo "$HOME" | cat' variables
}

test_help_lists_every_target()
{
	local target

	workbench .
	cp -r "$REPO/tests" .
	make help >list
	while IFS= read -r target; do
		grep -q "^  make $target  *[a-z]" list || fail "no $target"
	done < <(sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)
	grep -q '^  14 .*time-out' list
}

test_packages_missing_and_not_root()
{
	workbench .
	installed none
	not_root
	refused 3 'sudo apt-get install --no-install-recommends' scripts/deps.sh
	refused 3 ' sparse' scripts/deps.sh lint
	refused 2 'no group foo' scripts/deps.sh foo
}

test_packages_missing_and_root()
{
	workbench .
	installed none
	FAKE_LOG=$PWD/apt scripts/deps.sh lint
	grep -q 'install -y --no-install-recommends .*shellcheck sparse' apt
	! grep -q qemu apt || fail 'another group was installed'
}

test_no_package_missing()
{
	workbench .
	installed
	FAKE_LOG=$PWD/apt scripts/deps.sh
	[[ ! -e apt ]] || fail "apt-get was called: $(cat apt)"
}

test_tool_missing()
{
	workbench .
	refused 3 'no nonesuch; run: scripts/deps.sh lint' bash -c \
		'. scripts/lib.sh; need_tool nonesuch lint'
}

test_space_missing()
{
	workbench .
	refused 3 'make room there' bash -c \
		'. scripts/lib.sh; need_space 1000000 "a test"'
}

test_lock_is_ours_in_what_we_call()
{
	workbench .
	bash -ec '. scripts/lib.sh; lock; bash -ec ". scripts/lib.sh; lock"'
	bash -ec '. scripts/lib.sh; lock; unlock
		env -u WB_LOCK bash -ec ". scripts/lib.sh; lock"'
	refused 4 'another run' bash -ec '. scripts/lib.sh; lock
		env -u WB_LOCK bash -ec ". scripts/lib.sh; lock"; exit'
}

test_a_failing_step_shows_its_log()
{
	local rc=0

	workbench .
	bash -c '. scripts/lib.sh; run_logged "a step" \
		bash -c "seq 100; exit 7"' 2>err || rc=$?
	equal "$rc" 7 status
	grep -q '^    100$' err
	! grep -q '^    80$' err || fail 'more than its end'
	grep -q 'build/log/a-step.log' err
	equal "$(wc -l <build/log/a-step.log)" 100 'lines of the log'
}

test_an_error_in_a_strict_function_is_one()
{
	local rc=0

	workbench .
	bash -c '. scripts/lib.sh; f() { false; true; }
		run_logged step strict f || exit 9' 2>/dev/null || rc=$?
	equal "$rc" 9 status
}

test_an_error_in_one_of_parallel_functions()
{
	local rc=0

	workbench .
	bash -c '. scripts/lib.sh
		one() { exit 7; }
		two() { sleep 0.2; touch two; false; touch three; }
		in_parallel one
		echo not reached' >out 2>&1 || rc=$?
	equal "$rc" 7 status
	rc=0
	bash -c 'set -e; . scripts/lib.sh
		one() { true; }
		two() { sleep 0.2; touch two; false; touch three; }
		in_parallel two one
		echo not reached' >out 2>&1 || rc=$?
	equal "$rc" 1 'status of the other'
	[[ -e two && ! -e three && ! -s out ]] || fail "$(ls) $(<out)"
}

# ended COMMANDS: a script of these is ended, and the process whose number is in
# the file child, too.
ended()
{
	local pid

	rm -f child
	bash -c ". scripts/lib.sh; $1" 2>/dev/null &
	pid=$!
	while [[ ! -s child ]]; do
		sleep 0.05
	done
	kill -TERM "$pid"
	wait "$pid" || :
	for _ in {1..100}; do
		kill -0 "$(cat child)" 2>/dev/null || return 0
		sleep 0.05
	done
	fail 'a child lives on'
}

test_ended_script_takes_its_children_along()
{
	local child="bash -c 'sleep 61 & echo \$! >child; wait'"

	workbench .
	ended "run_logged step $child"
	ended "one() { run_logged step $child; }; two() { sleep 62; }
		in_parallel one two"
}

test_clean_keeps_the_tree_and_distclean_work()
{
	workbench .
	make -s tree
	mkdir -p build/6.12/series-vm build/root
	make -s clean
	[[ ! -e build/6.12/series-vm && ! -e build/root ]]
	[[ -e build/6.12/linux/Makefile && ! -e build/log ]]
	echo more >>build/6.12/linux/drivers/vfio/vfio.c
	refused 6 'run make refresh' scripts/clean.sh all
	git -C build/6.12/linux checkout -q -f
	make -s distclean
	[[ ! -e build ]]
}

test_series_survives_git_am()
{
	workbench .
	mkdir -p series
	printf '# comment\nsubject: of the series\n\nWhat it does.\n' >series/cover
	make -s series
	equal "$(cd build/6.12/series && ls)" "$(printf '%s\n' \
		0000-cover-letter.patch 0001-vfio-change-line-20.patch \
		0002-iommu-iova-Add-a-tree.patch \
		0003-iommu-iova-Use-the-tree.patch)" files
	grep -q '^Subject: \[PATCH 0/3\] subject: of the series$' \
		build/6.12/series/0000-cover-letter.patch
	grep -q '^What it does.$' build/6.12/series/0000-cover-letter.patch
	! grep -q -e '\*\*\*' -e '# comment' build/6.12/series/0000-* ||
		fail 'left over'
	cp -r build/6.12/series first
	make -s series
	diff -r first build/6.12/series
}

test_series_in_parts()
{
	workbench .
	printf 'first part\n\nA.\n' >series/cover.a
	printf 'second part\n\nB.\n' >series/cover.b
	sed -i -e '0,/^patch/s//part a\n&/' -e '0,/^group switch/s//part b\n&/' \
		series/6.12
	mv series/cover.b b
	refused 6 'no series/cover.b' scripts/series.sh
	mv b series/cover.b
	make -s series
	equal "$(cd build/6.12/series && find . -name '*.patch' | sort)" \
		"$(printf './%s\n' 1-a/0000-cover-letter.patch \
			1-a/0001-vfio-change-line-20.patch \
			1-a/0002-iommu-iova-Add-a-tree.patch \
			2-b/0000-cover-letter.patch \
			2-b/0001-iommu-iova-Use-the-tree.patch)" files
	grep -q '^Subject: \[PATCH 0/2\] first part$' \
		build/6.12/series/1-a/0000-cover-letter.patch
	grep -q '^B\.$' build/6.12/series/2-b/0000-cover-letter.patch
	git -C build/6.12/linux checkout -q series
	echo more >>build/6.12/linux/drivers/iommu/tree.c
	cp series/6.12 list
	make -s refresh
	cmp list series/6.12 || fail 'refresh loses the parts'
}

test_lint_finds_what_is_wrong()
{
	workbench .
	installed
	cp "$REPO/.shellcheckrc" .
	echo /scripts/ >>.gitignore	# what is linted elsewhere
	printf 'F:\tdrivers/iommu/\n' >MAINTAINERS
	mkdir docs
	printf 'a line\n' >docs/licence.txt
	printf 'SPDX-License-Identifier: GPL-2.0 \nno end' >docs/space.txt
	# shellcheck disable=SC2016
	printf '#!/bin/bash\n# SPDX-License-Identifier: GPL-2.0\necho $1\n' \
		>docs/shell
	! scripts/lint.sh spdx whitespace shellcheck maintainers >out ||
		fail 'all is well'
	grep -qx '# docs/licence.txt: no SPDX.*' out
	grep -qx '# docs/space.txt:1: trailing whitespace.' out
	grep -qx '# docs/space.txt: no newline at end' out
	grep -q '^# docs/shell:3:6: .*SC2086' out
	grep -qx '# include/linux/iova.h: no F: line of MAINTAINERS has it' out
	! grep -q '^# drivers/iommu/.*no F:' out || fail 'too much'
	equal "$(grep -c '^not ok' out)" 4 checks
	refused 2 'no check foo' scripts/lint.sh foo
}

# Each test that tests/cases names stands in the file it names.
test_cases_have_tests()
{
	local number file name call n=0

	call='(TEST|TEST_F|TEST_F_TIMEOUT|KUNIT_CASE|KUNIT_CASE_PARAM)'
	while IFS=$'\t' read -r number file name; do
		case $file in
		U/*) file=tools/testing/iova/${file#*/} ;;
		K/*) file=drivers/iommu/${file#*/} ;;
		S/*) file=tools/testing/selftests/iommu/${file#*/} ;;
		esac
		grep -qE "^${name}\(\)$|$call\((\w+, )?${name}[,)]" "$REPO/$file" ||
			fail "case $number: no $name in $file"
		n=$((n + 1))
	done < <(grep -v '^\(#\|$\)' "$REPO/tests/cases")
	[[ $n -gt 50 ]] || fail "only $n tests of cases"
}

test_count_of_passes()
{
	workbench .
	installed
	a_suite one <<<'printf "TAP version 13\n1..2\nok 1 a\nok 2 - b\n"'
	a_suite two <<<'printf "1..1\nok 1 c\n"'
	counts 0 '3 passed, 0 failed'
	equal "$(SUITES=two make check 2>/dev/null | tail -n 1)" \
		'1 passed, 0 failed' 'of one suite'
	refused 2 'no such suite' env SUITES=three scripts/check.sh
}

test_count_of_a_failure()
{
	workbench .
	installed
	a_suite one <<<'printf "1..2\nok 1 a\n# why\nnot ok 2 b\n"; exit 1'
	counts 2 '1 passed, 1 failed'
	grep -qx 'FAIL one: b' out
	grep -qx '     | # why' out
	grep -q 'build/log/check-one.log' out
}

test_count_of_skips()
{
	workbench .
	installed
	a_suite one <<<'printf "1..2\nok 1 a\nok 2 b # SKIP no device\n"'
	a_suite two <<<'echo "1..0 # SKIP no machine"'
	counts 0 '1 passed, 0 failed, 2 skipped'
}

# fake_guest STATUS RESULT...: vm.sh prints RESULT N in its N-th run, and ends with
# STATUS if that is no "ok".
fake_guest()
{
	local status=$1

	shift
	mkdir -p configs build/selftests
	echo suite >configs/kunit
	: >build/selftests/kselftest-list.txt
	printf '#!/bin/bash\n' | tee scripts/kernel.sh >scripts/selftests.sh
	echo 'echo build/selftests' >>scripts/selftests.sh
	cat >scripts/vm.sh <<-END
		#!/bin/bash
		results=($*)
		echo run >>runs
		mkdir -p build/log/test-series-vm-kunit
		result=\${results[\$(wc -l <runs) - 1]}
		printf 'KTAP version 1\n%s 1 suite\n1..1\n' "\${result//_/ }"
		[[ \$result = ok ]] || exit $status
	END
	chmod +x scripts/{kernel,selftests,vm}.sh
	rm -f runs
}

test_a_guest_that_fails_is_tried_once_more()
{
	local count="awk -f scripts/tap.awk"

	workbench .
	fake_guest 0 not_ok ok
	ONLY=kunit scripts/guest-tests.sh series/vm 2>/dev/null >out
	grep -q '^# first try: .*not ok 1 suite' out
	grep -qx 'ok 1 series/vm kunit # tried twice' out
	equal "$($count out)" '1 0 0' 'passed, failed, skipped'
	fake_guest 1 not_ok not_ok ok
	ONLY=kunit scripts/guest-tests.sh series/vm 2>/dev/null >out &&
		fail 'two that fail pass'
	equal "$($count out | head -n 1)" '0 1 0' 'of two that fail'
	equal "$(wc -l <runs)" 2 runs
	fake_guest 0 not_ok ok
	RETRY=0 ONLY=kunit scripts/guest-tests.sh series/vm 2>/dev/null >out
	equal "$($count out | head -n 1)" '0 1 0' 'without another try'
}

test_a_guest_whose_kernel_complains_is_not_tried_again()
{
	workbench .
	fake_guest 13 not_ok ok
	ONLY=kunit scripts/guest-tests.sh series/vm 2>/dev/null >out &&
		fail 'a complaint passes'
	equal "$(wc -l <runs)" 1 runs
	grep -q 'the kernel complained' out
}

test_count_of_dying_suites()
{
	workbench .
	installed
	a_suite status <<<'printf "1..1\nok 1 a\n"; exit 3'
	a_suite plan <<<'echo "ok 1 a"'
	a_suite short <<<'printf "1..3\nok 1 a\n"'
	a_suite long <<<'printf "1..1\nok 1 a\nok 2 b\n"'
	a_suite silent <<<':'
	a_suite bail <<<'printf "1..1\nok 1 a\nBail out! no memory\n"'
	counts 2 '6 passed, 6 failed'
	grep -qx 'FAIL status: exit status 3' out
	grep -qx 'FAIL plan: no plan' out
	grep -qx 'FAIL short: planned 3 results, 1 came' out
	grep -qx 'FAIL long: planned 1 results, 2 came' out
	grep -qx 'FAIL silent: no plan' out
	grep -qx 'FAIL bail: Bail out! no memory' out
}

test_count_of_a_suite_that_hangs()
{
	workbench .
	installed
	a_suite one 0.02 <<<'printf "1..1\nok 1 a\n"; sleep 50'
	counts 2 '1 passed, 1 failed'
	grep -qx 'FAIL one: ended after 0.02 minutes' out
}

test_count_of_nested_kunit()
{
	workbench .
	installed
	a_suite one <<-'OUTER'
		cat <<'END'
		[    0.5] KTAP version 1
		[    0.5] 1..3
		[    0.5]     KTAP version 1
		[    0.5]     # Subtest: iova
		[    0.5]     1..3
		[    0.6]     ok 1 tree
		[    0.6]     # bound: EXPECTATION FAILED at iova.c:1
		[    0.6]     not ok 2 bound
		[    0.6]         KTAP version 1
		[    0.6]         # Subtest: sizes
		[    0.6]         ok 1 one
		[    0.6]         ok 2 two # SKIP too slow
		[    0.6]     ok 3 sizes
		[    0.6] # iova: pass:2 fail:1 skip:0 total:3
		[    0.6] not ok 1 iova
		[    0.6]     1..1
		[    0.6]     ok 1 leaf
		[    0.6] not ok 2 init
		[    0.7]     1..2
		[    0.7]     ok 1 leaf
		[    0.7] ok 3 short
		END
	OUTER
	counts 2 '4 passed, 3 failed, 1 skipped'
	equal "$(grep FAIL out)" "$(printf 'FAIL one: %s\n' iova/bound init \
		'short/planned 2 results, 1 came')" failures
}

test_count_of_nested_kselftest()
{
	workbench .
	installed
	a_suite one <<-'OUTER'
		cat <<'END'
		TAP version 13
		1..3
		# timeout set to 45
		# selftests: iommu: knob.sh
		# TAP version 13
		# 1..2
		# ok 1 reads
		# not ok 2 writes
		# # Totals: pass:1 fail:1 xfail:0 xpass:0 skip:0 error:0
		not ok 1 selftests: iommu: knob.sh # exit=1
		# selftests: iommu: plain
		# a program without TAP
		ok 2 selftests: iommu: plain
		# 1..0 # SKIP no group
		ok 3 selftests: iommu: group # SKIP
		END
	OUTER
	counts 2 '2 passed, 1 failed, 1 skipped'
	grep -qx 'FAIL one: selftests: iommu: knob.sh/writes' out
}

test_count_of_a_crash_within_a_subtest()
{
	workbench .
	installed
	a_suite one <<<'printf "1..1\n    1..2\n    ok 1 a\nBUG: oops\n"'
	counts 2 '1 passed, 3 failed'
	grep -qx 'FAIL one: ended within a subtest' out
}

run_tests
