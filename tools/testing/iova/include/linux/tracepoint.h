/* SPDX-License-Identifier: GPL-2.0-only */
/* A tracepoint counts its hits in sim_trace_<name>. */
#ifndef _SIM_TRACEPOINT_H
#define _SIM_TRACEPOINT_H

#define TP_PROTO(...)	__VA_ARGS__

#ifdef CREATE_TRACE_POINTS
#define SIM_TRACE_COUNTER(name)	unsigned long sim_trace_##name
#else
#define SIM_TRACE_COUNTER(name)	extern unsigned long sim_trace_##name
#endif

#define TRACE_EVENT(name, proto, ...)					\
	SIM_TRACE_COUNTER(name);					\
	static inline void trace_##name(proto)				\
	{								\
		__atomic_fetch_add(&sim_trace_##name, 1, __ATOMIC_RELAXED); \
	}								\
	struct sim_eat_semicolon

#endif
