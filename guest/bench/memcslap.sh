# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# memcslap: clients of a memcached behind the other network device.

run_memcslap()
{
	say memcslap
	memcached_start
	memcslap --servers=10.1.0.2 --concurrency=4 --test=get \
		--execute-number="$GETS" >/out/memcslap-get.txt
}
