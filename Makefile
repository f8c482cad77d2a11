# SPDX-License-Identifier: GPL-2.0
#
# The workbench: each target calls one script.  `make help` lists them.

SHELL := /bin/bash
MAKEFLAGS += --no-print-directory
.NOTPARALLEL:
.DEFAULT_GOAL := help

BASE ?= 6.12
KERNEL ?= series
FLAVOUR ?= vm
CPUS ?= 4
APPEND ?=
CMD ?=
SUITES ?=
CONFIG ?=

# A `$` in CMD or APPEND is the guest's.
override CMD := $(value CMD)
override APPEND := $(value APPEND)
export BASE KERNEL FLAVOUR CPUS APPEND CMD SUITES CONFIG

# $(call one-of,VARIABLE,VALUES,TEXT): refuse anything else, one line, exit 2.
one-of = $(if $(filter-out 1,$(words $($1)))$(filter-out $2,$($1)),\
	$(error $1=$($1): use $3))

$(call one-of,BASE,$(notdir $(wildcard base/*)),one of: $(notdir $(wildcard base/*)))
$(call one-of,KERNEL,series base,KERNEL=series or KERNEL=base)
$(call one-of,FLAVOUR,vm debug,FLAVOUR=vm or FLAVOUR=debug)
$(call one-of,CPUS,$(shell seq 64),a number from 1 to 64)

.PHONY: help run check tree kernel vm bench deb refresh series bisect-check \
	lint deps clean distclean

## The two commands that do everything, from nothing
run: ## install, get the base, compose, build, boot, tune, measure; table and build/report/
	@scripts/deps.sh && scripts/bench.sh run
check: ## all tests; the last line counts them
	@scripts/check.sh

## The tree
tree: ## compose build/$BASE/linux: tag base, branch series, one commit per entry
	@scripts/tree.sh
refresh: ## carry work done in build/$BASE/linux back into patches/ and the owned files
	@scripts/refresh.sh
series: ## build/$BASE/series: cover letters and numbered patches, checked by git am
	@scripts/series.sh
bisect-check: ## build the touched directories at every commit, count new warnings
	@scripts/bisect.sh
lint: ## checkpatch --strict, sparse, kernel-doc, shellcheck, whitespace, SPDX
	@scripts/lint.sh

## The kernel
kernel: ## build KERNEL in FLAVOUR; the last line is the bzImage's path
	@scripts/kernel.sh
vm: ## boot it: a shell, or CMD
	@scripts/vm.sh
deb: ## install-ready Debian packages of the series' kernel, configured as CONFIG
	@scripts/deb.sh
bench: ## the full comparison: repeats, medians, spread, report with plots
	@scripts/bench.sh bench

## The rest
deps: ## install every package that scripts/packages lists
	@scripts/deps.sh
clean: ## remove what was built; keep the base source and the composed tree
	@scripts/clean.sh
distclean: ## remove build/ as a whole
	@scripts/clean.sh all

help: ## this list
	@scripts/help.sh
