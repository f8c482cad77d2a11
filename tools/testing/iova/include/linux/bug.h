/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SIM_BUG_H
#define _SIM_BUG_H

#include <linux/compiler.h>

/* A warning fails the test unless the test has said that it expects some. */
void sim_warn(const char *file, int line, const char *condition);

#define WARN_ON(condition) ({						\
	bool __warn = !!(condition);					\
	if (unlikely(__warn))						\
		sim_warn(__FILE__, __LINE__, #condition);		\
	unlikely(__warn); })
#define WARN_ON_ONCE(condition)	WARN_ON(condition)
#define WARN_ONCE(condition, ...)	WARN_ON(condition)

#undef BUG_ON
#define BUG_ON(condition) do {						\
	if (unlikely(condition))					\
		sim_die(__FILE__, __LINE__, "BUG_ON(%s)", #condition);	\
} while (0)

__attribute__((noreturn, format(printf, 3, 4)))
void sim_die(const char *file, int line, const char *fmt, ...);

#endif
