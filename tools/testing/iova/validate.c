// SPDX-License-Identifier: GPL-2.0-only
/*
 * The checks themselves: each rule, broken by hand, is noticed by its name.
 */
#include "test.h"

static struct {
	struct iova_domain iovad;
	struct iova *low, *mid, *high;
} t;

FIXTURE(validate) {
};

FIXTURE_SETUP(validate)
{
	world_begin(1);
	domain_begin(&t.iovad, 4);
	t.low = reserve_iova(&t.iovad, 10, 19);
	t.mid = reserve_iova(&t.iovad, 30, 39);
	t.high = reserve_iova(&t.iovad, 50, 59);
	ASSERT_TRUE(t.low && t.mid && t.high);
	ASSERT_SOUND(&t.iovad);
}

FIXTURE_TEARDOWN(validate)
{
	domain_end(&t.iovad);
	world_end();
}

/* @field takes @value for as long as it takes to look. */
#define EXPECT_BROKEN(rule, field, value) do {				\
	typeof(field) __sound = (field);				\
	(field) = (value);						\
	EXPECT_NE(NULL, domain_wrong(&t.iovad));			\
	EXPECT_STREQ(rule, domain_wrong(&t.iovad) ?: "");		\
	(field) = __sound;						\
	ASSERT_SOUND(&t.iovad);						\
} while (0)

TEST_F(validate, each_broken_rule_is_named)
{
	EXPECT_BROKEN("T1: a range ends before it starts", t.mid->pfn_hi, 29);
	EXPECT_BROKEN("T1: ranges overlap or are out of order",
		      t.low->pfn_hi, 30);
	EXPECT_BROKEN("T2: a gap does not start where it should",
		      t.low->pfn_hi, 20);
	EXPECT_BROKEN("T2: a gap does not start where it should",
		      t.mid->gap_lo, 21);
	EXPECT_BROKEN("T2: a gap does not start where it should",
		      t.iovad.hot_lo, 41);
	EXPECT_BROKEN("T3: longest gap of a subtree is wrong",
		      t.low->room.gap, 7);
	EXPECT_BROKEN("T3: largest fit of a subtree is wrong",
		      t.high->room.fit, 10);
	EXPECT_BROKEN("T4: the anchor is not on top",
		      t.iovad.rbroot, RB_ROOT);
	EXPECT_BROKEN("T4: ranges are not what was counted",
		      t.iovad.stats.ranges, 4);
	EXPECT_BROKEN("T6: the lowest range is another",
		      t.iovad.lowest, t.mid);
	EXPECT_BROKEN("T6: a gap is counted that should not be",
		      t.low->gap_lo, 4);
	EXPECT_BROKEN("T6: a gap is counted that should not be",
		      t.high->gap_lo, 40);
	/* One whose gap is empty, so that nothing else shows. */
	ASSERT_NE(NULL, reserve_iova(&t.iovad, 60, 69));
	EXPECT_BROKEN("T6: the hot range is not in the tree",
		      t.iovad.hot, NULL);
}

/* What a debug kernel does by itself. */
TEST_F(validate, debug_checks_warn_and_only_then)
{
	struct iova_request req = { .size = 4, .limit = 60, .aligned = true };
	unsigned long pfn;

	spin_lock_irq(&t.iovad.iova_rbtree_lock);
	ASSERT_TRUE(iova_tree_oracle(&t.iovad, &req, &pfn));
	iova_debug_check_search(&t.iovad, &req, t.high, pfn);
	sim_expect_warnings(true);
	iova_debug_check_search(&t.iovad, &req, t.high, pfn - 4);
	EXPECT_EQ(1, sim_warnings);
	iova_debug_check_search(&t.iovad, &req, NULL, 0);
	EXPECT_EQ(2, sim_warnings);
	spin_unlock_irq(&t.iovad.iova_rbtree_lock);

	iova_debug_check_tree(&t.iovad);
	EXPECT_EQ(2, sim_warnings);
	t.mid->gap_lo++;
	iova_debug_check_tree(&t.iovad);
	EXPECT_EQ(3, sim_warnings);
	t.mid->gap_lo--;

	iova_debug_check_free(&t.iovad, 30, 10);
	EXPECT_EQ(3, sim_warnings);
	iova_debug_check_free(&t.iovad, 31, 9);
	EXPECT_EQ(4, sim_warnings);
	iova_debug_check_free(&t.iovad, 40, 1);
	EXPECT_EQ(5, sim_warnings);
	iova_debug_check_free(&t.iovad, 30, 11);
	EXPECT_EQ(6, sim_warnings);
}

TEST_F(validate, batch_with_a_pfn_that_is_free)
{
	unsigned long pfns[] = { 10, 25, 50 };

	sim_expect_warnings(true);
	iova_free_batch(&t.iovad, pfns, 3, false);
	EXPECT_EQ(1, sim_warnings);
	EXPECT_EQ(1, t.iovad.stats.ranges);
	EXPECT_EQ(NULL, find_iova(&t.iovad, 10));
	EXPECT_EQ(NULL, find_iova(&t.iovad, 50));
	ASSERT_SOUND(&t.iovad);
}

TEST_HARNESS_MAIN
