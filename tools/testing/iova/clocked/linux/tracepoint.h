/* SPDX-License-Identifier: GPL-2.0-only */
/* A tracepoint that is off costs nothing. */
#ifndef _SIM_TRACEPOINT_H
#define _SIM_TRACEPOINT_H

#define TP_PROTO(...)	__VA_ARGS__
#define TRACE_EVENT(name, proto, ...)					\
	static inline void trace_##name(proto) {}			\
	struct sim_eat_semicolon

#endif
