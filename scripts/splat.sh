#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# splat.sh LOG: print every complaint of the kernel's that LOG (a guest's
# console) holds, each with what follows it.  Exits with 0 if there is none,
# else with E_SPLAT.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# One extended regular expression a line, matched after the line's time stamp.
# shellcheck disable=SC2016
PATTERNS='
^WARNING:
^BUG:
^BUG [a-z]
^kernel BUG at
^(Oops|Internal error)
^general protection fault
^(stack segment|divide error|invalid opcode|double fault)
^unable to handle
^Kernel panic
^UBSAN:
^KASAN:
^ODEBUG:
^INFO: (task|rcu|trying to register|possible)
^rcu:.* (INFO|stall|self-detected)
^(possible circular|possible recursive|inconsistent lock|possible irq)
^(suspicious RCU|bad: scheduling|DEBUG_LOCKS_WARN)
^watchdog: (BUG|Watchdog detected)
soft lockup|hard LOCKUP|hung task|blocked for more than
^kmemleak: .*(suspected memory leak|unreferenced object)
^refcount_t:
^list_(add|del) corruption
^slab .* (start|still|objects)
^(BUG: workqueue|workqueue: .*hogged)
DMA PTE .* already set
^DMAR: .*(fault|Fault|Error|timed out)
^DMAR: QI|^DMAR: VT-d detected
^AMD-Vi: .*(Event logged|IO_PAGE_FAULT|timed out)
^nvme .*(timeout|Device not ready|Removing after)
^unregister_netdevice: waiting
^NETDEV WATCHDOG
'

# After the first line of a splat, AFTER more are shown with it.
AFTER=45

scan()
{
	awk -v patterns="$PATTERNS" -v after=$AFTER '
	BEGIN {
		count = split(patterns, list, "\n")
		for (i = 1; i <= count; i++)
			if (list[i] != "")
				all = all (all == "" ? "" : "|") list[i]
	}
	{
		sub(/\r$/, "")
		text = $0
		sub(/^(<[0-9]+>)?\[ *[0-9]+\.[0-9]+\](\[ *[TC][0-9]+\])? */,
		    "", text)
		if (text == $0)		# not the kernel speaking
			text = ""
		if (text != "" && text ~ all) {
			if (left == 0)
				print "--- line " NR
			left = after
			found++
		}
		if (left > 0) {
			print
			left--
			if (text ~ /---\[ end (trace|Kernel panic)/)
				left = 0
		}
	}
	END { exit found > 0 }' "$1"
}

[[ $# -eq 1 && -f $1 ]] || die E_USAGE "usage: splat.sh LOG"
scan "$1" || exit $E_SPLAT
