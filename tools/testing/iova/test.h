/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The harness of the selftests, with more time and, where lines are counted,
 * with the counts written before a test's process ends.
 */
#ifndef _TEST_H
#define _TEST_H

#include "world.h"

#ifdef SIM_COVERAGE
#include <unistd.h>

void __gcov_dump(void);
#define _exit(status)	(__gcov_dump(), _exit(status))
#endif

#undef is_signed_type
#include <kselftest_harness.h>

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	300

/* How much to do: in `make check`, and in `make long`. */
#define SCALE(check, full)	(getenv("IOVA_LONG") ? (full) : (check))

#define ASSERT_SOUND(iovad)	ASSERT_STREQ("", domain_wrong(iovad) ?: "")

#endif
