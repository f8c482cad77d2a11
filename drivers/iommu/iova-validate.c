// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks of the IOVA range tree: every rule that iova-tree.c promises, and an
 * oracle that answers a search the slow way.
 *
 * Both derive all they need from the ranges themselves, so that nothing that
 * the tree has computed is taken for granted.
 *
 * With CONFIG_IOMMU_IOVA_DEBUG the allocator calls them by itself: the oracle
 * for each search in a small tree, the rules once a trimming interval, and a
 * look at each range that is freed.
 */
#include "iova-internal.h"

static struct iova *to_iova(struct rb_node *node)
{
	return rb_entry_safe(node, struct iova, node);
}

/* First free pfn above @prev, or above nothing where it is NULL: T2. */
static unsigned long free_from(struct iova_domain *iovad, struct iova *prev)
{
	return prev ? max(prev->pfn_hi + 1, iovad->start_pfn) :
		      iovad->start_pfn;
}

/*
 * The highest start of a request that lies in [lo, hi); by arithmetic on the
 * request alone, not on what the tree keeps of the gap.
 */
static bool highest_start(unsigned long lo, unsigned long hi,
			  unsigned long size, bool aligned, unsigned long *pfn)
{
	unsigned long step = aligned ? roundup_pow_of_two(size) : 1;
	unsigned long start;

	if (hi <= lo || hi - lo < size)
		return false;
	start = (hi - size) / step * step;
	if (start < lo)
		return false;
	*pfn = start;
	return true;
}

/* Largest aligned request that [lo, hi) can take, by trying sizes. */
static unsigned long slow_fit(unsigned long lo, unsigned long hi)
{
	unsigned long fit = 0, bit = 1UL << (BITS_PER_LONG - 1), pfn;

	/* What fits at one size fits at each smaller one: build it bitwise. */
	for (; bit; bit >>= 1) {
		if ((fit | bit) > IOVA_SIZE_MAX)
			continue;
		if (highest_start(lo, hi, fit | bit, true, &pfn))
			fit |= bit;
	}
	return fit;
}

static const char *check_room(struct iova *iova)
{
	bool counted = iova->pfn_lo > iova->gap_lo &&
		       iova->pfn_lo != IOVA_ANCHOR;
	unsigned long gap = counted ? iova->pfn_lo - iova->gap_lo : 0;
	unsigned long fit = counted ? slow_fit(iova->gap_lo, iova->pfn_lo) : 0;
	struct iova *child[] = { to_iova(iova->node.rb_left),
				 to_iova(iova->node.rb_right) };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(child); i++) {
		if (!child[i])
			continue;
		gap = max(gap, child[i]->room.gap);
		fit = max(fit, min(child[i]->room.fit, IOVA_SIZE_MAX));
	}
	if (iova->room.gap != gap)
		return "T3: longest gap of a subtree is wrong";
	/* A gap from pfn 0 on may exceed what a request can ask for. */
	if (min(iova->room.fit, IOVA_SIZE_MAX) != fit)
		return "T3: largest fit of a subtree is wrong";
	return NULL;
}

static const char *check_gap(struct iova_domain *iovad, struct iova *prev,
			     struct iova *iova)
{
	bool hot = iova == iovad->hot, lowest = iova == iovad->lowest;
	unsigned long lo = free_from(iovad, prev);

	if (lowest != !prev)
		return "T6: the lowest range is another";
	if ((hot || lowest) && iova->gap_lo != iova->pfn_lo)
		return "T6: a gap is counted that should not be";
	if (hot ? iovad->hot_lo != lo : !lowest && iova->gap_lo != lo)
		return "T2: a gap does not start where it should";
	return NULL;
}

/**
 * iova_tree_validate - check every rule of the range tree
 * @iovad: domain
 *
 * Context: tree lock held. Visits every range.
 * Return: NULL, or what is wrong.
 */
const char *iova_tree_validate(struct iova_domain *iovad)
{
	struct iova *iova = NULL, *prev = NULL;
	unsigned long ranges = 0;
	struct rb_node *node;
	const char *wrong;
	bool hot = false;

	lockdep_assert_held(&iovad->iova_rbtree_lock);

	for (node = rb_first(&iovad->rbroot); node; node = rb_next(node)) {
		iova = to_iova(node);
		if (iova->pfn_lo > iova->pfn_hi)
			return "T1: a range ends before it starts";
		if (prev && prev->pfn_hi >= iova->pfn_lo)
			return "T1: ranges overlap or are out of order";
		wrong = check_gap(iovad, prev, iova) ?: check_room(iova);
		if (wrong)
			return wrong;
		hot |= iova == iovad->hot;
		prev = iova;
		ranges++;
	}
	if (iova != &iovad->anchor || iova->pfn_lo != IOVA_ANCHOR)
		return "T4: the anchor is not on top";
	if (ranges - 1 != iovad->stats.ranges)
		return "T4: ranges are not what was counted";
	if (!hot)
		return "T6: the hot range is not in the tree";
	return NULL;
}

/**
 * iova_tree_oracle - search for the highest free place the slow way
 * @iovad: domain
 * @req: what to search for
 * @pfn: on success, first pfn of the place
 *
 * Context: tree lock held. Visits every range.
 * Return: whether there is a place.
 */
bool iova_tree_oracle(struct iova_domain *iovad, const struct iova_request *req,
		      unsigned long *pfn)
{
	unsigned long end = min(req->limit, IOVA_ANCHOR - 1) + 1, start;
	struct iova *iova, *prev = NULL;
	struct rb_node *node;
	bool found = false;

	lockdep_assert_held(&iovad->iova_rbtree_lock);

	if (!req->size || req->size > IOVA_SIZE_MAX)
		return false;

	for (node = rb_first(&iovad->rbroot); node; node = rb_next(node)) {
		iova = to_iova(node);
		if (highest_start(free_from(iovad, prev),
				  min(iova->pfn_lo, end), req->size,
				  req->aligned, &start)) {
			*pfn = start;
			found = true;
		}
		prev = iova;
	}
	return found;
}

/**
 * iova_debug_check_search - compare the result of a search with the oracle's
 * @iovad: domain
 * @req: what was searched for
 * @next: what the search returned
 * @pfn: the place it found, where @next is not NULL
 *
 * Context: tree lock held.
 */
void iova_debug_check_search(struct iova_domain *iovad,
			     const struct iova_request *req,
			     struct iova *next, unsigned long pfn)
{
	unsigned long expected;
	bool found;

	if (iovad->stats.ranges > IOVA_CHECK_SEARCH_MAX)
		return;

	found = iova_tree_oracle(iovad, req, &expected);
	WARN_ONCE(found != !!next || (found && pfn != expected),
		  "IOVA search for %lu pages to pfn %#lx: %s%#lx, not %#lx\n",
		  req->size, req->limit, next ? "" : "failed, ", pfn,
		  found ? expected : 0);
}

/**
 * iova_debug_check_tree - complain if a tree breaks a rule
 * @iovad: domain
 *
 * Context: process context.
 */
void iova_debug_check_tree(struct iova_domain *iovad)
{
	const char *wrong = NULL;

	spin_lock_irq(&iovad->iova_rbtree_lock);
	if (iovad->stats.ranges <= IOVA_CHECK_TREE_MAX)
		wrong = iova_tree_validate(iovad);
	spin_unlock_irq(&iovad->iova_rbtree_lock);

	WARN_ONCE(wrong, "IOVA tree: %s\n", wrong);
}

/**
 * iova_debug_check_free - complain about a free of what is not live
 * @iovad: domain
 * @pfn: first pfn of what is freed
 * @size: its size in pages; the range may be longer, up to its class
 *
 * Context: any.
 */
void iova_debug_check_free(struct iova_domain *iovad, unsigned long pfn,
			   unsigned long size)
{
	unsigned long flags, extent = 0, lo = 0;
	struct iova *iova;

	spin_lock_irqsave(&iovad->iova_rbtree_lock, flags);
	iova = iova_tree_find(iovad, pfn);
	if (iova) {
		lo = iova->pfn_lo;
		extent = iova_size(iova);
	}
	spin_unlock_irqrestore(&iovad->iova_rbtree_lock, flags);

	WARN_ONCE(!iova || lo != pfn ||
		  (extent != size && extent != roundup_pow_of_two(size)),
		  "IOVA free of pfn %#lx, %lu pages, where %lu at %#lx are live\n",
		  pfn, size, extent, lo);
}
