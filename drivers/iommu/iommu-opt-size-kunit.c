// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of what max_opt_dma_size accepts.
 */
#include <kunit/test.h>
#include <linux/iova.h>
#include <linux/sizes.h>

#include "iommu-opt-size.h"

#define KEPT	12345	/* what a refused value must leave alone */

/**
 * struct opt_size_case - a text and what it means
 * @text: as written to sysfs or given at boot
 * @bytes: expected; KEPT where it is to be refused
 */
struct opt_size_case {
	const char	*text;
	size_t		bytes;
};

/* On CPUs with larger pages the small sizes are rounded up further. */
static const struct opt_size_case cases[] = {
	{ "0", 0 },
	{ "0\n", 0 },
	{ "0K", 0 },
	{ "1", SZ_4K },
	{ "4096", SZ_4K },
	{ "4097", SZ_8K },
	{ "131072\n", SZ_128K },
	{ "0x20000", SZ_128K },
	{ "128K", SZ_128K },
	{ "128k\n", SZ_128K },
	{ "96K", SZ_128K },
	{ "129K", SZ_256K },
	{ "1M", SZ_1M },
	{ "3m", SZ_4M },
	{ "4M\n", SZ_4M },
	{ "4194304", SZ_4M },
	{ "4096K", SZ_4M },

	{ "", KEPT },
	{ "\n", KEPT },
	{ "K", KEPT },
	{ "M\n", KEPT },
	{ "0xK", KEPT },
	{ "-1", KEPT },
	{ "-4096", KEPT },
	{ "-0", KEPT },
	{ " 4096", KEPT },
	{ "4096 ", KEPT },
	{ "4096\n\n", KEPT },
	{ "128\nK", KEPT },
	{ "128 K", KEPT },
	{ "+128K", KEPT },
	{ "128KB", KEPT },
	{ "128KK", KEPT },
	{ "128KiB", KEPT },
	{ "1.5M", KEPT },
	{ "1G", KEPT },
	{ "128K 256K", KEPT },
	{ "default", KEPT },
	{ "abc", KEPT },

	/* What would be small again if it wrapped. */
	{ "18446744073709551615", KEPT },
	{ "18446744073709551616", KEPT },
	{ "18014398509481984K", KEPT },
	{ "18014398509482016K", KEPT },
	{ "17592186044416M", KEPT },
	{ "99999999999999999999999999999999999999999999999999", KEPT },
	{ "00000000000000000000000000000000000000000000004096", KEPT },
};

static void opt_size_case_desc(const struct opt_size_case *c, char *desc)
{
	unsigned int i;

	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "'%s'", c->text);
	for (i = 0; desc[i]; i++) {
		if (desc[i] == '\n')
			desc[i] = '$';
	}
}

KUNIT_ARRAY_PARAM(opt_size, cases, opt_size_case_desc);

static void parse(struct kunit *test)
{
	const struct opt_size_case *c = test->param_value;
	size_t bytes = KEPT, want = c->bytes;
	int err;

	if (want != KEPT && want)
		want = max_t(size_t, want, PAGE_SIZE);
	err = iommu_opt_size_parse(c->text, &bytes);
	KUNIT_EXPECT_EQ(test, err, want == KEPT ? -EINVAL : 0);
	KUNIT_EXPECT_EQ(test, bytes, want);
}

static void parse_ceiling(struct kunit *test)
{
	const unsigned long max = iova_rcache_range_max();
	size_t bytes = KEPT;
	char text[24];

	KUNIT_EXPECT_GE(test, max, SZ_4M);
	snprintf(text, sizeof(text), "%lu", max);
	KUNIT_EXPECT_EQ(test, 0, iommu_opt_size_parse(text, &bytes));
	KUNIT_EXPECT_EQ(test, bytes, max);

	bytes = KEPT;
	snprintf(text, sizeof(text), "%lu", max + 1);
	KUNIT_EXPECT_EQ(test, -EINVAL, iommu_opt_size_parse(text, &bytes));
	snprintf(text, sizeof(text), "%luK", max / SZ_1K + 1);
	KUNIT_EXPECT_EQ(test, -EINVAL, iommu_opt_size_parse(text, &bytes));
	snprintf(text, sizeof(text), "12M");
	if (max < 12 * SZ_1M)
		KUNIT_EXPECT_EQ(test, -EINVAL,
				iommu_opt_size_parse(text, &bytes));
	KUNIT_EXPECT_EQ(test, bytes, KEPT);
}

/* In force beats wanted, wanted beats the default, and nothing reads as 0. */
static void show(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, iommu_opt_size_show(SZ_64K, SZ_1M), SZ_64K);
	KUNIT_EXPECT_EQ(test, iommu_opt_size_show(0, SZ_1M), SZ_1M);
	KUNIT_EXPECT_EQ(test, iommu_opt_size_show(0, 0), iova_rcache_range());
}

static struct kunit_case opt_size_cases[] = {
	KUNIT_CASE_PARAM(parse, opt_size_gen_params),
	KUNIT_CASE(parse_ceiling),
	KUNIT_CASE(show),
	{}
};

static struct kunit_suite opt_size_suite = {
	.name		= "iommu_opt_size",
	.test_cases	= opt_size_cases,
};

kunit_test_suite(opt_size_suite);

MODULE_DESCRIPTION("KUnit tests of max_opt_dma_size");
MODULE_LICENSE("GPL");
