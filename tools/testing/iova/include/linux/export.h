/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SIM_EXPORT_H
#define _SIM_EXPORT_H

#define EXPORT_SYMBOL(symbol)
#define EXPORT_SYMBOL_GPL(symbol)

#endif
