/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SIM_MODULE_H
#define _SIM_MODULE_H

#include <linux/export.h>

#define MODULE_AUTHOR(text)
#define MODULE_DESCRIPTION(text)
#define MODULE_LICENSE(text)

#endif
