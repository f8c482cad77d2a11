// SPDX-License-Identifier: GPL-2.0-only
/*
 * Life cycle of a domain's magazine caches, CPU hotplug, and the cached range.
 *
 * One hotplug state serves all domains, through a list of them. Making a domain
 * therefore takes no hotplug lock, and callers may hold any lock of theirs that
 * is not itself taken inside cpu_hotplug_lock by way of iova_rcache_mutex:
 *
 *   cpu_hotplug_lock -> iova_rcache_mutex -> (CPU, depot and tree locks)
 *
 * Invariants:
 *
 * S1  A domain is on the list from the end of iova_domain_init_rcaches() to the
 *     start of iova_domain_free_rcaches(). The mutex keeps a domain on the list
 *     while a callback works on it.
 * S2  The callback for a CPU that is gone marks the CPU's part dead under its
 *     lock before it drains, so that a task that is late finds no place to park.
 *     The mark goes when the CPU comes back.
 */
#include <linux/export.h>

#include "iova-internal.h"

static DEFINE_MUTEX(iova_rcache_mutex);
static LIST_HEAD(iova_rcache_list);

/* Largest order that a granule allows: IOVA_CACHED_MAX, but the default fits. */
static unsigned int order_max(unsigned int shift)
{
	unsigned int max_shift = ilog2(IOVA_CACHED_MAX);

	return clamp(max_shift > shift ? max_shift - shift : 0,
		     IOVA_ORDER_DEFAULT, IOVA_NR_ORDERS - 1);
}

/**
 * iova_rcache_range - what is cached unless told otherwise
 *
 * Return: bytes, for a domain whose granule is PAGE_SIZE.
 */
unsigned long iova_rcache_range(void)
{
	return PAGE_SIZE << IOVA_ORDER_DEFAULT;
}
EXPORT_SYMBOL_GPL(iova_rcache_range);

/**
 * iova_rcache_range_max - the most that can be cached
 *
 * Return: bytes, for a domain whose granule is PAGE_SIZE.
 */
unsigned long iova_rcache_range_max(void)
{
	return PAGE_SIZE << order_max(PAGE_SHIFT);
}
EXPORT_SYMBOL_GPL(iova_rcache_range_max);

static struct iova_rcache *rcache_alloc(struct iova_domain *iovad)
{
	struct iova_rcache *rcache;

	rcache = kzalloc(struct_size(rcache, cpu, nr_cpu_ids), GFP_KERNEL);
	if (!rcache)
		return NULL;
	rcache->want_cpu = bitmap_zalloc(nr_cpu_ids, GFP_KERNEL);
	if (!rcache->want_cpu) {
		kfree(rcache);
		return NULL;
	}

	rcache->iovad = iovad;
	rcache->order_max = order_max(iova_shift(iovad));
	rcache->order = IOVA_ORDER_DEFAULT;
	INIT_WORK(&rcache->supply, iova_depot_supply_work);
	INIT_DELAYED_WORK(&rcache->trim, iova_depot_trim_work);
	iova_depots_init(rcache);
	return rcache;
}

/**
 * iova_domain_init_rcaches - give a domain magazine caches
 * @iovad: domain from init_iova_domain(), with a start_pfn above 0
 *
 * Allocates an array of pointers; magazines come with their first use.
 *
 * Context: process context, may sleep. Nobody may allocate from the domain yet.
 * Return: 0; -ENOMEM; -EINVAL where pfn 0, which alloc_iova_fast() returns for
 * failure, could be allocated.
 */
int iova_domain_init_rcaches(struct iova_domain *iovad)
{
	struct iova_rcache *rcache;

	if (WARN_ON(!iovad->start_pfn))
		return -EINVAL;

	rcache = rcache_alloc(iovad);
	if (!rcache)
		return -ENOMEM;

	iovad->rcache = rcache;
	mutex_lock(&iova_rcache_mutex);
	list_add(&rcache->list, &iova_rcache_list);
	mutex_unlock(&iova_rcache_mutex);
	return 0;
}
EXPORT_SYMBOL_GPL(iova_domain_init_rcaches);

static void cpu_rcache_free(struct iova_cpu_rcache *cpu)
{
	unsigned int order;

	for (order = 0; cpu && order < IOVA_NR_ORDERS; order++) {
		kfree(cpu->loaded[order]);
		kfree(cpu->class[order].prev);
	}
	kfree(cpu);
}

/**
 * iova_domain_free_rcaches - take a domain's caches down
 * @iovad: domain, with or without caches; nobody may use it any more
 *
 * The ranges in them stay live, for the tree to be torn down with.
 *
 * Context: process context, may sleep.
 */
void iova_domain_free_rcaches(struct iova_domain *iovad)
{
	struct iova_rcache *rcache = iovad->rcache;
	unsigned int i;

	if (!rcache)
		return;

	mutex_lock(&iova_rcache_mutex);
	list_del(&rcache->list);
	mutex_unlock(&iova_rcache_mutex);

	/* In this order: see D5 in iova-depot.c. */
	cancel_work_sync(&rcache->supply);
	cancel_delayed_work_sync(&rcache->trim);

	for (i = 0; i < nr_cpu_ids; i++)
		cpu_rcache_free(rcache->cpu[i]);
	iova_depots_destroy(rcache);

	iovad->rcache = NULL;
	bitmap_free(rcache->want_cpu);
	kfree(rcache);
}

/* Give back what is parked in classes from @from on: R5 in iova-rcache.c. */
static void drain_above(struct iova_rcache *rcache, unsigned int from)
{
	unsigned int i;

	/* CPUs first: they may still push full magazines to the depot. */
	for (i = 0; i < nr_cpu_ids; i++) {
		iova_cpu_rcache_drain(rcache, i, from, true);
		cond_resched();
	}
	for (i = from; i <= rcache->order_max; i++) {
		while (iova_depot_drain(rcache, i))
			cond_resched();
	}
}

/**
 * iova_domain_set_cached_range - set the largest size that is cached
 * @iovad: domain
 * @bytes: rounded up to a power of two of granules; 0 for the default
 *
 * Takes effect at once, whatever is live. A range allocated under another
 * setting is freed by its true extent where the two disagree.
 *
 * Context: process context, may sleep. Calls on one domain are serialised by
 * the caller; allocations and frees may run.
 * Return: 0; -EINVAL without change where @bytes is too much or the domain has
 * no caches.
 */
int iova_domain_set_cached_range(struct iova_domain *iovad, size_t bytes)
{
	struct iova_rcache *rcache = iovad->rcache;
	unsigned int order = IOVA_ORDER_DEFAULT, old;

	if (!rcache)
		return -EINVAL;
	if (bytes > iovad->granule << rcache->order_max)
		return -EINVAL;
	if (bytes)
		order = order_base_2(DIV_ROUND_UP(bytes, iovad->granule));

	old = rcache->order;
	WRITE_ONCE(rcache->order, order);
	if (order < old)
		drain_above(rcache, order + 1);
	return 0;
}
EXPORT_SYMBOL_GPL(iova_domain_set_cached_range);

/**
 * iova_domain_cached_range - the largest size that is cached
 * @iovad: domain
 *
 * Context: any.
 * Return: bytes; 0 for a domain without caches.
 */
size_t iova_domain_cached_range(struct iova_domain *iovad)
{
	struct iova_rcache *rcache = iovad->rcache;

	return rcache ? iovad->granule << READ_ONCE(rcache->order) : 0;
}
EXPORT_SYMBOL_GPL(iova_domain_cached_range);

static void set_dead(struct iova_rcache *rcache, unsigned int cpu, bool dead)
{
	struct iova_cpu_rcache *cpu_rcache = READ_ONCE(rcache->cpu[cpu]);

	if (!cpu_rcache)
		return;
	spin_lock_irq(&cpu_rcache->lock);
	cpu_rcache->dead = dead;
	spin_unlock_irq(&cpu_rcache->lock);
}

static int iova_cpu_starting(unsigned int cpu)
{
	struct iova_rcache *rcache;

	mutex_lock(&iova_rcache_mutex);
	list_for_each_entry(rcache, &iova_rcache_list, list)
		set_dead(rcache, cpu, false);
	mutex_unlock(&iova_rcache_mutex);
	return 0;
}

static int iova_cpu_dead(unsigned int cpu)
{
	struct iova_rcache *rcache;

	mutex_lock(&iova_rcache_mutex);
	list_for_each_entry(rcache, &iova_rcache_list, list) {
		set_dead(rcache, cpu, true);
		iova_cpu_rcache_drain(rcache, cpu, 0, true);
	}
	mutex_unlock(&iova_rcache_mutex);
	return 0;
}

/**
 * iova_rcache_hotplug_init - watch CPUs come and go, for all domains
 *
 * Context: process context, may sleep.
 * Return: 0 or a negative error code.
 */
int iova_rcache_hotplug_init(void)
{
	return cpuhp_setup_state_nocalls(CPUHP_IOMMU_IOVA_DEAD,
					 "iommu/iova:dead", iova_cpu_starting,
					 iova_cpu_dead);
}

/**
 * iova_rcache_hotplug_exit - stop watching; no domain with caches is left
 *
 * Context: process context, may sleep.
 */
void iova_rcache_hotplug_exit(void)
{
	cpuhp_remove_state_nocalls(CPUHP_IOMMU_IOVA_DEAD);
}
