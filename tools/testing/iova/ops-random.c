// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random scripts over everything that users of a domain, its administrator and
 * the machine can do to it at once.
 */
#include "ops.h"
#include "test.h"

static void random_scripts(struct __test_metadata *_metadata,
			   unsigned int scripts, unsigned int ops,
			   const u8 *setup)
{
	size_t len = 3 + 3 * ops, i;
	struct ops_result sum = {};
	u8 *script = malloc(len);
	unsigned int n;

	ASSERT_NE(NULL, script);
	for (n = 1; n <= scripts; n++) {
		struct ops_result result;

		sim_seed = n;
		for (i = 0; i < len; i++)
			script[i] = i < 3 && setup ? setup[i] :
				    sim_random_below(256);
		result = ops_run(script, len, 16);
		sum.done += result.done;
		sum.allocated += result.allocated;
		sum.refused += result.refused;
	}
	free(script);
	TH_LOG("%lu operations, %lu ranges, %lu requests refused", sum.done,
	       sum.allocated, sum.refused);
	EXPECT_LT(0, sum.allocated);
}

TEST(any_space)
{
	random_scripts(_metadata, SCALE(300, 20000), 500, NULL);
}

TEST(short_scripts)
{
	random_scripts(_metadata, SCALE(10000, 500000), 12, NULL);
}

TEST(tiny_space)
{
	random_scripts(_metadata, SCALE(300, 20000), 500,
		       (const u8 []) { 1, 0, 0 });
}

TEST(large_space_many_cpus)
{
	random_scripts(_metadata, SCALE(100, 5000), 1000,
		       (const u8 []) { 7, 10, 5 });
}

TEST_HARNESS_MAIN
