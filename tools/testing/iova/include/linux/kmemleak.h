/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SIM_KMEMLEAK_H
#define _SIM_KMEMLEAK_H

#define kmemleak_transient_leak(ptr)	((void)(ptr))

#endif
