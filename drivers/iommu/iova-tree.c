// SPDX-License-Identifier: GPL-2.0-only
/*
 * The range tree of an IOVA domain.
 *
 * Every live range is a node of an rbtree ordered by address. A node knows the
 * gap below it, and each subtree knows what its gaps can take, so that the
 * highest fit below a limit is found by one descent from the root.
 *
 * What a gap can take
 * -------------------
 *
 * A request of s pages that is size-aligned starts at a multiple of 2^k, where
 * 2^(k-1) < s <= 2^k. Take a gap [lo, hi), and let 2^j be the largest naturally
 * aligned block inside it:
 *
 *   - each s <= 2^j fits, at the block;
 *   - each s > 2^j needs a multiple of 2^(j+1) or of more. With two multiples
 *     of 2^(j+1) inside the gap there would be a block of that order between
 *     them, so there is at most one, called the edge. What lies behind it,
 *     t = hi - edge, is less than 2^(j+1) for the same reason. Hence 2^j < s <= t
 *     fits, and nothing longer does.
 *
 * So max(2^j, t) is the largest aligned request that fits, and each smaller one
 * fits too. One number, &iova_room.fit, answers aligned requests of any size,
 * powers of two or not; its maximum over a subtree answers for the subtree.
 * &iova_room.gap does the same for requests without alignment.
 *
 * Limits
 * ------
 *
 * A search splits the tree at its limit. Ranges that start at or below the
 * limit have their gaps wholly below it, and stand in the subtrees that the
 * descent leaves to its left. The first range above the limit has the only gap
 * that can straddle it, which is clipped. All others are out of reach. A small
 * limit thus costs what a large one does.
 *
 * Invariants, checked by iova_tree_validate():
 *
 * T1  Ranges do not overlap. They may touch.
 * T2  gap_lo of the lowest range is start_pfn; of every other it is the larger
 *     of start_pfn and the predecessor's pfn_hi + 1.
 * T3  room of every node is the maximum over its own gap and its children.
 * T4  The anchor is the highest node, so each gap has a node above it. It is
 *     never removed.
 * T5  A search visits at most IOVA_TREE_VISITS(ranges) nodes: the height of the
 *     tree for the split, and the height once more for the descent into the
 *     best subtree.
 *
 * Freeing a range needs no memory: the node is part of the range.
 *
 * The augmentation technique is that of Documentation/core-api/rbtree.rst.
 */
#include "iova-internal.h"

static struct iova *to_iova(struct rb_node *node)
{
	return rb_entry_safe(node, struct iova, node);
}

/* Length of [lo, hi) in pages, where lo may lie above hi. */
static unsigned long gap_len(unsigned long lo, unsigned long hi)
{
	return hi > lo ? hi - lo : 0;
}

/* Pages between the first multiple of @block in [lo, hi) and hi; or 0. */
static unsigned long gap_tail(unsigned long lo, unsigned long hi,
			      unsigned long block)
{
	unsigned long edge = (lo + (block - 1)) & ~(block - 1);

	return edge >= lo && edge < hi ? hi - edge : 0;
}

/* The largest size-aligned request that [lo, hi) can take, in pages. */
static unsigned long gap_fit(unsigned long lo, unsigned long hi)
{
	unsigned long len = gap_len(lo, hi), block, tail;

	if (!len)
		return 0;

	/*
	 * A length of 2^(j+1) - 1 is enough for a block of 2^j wherever it
	 * starts, so that of the two powers below @len one is the answer.
	 */
	block = 1UL << __fls(len);
	if (gap_tail(lo, hi, block) < block)
		block >>= 1;

	tail = gap_tail(lo, hi, block << 1);
	return max(block, tail);
}

static struct iova_room gap_room(unsigned long lo, unsigned long hi)
{
	return (struct iova_room) {
		.gap = gap_len(lo, hi),
		.fit = gap_fit(lo, hi),
	};
}

static unsigned long room_for(struct iova_room room, bool aligned)
{
	return aligned ? room.fit : room.gap;
}

static unsigned long subtree_room(struct rb_node *node, bool aligned)
{
	return node ? room_for(to_iova(node)->room, aligned) : 0;
}

static unsigned long own_room(struct iova *iova, bool aligned)
{
	return aligned ? gap_fit(iova->gap_lo, iova->pfn_lo) :
			 gap_len(iova->gap_lo, iova->pfn_lo);
}

static void room_merge(struct iova_room *room, struct rb_node *child)
{
	if (!child)
		return;
	room->gap = max(room->gap, to_iova(child)->room.gap);
	room->fit = max(room->fit, to_iova(child)->room.fit);
}

/* Recompute a node from its gap and its children; true if nothing changed. */
static bool iova_compute_room(struct iova *iova, bool exit)
{
	struct iova_room room = gap_room(iova->gap_lo, iova->pfn_lo);

	room_merge(&room, iova->node.rb_left);
	room_merge(&room, iova->node.rb_right);
	if (exit && room.gap == iova->room.gap && room.fit == iova->room.fit)
		return true;

	iova->room = room;
	return false;
}

RB_DECLARE_CALLBACKS(static, iova_augment, struct iova, node, room,
		     iova_compute_room)

/**
 * iova_tree_init - start with a tree that holds the anchor alone
 * @iovad: domain; its start_pfn must be set
 *
 * Context: nobody else may know the domain yet.
 */
void iova_tree_init(struct iova_domain *iovad)
{
	struct iova *anchor = &iovad->anchor;

	anchor->pfn_lo = IOVA_ANCHOR;
	anchor->pfn_hi = IOVA_ANCHOR;
	anchor->gap_lo = iovad->start_pfn;

	iovad->rbroot = RB_ROOT;
	rb_link_node(&anchor->node, NULL, &iovad->rbroot.rb_node);
	iova_compute_room(anchor, false);
	rb_insert_augmented(&anchor->node, &iovad->rbroot, &iova_augment);
}

/**
 * iova_tree_find - the range that covers a pfn
 * @iovad: domain
 * @pfn: any pfn of the range
 *
 * Context: tree lock held.
 * Return: the range, or NULL if the pfn is free.
 */
struct iova *iova_tree_find(struct iova_domain *iovad, unsigned long pfn)
{
	struct iova *iova = iova_tree_find_from(iovad, pfn);

	if (iova == &iovad->anchor || iova->pfn_lo > pfn)
		return NULL;
	return iova;
}

/**
 * iova_tree_find_from - the lowest range that ends at or above a pfn
 * @iovad: domain
 * @pfn: pfn to start from
 *
 * Context: tree lock held.
 * Return: the range that covers @pfn, or else the next one above; the anchor
 * at the latest.
 */
struct iova *iova_tree_find_from(struct iova_domain *iovad, unsigned long pfn)
{
	struct rb_node *node = iovad->rbroot.rb_node;
	struct iova *found = &iovad->anchor;

	lockdep_assert_held(&iovad->iova_rbtree_lock);

	while (node) {
		struct iova *iova = to_iova(node);

		if (iova->pfn_hi < pfn) {
			node = node->rb_right;
		} else {
			found = iova;
			node = node->rb_left;
		}
	}

	return found;
}

/**
 * iova_tree_insert - add a range directly below another
 * @iovad: domain
 * @iova: range to add; pfn_lo and pfn_hi are set
 * @next: its successor; the range lies inside the gap below it, or in part or
 *	  whole below start_pfn
 *
 * Context: tree lock held.
 */
void iova_tree_insert(struct iova_domain *iovad, struct iova *iova,
		      struct iova *next)
{
	struct rb_node **link = &next->node.rb_left, *parent = &next->node;

	lockdep_assert_held(&iovad->iova_rbtree_lock);

	while (*link) {
		parent = *link;
		link = &parent->rb_right;
	}

	iova->gap_lo = next->gap_lo;
	next->gap_lo = max(iova->pfn_hi + 1, iovad->start_pfn);

	rb_link_node(&iova->node, parent, link);
	iova_compute_room(iova, false);
	/* An early exit on the way up must not hide the change in @next. */
	iova_augment_propagate(parent, &next->node);
	iova_augment_propagate(&next->node, NULL);
	rb_insert_augmented(&iova->node, &iovad->rbroot, &iova_augment);
	iovad->stats.ranges++;
}

/**
 * iova_tree_erase - take a range out of the tree
 * @iovad: domain
 * @iova: live range other than the anchor; the memory stays the caller's
 *
 * Needs no memory and cannot fail.
 *
 * Context: tree lock held.
 */
void iova_tree_erase(struct iova_domain *iovad, struct iova *iova)
{
	struct iova *next = to_iova(rb_next(&iova->node));

	lockdep_assert_held(&iovad->iova_rbtree_lock);

	rb_erase_augmented(&iova->node, &iovad->rbroot, &iova_augment);
	next->gap_lo = iova->gap_lo;
	iova_augment_propagate(&next->node, NULL);
	iovad->stats.ranges--;
}

/**
 * iova_tree_extend_down - move the lower end of a range down
 * @iovad: domain
 * @iova: live range
 * @pfn_lo: new first pfn, inclusive; [@pfn_lo, iova->pfn_lo) must be free
 *
 * Context: tree lock held.
 */
void iova_tree_extend_down(struct iova_domain *iovad, struct iova *iova,
			   unsigned long pfn_lo)
{
	lockdep_assert_held(&iovad->iova_rbtree_lock);

	iova->pfn_lo = pfn_lo;
	iova_augment_propagate(&iova->node, NULL);
}

/*
 * Split the tree at @limit. Returns the first range above, whose gap may
 * straddle the limit, and in @best the highest node below it whose own gap or
 * whose left subtree has room; NULL if there is none.
 */
static struct iova *split_at_limit(struct iova_domain *iovad,
				   const struct iova_request *req,
				   struct iova **best)
{
	struct rb_node *node = iovad->rbroot.rb_node;
	struct iova *above = &iovad->anchor;

	*best = NULL;
	while (node) {
		struct iova *iova = to_iova(node);

		iovad->stats.visited++;
		if (iova->pfn_lo > req->limit) {
			above = iova;
			node = node->rb_left;
			continue;
		}
		if (own_room(iova, req->aligned) >= req->size ||
		    subtree_room(node->rb_left, req->aligned) >= req->size)
			*best = iova;
		node = node->rb_right;
	}

	return above;
}

/* The highest node of a subtree that has room, whose own gap has room. */
static struct iova *highest_in_subtree(struct iova_domain *iovad,
				       struct rb_node *node,
				       const struct iova_request *req)
{
	for (;;) {
		struct iova *iova = to_iova(node);

		iovad->stats.visited++;
		if (subtree_room(node->rb_right, req->aligned) >= req->size) {
			node = node->rb_right;
			continue;
		}
		if (own_room(iova, req->aligned) >= req->size)
			return iova;
		node = node->rb_left;
	}
}

/* Highest place for a request in [lo, hi), which has room for it. */
static unsigned long place_in_gap(const struct iova_request *req,
				  unsigned long hi)
{
	unsigned long pfn = hi - req->size;

	if (req->aligned)
		pfn &= ~0UL << order_base_2(req->size);
	return pfn;
}

static struct iova *search(struct iova_domain *iovad,
			   const struct iova_request *req, unsigned long *pfn)
{
	struct iova *above, *best;
	unsigned long hi;

	above = split_at_limit(iovad, req, &best);

	/* The limit is below the anchor, so that adding one cannot wrap. */
	hi = min(above->pfn_lo, req->limit + 1);
	if (room_for(gap_room(above->gap_lo, hi), req->aligned) >= req->size) {
		*pfn = place_in_gap(req, hi);
		return above;
	}
	if (!best)
		return NULL;
	if (own_room(best, req->aligned) < req->size)
		best = highest_in_subtree(iovad, best->node.rb_left, req);

	*pfn = place_in_gap(req, best->pfn_lo);
	return best;
}

/**
 * iova_tree_search - find the highest free place for a request
 * @iovad: domain
 * @req: size in pages, inclusive limit, alignment
 * @pfn: on success, first pfn of the place
 *
 * Exact: finds a place whenever one exists between start_pfn and the limit.
 *
 * Context: tree lock held.
 * Return: the range above the place, to be passed to iova_tree_insert(); NULL
 * if the request does not fit.
 */
struct iova *iova_tree_search(struct iova_domain *iovad,
			      const struct iova_request *req,
			      unsigned long *pfn)
{
	struct iova_tree_stats *stats = &iovad->stats;
	unsigned long before = stats->visited;
	struct iova_request clipped = *req;
	struct iova *next;

	lockdep_assert_held(&iovad->iova_rbtree_lock);

	if (!req->size || req->size > IOVA_SIZE_MAX)
		return NULL;
	clipped.limit = min(req->limit, IOVA_ANCHOR - 1);

	next = search(iovad, &clipped, pfn);
	stats->searches++;
	stats->visited_max = max(stats->visited_max, stats->visited - before);
	if (IS_ENABLED(CONFIG_IOMMU_IOVA_DEBUG))
		iova_debug_check_search(iovad, &clipped, next,
					next ? *pfn : 0);
	return next;
}
