#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Print the Makefile's targets, its variables and the exit codes.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

suites()
{
	sed -n 's/^\([a-z-]*\)[[:space:]].*/\1/p' "$TOP/tests/suites" | xargs
}

sed -n -e 's/^## \(.*\)/\n\1:/p' \
	-e 's/^\([a-z-]*\): ## \(.*\)/\1\t\2/p' "$TOP/Makefile" |
	awk -F '\t' 'NF == 2 { printf "  make %-13s %s\n", $1, $2; next } 1'

cat <<END

Variables:
  BASE=6.12            the base to work on: $(ls "$TOP/base")
  KERNEL=series|base   the patched or the stock kernel (kernel, vm)
  FLAVOUR=vm|debug     as users run it, or with KASAN and lockdep (kernel, vm)
  CPUS=4               of the guest, 1 to 64 (vm)
  APPEND="..."         added to the kernel's command line (vm)
  CONFIG=FILE          a kernel's configuration, such as /boot/config-... (deb)
  CMD="..."            run this in the guest instead of a shell (vm)
  SUITES="..."         run only these (check): $(suites)

Exit codes of the scripts; make shows them as "Error N" and exits 2 itself:
END
sed -n 's/^\(E_[A-Z]*\)=\([0-9]*\)\t# \(.*\)/\2\t\3/p' "$TOP/scripts/lib.sh" |
	awk -F '\t' '{ printf "  %-4s %s\n", $1, $2 }'
