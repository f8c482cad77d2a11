#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# deps.sh [GROUP...]: install what is missing of scripts/packages; without a
# group, of all of them but "root", which is the guest's.  Only root installs,
# others are told the command.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# listed [GROUP...]: the packages of these groups, or of all but the guest's.
listed()
{
	awk -v want=" $* " '
		/^#/ || !NF { next }
		(want == "  " && $1 != "root") || index(want, " " $1 " ") {
			for (i = 2; i <= NF; i++)
				print $i
		}' "$TOP/scripts/packages" | sort -u
}

# absent PACKAGE...: those that are not installed.
absent()
{
	local installed

	installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' \
		2>/dev/null | sed -n 's/^installed //p' | sort -u)
	comm -23 <(printf '%s\n' "$@") <(echo "$installed")
}

install_all()
{
	export DEBIAN_FRONTEND=noninteractive

	apt-get install -y --no-install-recommends "$@" && return
	apt-get update
	apt-get install -y --no-install-recommends "$@"
}

main()
{
	local group missing want

	for group; do
		grep -q "^${group}[[:space:]]" "$TOP/scripts/packages" || die \
			E_USAGE "no group $group in scripts/packages; use:" \
			"$(grep -o '^[a-z]\+' "$TOP/scripts/packages" |
				sort -u | xargs)"
	done
	mapfile -t want < <(listed "$@")
	mapfile -t missing < <(absent "${want[@]}")
	[[ ${#missing[@]} -gt 0 ]] || return 0
	[[ $(id -u) -eq 0 ]] || die E_MISSING "missing packages; run:" \
		"sudo apt-get install --no-install-recommends ${missing[*]}"
	run_logged "install ${#missing[@]} packages" \
		strict install_all "${missing[@]}" ||
		die E_MISSING "cannot install: ${missing[*]};" \
			"see build/log, then: apt-get update"
}

main "$@"
