/* SPDX-License-Identifier: GPL-2.0-only */
/* Nothing: linux/tracepoint.h has defined all there is. */
