# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# iperf3: one TCP stream to a server behind the other network device.

run_iperf3()
{
	say iperf3
	iperf3_start
	iperf3 -c 10.1.0.2 -t "$IPERF_TIME" -O 1 -J >/out/iperf3-tcp.json
}
