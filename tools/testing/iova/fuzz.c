// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes are a script of ops.h; one that breaks a rule is looked for. */
#include "ops.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	ops_run(data, size, 4);
	return 0;
}
