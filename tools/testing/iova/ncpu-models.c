// SPDX-License-Identifier: GPL-2.0-only
/*
 * Models of what preceded, written for comparison:
 *
 *   tree	2015: a tree under a lock, searched downwards from the place of the
 *		last success; unmapped ranges wait in one list for all CPUs
 *   batched	Li, 2015: CPUs take ranges from the tree many at a time, and a
 *		flush gives all of its ranges back under one hold of the lock
 *   batched-percpu	the same with a list of each CPU's own
 *   magazines	Peleg, Morrison et al., 2016: magazines, and a list of each CPU's
 *		own. The magazines are the base's, which descend from these.
 *
 * A list holds its lock, interrupts off, across its flush and its frees, as they
 * all did. Only sizes of one page are batched.
 */
#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/rbtree.h>
#include <linux/timer.h>

#include "ncpu-stock.h"

#define LIST_MAX	250
#define TIMEOUT		10
#define BATCH		32
#define TOP		(1UL << 20)

struct range {
	struct rb_node	node;
	unsigned long	lo;
	unsigned long	hi;
};

/**
 * struct tree - 32 bits of address space
 * @lock: protects all below
 * @root: ranges by address
 * @last: below this one the last search ended; NULL for the top
 * @cache: ranges are allocated from here
 */
struct tree {
	spinlock_t		lock;	/* all below */
	struct rb_root		root;
	struct range		*last;
	struct kmem_cache	*cache;
};

struct cpu_batch {
	unsigned int	nr;
	struct range	*range[BATCH];
};

/* A range of the tree, or address and size of one from magazines. */
struct entry {
	struct model	*model;
	struct range	*range;
	unsigned long	pfn;
	unsigned long	pages;
};

struct list {
	spinlock_t		lock;	/* all below */
	unsigned int		nr;
	bool			timer_on;
	struct timer_list	timer;
	struct entry		entry[LIST_MAX];
};

/* A domain. */
static struct model {
	struct tree		tree;
	struct cpu_batch	*batch;
	struct iova_domain	iovad;
	bool			wide;
} *models;

/* Which of the policies this is. */
static bool is_batched, is_percpu, has_magazines;
static struct list *lists;

static void insert(struct tree *tree, struct range *new)
{
	struct rb_node **link = &tree->root.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = new->lo < rb_entry(parent, struct range, node)->lo ?
		       &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&new->node, parent, link);
	rb_insert_color(&new->node, &tree->root);
}

/* Downwards from the last place. Nothing has to fit that does not do so there. */
static bool place(struct tree *tree, struct range *new, unsigned long pages)
{
	unsigned long mask = ~((1UL << order_base_2(pages)) - 1), end = TOP;
	struct rb_node *node = rb_last(&tree->root);

	if (tree->last) {
		end = tree->last->lo;
		node = rb_prev(&tree->last->node);
	}
	for (; node; node = rb_prev(node)) {
		struct range *range = rb_entry(node, struct range, node);

		if (end > pages && ((end - pages) & mask) > range->hi)
			break;
		end = range->lo;
	}
	if (end <= pages)
		return false;
	new->lo = (end - pages) & mask;
	new->hi = new->lo + pages - 1;
	insert(tree, new);
	tree->last = new;
	return true;
}

static void erase(struct tree *tree, struct range *old)
{
	struct rb_node *next;

	if (!tree->last || old->lo >= tree->last->lo) {
		next = rb_next(&old->node);
		tree->last = next ? rb_entry(next, struct range, node) : NULL;
	}
	rb_erase(&old->node, &tree->root);
}

/* Up to @nr ranges under one hold of the lock. */
static unsigned int tree_alloc(struct tree *tree, unsigned long pages,
			       struct range **range, unsigned int nr)
{
	unsigned int got, used;
	unsigned long flags;

	for (got = 0; got < nr; got++)
		range[got] = kmem_cache_alloc(tree->cache, GFP_ATOMIC);
	spin_lock_irqsave(&tree->lock, flags);
	for (used = 0; used < got; used++) {
		if (!place(tree, range[used], pages))
			break;
	}
	spin_unlock_irqrestore(&tree->lock, flags);
	while (got > used)
		kmem_cache_free(tree->cache, range[--got]);
	return used;
}

/* What the unmap needs is looked up under the lock. */
static struct range *tree_find(struct tree *tree, unsigned long pfn)
{
	struct rb_node *node;
	struct range *range;
	unsigned long flags;

	spin_lock_irqsave(&tree->lock, flags);
	node = tree->root.rb_node;
	for (;;) {
		range = rb_entry(node, struct range, node);
		if (pfn < range->lo)
			node = node->rb_left;
		else if (pfn > range->hi)
			node = node->rb_right;
		else
			break;
	}
	spin_unlock_irqrestore(&tree->lock, flags);
	return range;
}

static void free_each(struct list *list)
{
	unsigned long flags;
	unsigned int i;

	for (i = 0; i < list->nr; i++) {
		struct entry *entry = &list->entry[i];
		struct tree *tree = &entry->model->tree;

		if (has_magazines) {
			free_iova_fast(&entry->model->iovad, entry->pfn,
				       entry->pages);
			continue;
		}
		spin_lock_irqsave(&tree->lock, flags);
		erase(tree, entry->range);
		spin_unlock_irqrestore(&tree->lock, flags);
		kmem_cache_free(tree->cache, entry->range);
	}
}

/* Those of one domain in a row under one hold of its lock. */
static void free_batched(struct list *list)
{
	unsigned long flags;
	unsigned int i, from;

	for (from = 0; from < list->nr; from = i) {
		struct model *model = list->entry[from].model;

		spin_lock_irqsave(&model->tree.lock, flags);
		for (i = from; i < list->nr &&
		     list->entry[i].model == model; i++)
			erase(&model->tree, list->entry[i].range);
		spin_unlock_irqrestore(&model->tree.lock, flags);
	}
	for (i = 0; i < list->nr; i++)
		kmem_cache_free(list->entry[i].model->tree.cache,
				list->entry[i].range);
}

static void flush(struct list *list)
{
	if (!list->nr)
		return;
	ncpu_unit_poll();
	if (is_batched)
		free_batched(list);
	else
		free_each(list);
	list->nr = 0;
}

static void timeout(struct timer_list *timer)
{
	struct list *list = from_timer(list, timer, timer);
	unsigned long flags;

	spin_lock_irqsave(&list->lock, flags);
	list->timer_on = false;
	flush(list);
	spin_unlock_irqrestore(&list->lock, flags);
}

static void defer(struct entry entry)
{
	struct list *list = is_percpu ? raw_cpu_ptr(lists) : lists;
	unsigned long flags;

	spin_lock_irqsave(&list->lock, flags);
	if (list->nr == LIST_MAX)
		flush(list);
	list->entry[list->nr++] = entry;
	if (!list->timer_on) {
		list->timer_on = true;
		mod_timer(&list->timer, jiffies + TIMEOUT);
	}
	spin_unlock_irqrestore(&list->lock, flags);
}

static void begin(unsigned int nr)
{
	unsigned int i;

	ncpu_unit_begin();
	sim_check(!iova_cache_get(), "no caches");
	models = clock_memory(nr * sizeof(*models));
	for (i = 0; i < nr; i++) {
		struct model *m = &models[i];

		spin_lock_init(&m->tree.lock);
		m->tree.cache = kmem_cache_create("range", sizeof(struct range),
						  0, SLAB_HWCACHE_ALIGN, NULL);
		m->batch = __alloc_percpu(sizeof(*m->batch), 64);
		init_iova_domain(&m->iovad, PAGE_SIZE, 1);
		sim_check(!iova_domain_init_rcaches(&m->iovad), "no caches");
	}
	lists = __alloc_percpu(sizeof(*lists), 64);
	for_each_possible_cpu(i) {
		struct list *list = per_cpu_ptr(lists, i);

		spin_lock_init(&list->lock);
		timer_setup(&list->timer, timeout, 0);
	}
}

static void begin_tree(unsigned int nr, size_t range, bool strict)
{
	begin(nr);
}

static void begin_batched(unsigned int nr, size_t range, bool strict)
{
	is_batched = true;
	begin(nr);
}

static void begin_batched_percpu(unsigned int nr, size_t range, bool strict)
{
	is_percpu = true;
	begin_batched(nr, range, strict);
}

static void begin_magazines(unsigned int nr, size_t range, bool strict)
{
	is_percpu = true;
	has_magazines = true;
	begin(nr);
}

static unsigned long map_tree(unsigned int domain, unsigned long pages)
{
	struct model *m = &models[domain];
	struct cpu_batch *batch = raw_cpu_ptr(m->batch);
	struct range *range;

	if (!is_batched || pages > 1)
		return tree_alloc(&m->tree, pages, &range, 1) ? range->lo : 0;
	if (!batch->nr)
		batch->nr = tree_alloc(&m->tree, pages, batch->range, BATCH);
	return batch->nr ? batch->range[--batch->nr]->lo : 0;
}

static void unmap_tree(unsigned int domain, unsigned long pfn,
		       unsigned long pages)
{
	struct model *m = &models[domain];

	defer((struct entry) { m, tree_find(&m->tree, pfn) });
}

static unsigned long map_magazines(unsigned int domain, unsigned long pages)
{
	struct model *m = &models[domain];

	return ncpu_alloc(&m->iovad, &m->wide, pages);
}

static void unmap_magazines(unsigned int domain, unsigned long pfn,
			    unsigned long pages)
{
	defer((struct entry) { &models[domain], NULL, pfn, pages });
}

static const struct ncpu_policy tree = {
	"tree", "2015: a tree, one list", begin_tree, map_tree, unmap_tree,
};

static const struct ncpu_policy batched = {
	"batched", "Li: batches, one list", begin_batched, map_tree, unmap_tree,
};

static const struct ncpu_policy batched_percpu = {
	"batched-percpu", "Li, and a list each CPU", begin_batched_percpu,
	map_tree, unmap_tree,
};

static const struct ncpu_policy magazines = {
	"magazines", "2016: magazines, a list each CPU", begin_magazines,
	map_magazines, unmap_magazines,
};

const struct ncpu_policy *const ncpu_policies[] = {
	&ncpu_off, &tree, &batched, &batched_percpu, &magazines, &ncpu_stock,
	NULL
};
