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
 * 2^(k-1) < s <= 2^k. Take a gap [lo, hi), and let mid be the pfn in it with the
 * most trailing zeros, 2^a the power of two that it is a multiple of. There is
 * no other multiple of 2^a in the gap, or one of the two would have more zeros.
 * Hence hi - mid <= 2^a, and mid - lo < 2^a.
 *
 *   - A request that starts at mid fits if s <= hi - mid: mid is aligned for it.
 *   - One that starts above mid is shorter than that.
 *   - One that starts below mid, at a multiple of 2^k, has k < a. The next such
 *     multiple is no higher than mid, so that it ends by mid, and 2^k pages
 *     would fit as well as s. The largest is the largest power of two that is
 *     not above mid - lo: it starts that far below mid.
 *
 * So the larger of hi - mid and that power is the largest aligned request that
 * fits, and each smaller one fits too. One number, &iova_room.fit, answers
 * aligned requests of any size, powers of two or not; its maximum over a subtree
 * answers for the subtree. &iova_room.gap does the same for requests without
 * alignment.
 *
 * Limits
 * ------
 *
 * A search splits the tree at its limit. Ranges that start at or below the
 * limit have their gaps wholly below it, and stand in the subtrees that the
 * descent leaves to its left. The first range above the limit has the only gap
 * that can straddle it, which is clipped. All others are out of reach. A small
 * limit thus costs what a large one does. The descent ends early where a subtree
 * has no room: what it would find there, the straddling gap included, is too
 * short. The best subtree is then looked for on the way back up, over nodes that
 * the descent has been to.
 *
 * Gaps that the tree does not count
 * ---------------------------------
 *
 * A change of a gap has to be carried up to where it makes no difference, which
 * for a long gap is the root. Allocations that carve one gap from its top, and
 * frees of ranges that touch, would each do so. Three gaps are therefore kept
 * beside the tree, and each search looks at them by themselves:
 *
 *   - those at the two ends of the space, which are the longest as a rule, but
 *     by their place the first and the last to be looked at;
 *   - the hot gap: the one that was changed last. The tree counts it when
 *     another takes its place.
 *
 * These are gaps like any other, and exact at any time; no search begins at one
 * or depends on which of them is hot, as it would with nodes that others have
 * cached. A range that joins or leaves the tree has no counted gap while it does,
 * and so changes nothing on the way to the root. That saves, in instructions of a
 * 256 KiB pair past the cached range, on one CPU in userspace: 482, not 2,055.
 *
 * Invariants, checked by iova_tree_validate():
 *
 * T1  Ranges do not overlap. They may touch.
 * T2  The gap of the lowest range starts at start_pfn; that of every other at
 *     the larger of start_pfn and the predecessor's pfn_hi + 1. For the hot
 *     range this is &iova_domain.hot_lo, for others gap_lo.
 * T3  room of every node is the maximum over its own gap, if it is counted, and
 *     its children.
 * T4  The anchor is the highest node, so each gap has a node above it. It is
 *     never removed.
 * T5  A search visits at most IOVA_TREE_VISITS(ranges) nodes: the height of the
 *     tree for the split, the height once more for the descent into the best
 *     subtree, and those of the gaps that are not counted.
 * T6  The gaps of the hot range, the lowest range and the anchor are not
 *     counted. For the former two, gap_lo equals pfn_lo. &iova_domain.hot and
 *     &iova_domain.lowest are nodes of the tree; if one is erased, its successor
 *     takes its place.
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

/* The largest size-aligned request that [lo, hi), not empty, can take. */
static __always_inline unsigned long gap_fit(unsigned long lo, unsigned long hi)
{
	unsigned long mid = 0, below;

	/* Its bit is the highest that changes from lo - 1 to hi - 1. */
	if (likely(lo))
		mid = (hi - 1) & (~0UL << __fls((lo - 1) ^ (hi - 1)));

	below = mid - lo;
	if (below)
		below = 1UL << __fls(below);
	return max(hi - mid, below);
}

/* Whether the tree counts a gap of this range. */
static bool has_counted_gap(const struct iova *iova)
{
	return iova->gap_lo < iova->pfn_lo && iova->pfn_lo != IOVA_ANCHOR;
}

/* What the counted gap of a range can take. */
static __always_inline struct iova_room own_room(const struct iova *iova)
{
	return (struct iova_room) {
		.gap = iova->pfn_lo - iova->gap_lo,
		.fit = gap_fit(iova->gap_lo, iova->pfn_lo),
	};
}

static void room_max(struct iova_room *room, struct iova_room other)
{
	room->gap = max(room->gap, other.gap);
	room->fit = max(room->fit, other.fit);
}

static void room_merge(struct iova_room *room, struct rb_node *child)
{
	if (child)
		room_max(room, to_iova(child)->room);
}

/*
 * Recompute a node whose own gap or children have less room than before; true
 * if that makes a difference. What the children still have need not be added to.
 */
static __always_inline bool lower_node(struct iova *iova)
{
	struct iova_room room = {};

	room_merge(&room, iova->node.rb_left);
	room_merge(&room, iova->node.rb_right);
	if (room.gap == iova->room.gap && room.fit == iova->room.fit)
		return false;

	if (has_counted_gap(iova)) {
		room_max(&room, own_room(iova));
		if (room.gap == iova->room.gap && room.fit == iova->room.fit)
			return false;
	}

	iova->room = room;
	return true;
}

/* A node is linked, unlinked or moved that has no counted gap: T6. */
static void room_propagate(struct rb_node *node, struct rb_node *stop)
{
}

static void room_copy(struct rb_node *old, struct rb_node *new)
{
	to_iova(new)->room = to_iova(old)->room;
}

static void room_rotate(struct rb_node *old, struct rb_node *new)
{
	room_copy(old, new);
	if (to_iova(old)->room.gap)
		lower_node(to_iova(old));
}

static const struct rb_augment_callbacks iova_augment = {
	.propagate = room_propagate,
	.copy = room_copy,
	.rotate = room_rotate,
};

/* A node has come to have room for what @gap can take. */
static noinline void raise_room(struct rb_node *node, struct iova_room gap)
{
	for (; node; node = rb_parent(node)) {
		struct iova_room *room = &to_iova(node)->room;

		if (room->gap >= gap.gap && room->fit >= gap.fit)
			break;
		room_max(room, gap);
	}
}

/* A node has no longer the room of a gap of its own. */
static noinline void lower_room(struct rb_node *node)
{
	while (node && lower_node(to_iova(node)))
		node = rb_parent(node);
}

/* Give a range that has no counted gap one that starts at @lo. */
static __always_inline void count_gap(struct iova *iova, unsigned long lo)
{
	iova->gap_lo = lo;
	if (has_counted_gap(iova))
		raise_room(&iova->node, own_room(iova));
}

static __always_inline void uncount_gap(struct iova *iova)
{
	bool counted = has_counted_gap(iova);

	iova->gap_lo = iova->pfn_lo;
	if (counted)
		lower_room(&iova->node);
}

/* Make the gap of a range the hot one; the one before is counted again. */
static __always_inline void set_hot(struct iova_domain *iovad,
				    struct iova *iova)
{
	if (iova == iovad->hot)
		return;
	if (iovad->hot != iovad->lowest)
		count_gap(iovad->hot, iovad->hot_lo);
	iovad->hot = iova;
	iovad->hot_lo = iova == iovad->lowest ? iovad->start_pfn : iova->gap_lo;
	uncount_gap(iova);
}

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
	anchor->gap_lo = IOVA_ANCHOR;
	anchor->room = (struct iova_room) {};

	iovad->lowest = anchor;
	iovad->hot = anchor;
	iovad->hot_lo = iovad->start_pfn;
	iovad->rbroot = RB_ROOT;
	rb_link_node(&anchor->node, NULL, &iovad->rbroot.rb_node);
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
	struct rb_node *node = iovad->rbroot.rb_node;

	lockdep_assert_held(&iovad->iova_rbtree_lock);

	while (node) {
		struct iova *iova = to_iova(node);

		if (pfn < iova->pfn_lo)
			node = node->rb_left;
		else if (pfn > iova->pfn_hi)
			node = node->rb_right;
		else
			return iova == &iovad->anchor ? NULL : iova;
	}

	return NULL;
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

/* Put a range into the tree directly below another. */
static __always_inline void insert_below(struct iova_domain *iovad,
					 struct iova *iova, struct iova *next)
{
	struct rb_node **link = &next->node.rb_left, *parent = &next->node;

	while (*link) {
		parent = *link;
		link = &parent->rb_right;
	}

	/* What is left below it is the hot gap now; what is above is not. */
	set_hot(iovad, next);
	iovad->hot = iova;
	iova->gap_lo = iova->pfn_lo;
	iova->room = (struct iova_room) {};
	count_gap(next, max(iova->pfn_hi + 1, iovad->start_pfn));
	if (next == iovad->lowest)
		iovad->lowest = iova;

	rb_link_node(&iova->node, parent, link);
	rb_insert_augmented(&iova->node, &iovad->rbroot, &iova_augment);
	iovad->stats.ranges++;
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
	lockdep_assert_held(&iovad->iova_rbtree_lock);

	insert_below(iovad, iova, next);
}

/* Take a range out of the tree that stands directly below another. */
static __always_inline void erase_below(struct iova_domain *iovad,
					struct iova *iova, struct iova *next)
{
	/* Its gap becomes part of the one above, which is the hot one then. */
	if (iova == iovad->hot) {
		iovad->hot = next;
		uncount_gap(next);
	} else {
		set_hot(iovad, next);
		iovad->hot_lo = iova == iovad->lowest ? iovad->start_pfn :
							iova->gap_lo;
		uncount_gap(iova);
	}
	if (iova == iovad->lowest)
		iovad->lowest = next;
	rb_erase_augmented(&iova->node, &iovad->rbroot, &iova_augment);
	iovad->stats.ranges--;
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
	lockdep_assert_held(&iovad->iova_rbtree_lock);

	erase_below(iovad, iova, to_iova(rb_next(&iova->node)));
}

/**
 * iova_tree_remove - take the range that covers a pfn out of the tree
 * @iovad: domain
 * @pfn: any pfn of the range
 *
 * Needs no memory and cannot fail where the range is live.
 *
 * Context: tree lock held.
 * Return: the range, whose memory is the caller's; NULL if the pfn is free.
 */
struct iova *iova_tree_remove(struct iova_domain *iovad, unsigned long pfn)
{
	struct iova *next = &iovad->anchor, *iova;
	struct rb_node *node = iovad->rbroot.rb_node;

	lockdep_assert_held(&iovad->iova_rbtree_lock);

	/* Frees in order of allocation take one below the other. */
	iova = to_iova(rb_prev(&iovad->hot->node));
	if (iova && iova->pfn_lo == pfn) {
		erase_below(iovad, iova, iovad->hot);
		return iova;
	}

	for (;;) {
		if (!node)
			return NULL;
		iova = to_iova(node);
		if (pfn < iova->pfn_lo) {
			next = iova;
			node = node->rb_left;
		} else if (pfn > iova->pfn_hi) {
			node = node->rb_right;
		} else {
			break;
		}
	}
	if (unlikely(iova == &iovad->anchor))
		return NULL;

	for (node = node->rb_right; node; node = node->rb_left)
		next = to_iova(node);
	erase_below(iovad, iova, next);
	return iova;
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

	set_hot(iovad, iova);
	iova->pfn_lo = pfn_lo;
	iova->gap_lo = pfn_lo;
}

/**
 * struct search - a search under way
 * @size: pages
 * @mask: the bits of a pfn that a place may have set
 * @limit: highest pfn that may be part of the place, inclusive; below the anchor
 * @floor: only gaps below ranges that start above this pfn are of interest
 * @aligned: which room to look at
 * @visited: nodes visited so far
 */
struct search {
	unsigned long	size;
	unsigned long	mask;
	unsigned long	limit;
	unsigned long	floor;
	bool		aligned;
	unsigned int	visited;
};

/*
 * The highest place in [lo, hi), or false. There is one exactly where gap_fit(),
 * or without alignment the length, is no less than the size.
 */
static bool place_in_gap(const struct search *search, unsigned long lo,
			 unsigned long hi, unsigned long *pfn)
{
	if (hi <= lo || hi - lo < search->size)
		return false;
	*pfn = (hi - search->size) & search->mask;
	return *pfn >= lo;
}

/* Whether a subtree has room, be it above the limit or below the floor. */
static bool has_room(const struct search *search, struct rb_node *node)
{
	if (!node)
		return false;
	return (search->aligned ? to_iova(node)->room.fit :
				  to_iova(node)->room.gap) >= search->size;
}

static bool own_place(const struct search *search, struct iova *iova,
		      unsigned long *pfn)
{
	return place_in_gap(search, iova->gap_lo, iova->pfn_lo, pfn);
}

/* In a subtree that has room, the highest gap that has, if above the floor. */
static __always_inline struct iova *
highest_in_subtree(struct search *search, struct rb_node *node,
		   unsigned long *pfn)
{
	for (;;) {
		struct iova *iova = to_iova(node);

		search->visited++;
		if (has_room(search, node->rb_right)) {
			node = node->rb_right;
			continue;
		}
		if (iova->pfn_lo <= search->floor)
			return NULL;
		if (own_place(search, iova, pfn))
			return iova;
		node = node->rb_left;
	}
}

/* Follow the limit down to the last subtree with room, and come back up. */
static __always_inline struct iova *
highest_in_tree(struct iova_domain *iovad, struct search *search,
		unsigned long *pfn)
{
	struct rb_node *next = iovad->rbroot.rb_node, *node = NULL;
	struct iova *above = NULL, *iova;

	while (has_room(search, next)) {
		node = next;
		search->visited++;
		iova = to_iova(node);
		if (iova->pfn_lo > search->limit) {
			above = iova;
			next = node->rb_left;
		} else {
			next = node->rb_right;
		}
	}

	if (above && place_in_gap(search, above->gap_lo, search->limit + 1, pfn))
		return above;

	for (; node; node = rb_parent(node)) {
		iova = to_iova(node);
		if (iova->pfn_lo > search->limit)
			continue;
		if (iova->pfn_lo <= search->floor)
			return NULL;
		if (own_place(search, iova, pfn))
			return iova;
		if (has_room(search, node->rb_left))
			return highest_in_subtree(search, node->rb_left, pfn);
	}
	return NULL;
}

/* The gaps that the tree counts, between those that it does not. */
static __always_inline struct iova *
search_gaps(struct iova_domain *iovad, struct search *search,
	    unsigned long *pfn)
{
	struct iova *hot = iovad->hot, *lowest = iovad->lowest, *found;
	unsigned long end = search->limit + 1, place;
	bool hot_fits;

	search->visited = 2;
	if (place_in_gap(search, iovad->anchor.gap_lo, end, pfn))
		return &iovad->anchor;
	hot_fits = place_in_gap(search, iovad->hot_lo, min(hot->pfn_lo, end),
				&place);
	if (hot_fits)
		search->floor = hot->pfn_lo;
	if (search->floor < end) {
		found = highest_in_tree(iovad, search, pfn);
		if (found)
			return found;
	}
	if (hot_fits) {
		*pfn = place;
		return hot;
	}
	search->visited++;
	if (place_in_gap(search, iovad->start_pfn, min(lowest->pfn_lo, end),
			 pfn))
		return lowest;
	return NULL;
}

/* The highest place for a request, and the range above it; NULL if none. */
static __always_inline struct iova *
find_place(struct iova_domain *iovad, const struct iova_request *req,
	   unsigned long *pfn)
{
	struct iova_tree_stats *stats = &iovad->stats;
	struct search search = {
		.size = req->size, .mask = ~0UL,
		.limit = min(req->limit, IOVA_ANCHOR - 1),
	};
	struct iova *next;

	if (unlikely(!req->size || req->size > IOVA_SIZE_MAX))
		return NULL;
	if (likely(req->aligned)) {
		search.mask <<= order_base_2(req->size);
		search.aligned = true;
		next = search_gaps(iovad, &search, pfn);
	} else {
		search.aligned = false;
		next = search_gaps(iovad, &search, pfn);
	}

	stats->searches++;
	stats->visited += search.visited;
	if (unlikely(stats->visited_max < search.visited))
		stats->visited_max = search.visited;
	if (IS_ENABLED(CONFIG_IOMMU_IOVA_DEBUG))
		iova_debug_check_search(iovad, req, next, next ? *pfn : 0);
	return next;
}

/**
 * iova_tree_place - give a range the highest free place for a request
 * @iovad: domain
 * @req: size in pages, inclusive limit, alignment
 * @iova: range to add to the tree
 *
 * Context: tree lock held.
 * Return: false if the request does not fit; @iova may be used again then.
 */
bool iova_tree_place(struct iova_domain *iovad, const struct iova_request *req,
		     struct iova *iova)
{
	struct iova *next;
	unsigned long pfn;

	lockdep_assert_held(&iovad->iova_rbtree_lock);

	next = find_place(iovad, req, &pfn);
	if (unlikely(!next))
		return false;

	iova->pfn_lo = pfn;
	iova->pfn_hi = pfn + req->size - 1;
	insert_below(iovad, iova, next);
	return true;
}
