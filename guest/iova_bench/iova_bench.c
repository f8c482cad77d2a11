// SPDX-License-Identifier: GPL-2.0-only
/*
 * Latency of the IOVA allocator's search for free space in a fragmented domain,
 * through the exported interface alone, so that it can be built against any
 * kernel.
 *
 * A domain of its own is filled with @ranges one-page ranges from the top of the
 * 32-bit space down, and every second one is freed: no gap but the one at the
 * bottom takes two pages. Then, @calls times, the highest range is freed and
 * taken again, which makes an allocator that remembers where it was forget it,
 * and a two-page allocation is timed. What it returned is freed at once.
 *
 * The module measures while it is loaded; its parameters mean_ns and worst_ns
 * hold the result.
 */
#include <linux/dma-mapping.h>
#include <linux/iova.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

/* Highest pfn that an allocation may return, inclusive. */
#define LIMIT_PFN	(DMA_BIT_MASK(32) >> PAGE_SHIFT)

static unsigned int ranges = 10000;
module_param(ranges, uint, 0444);
MODULE_PARM_DESC(ranges, "one-page ranges, half of which are freed again");

static unsigned int calls = 100;
module_param(calls, uint, 0444);
MODULE_PARM_DESC(calls, "two-page allocations to time");

static ulong mean_ns;
module_param(mean_ns, ulong, 0444);
MODULE_PARM_DESC(mean_ns, "result: mean of one allocation, in ns");

static ulong worst_ns;
module_param(worst_ns, ulong, 0444);
MODULE_PARM_DESC(worst_ns, "result: longest allocation, in ns");

/* Fill the domain and free every second range, but not the highest. */
static int fragment(struct iova_domain *iovad, struct iova **live)
{
	unsigned int i;

	for (i = 0; i < ranges; i++) {
		live[i] = alloc_iova(iovad, 1, LIMIT_PFN, true);
		if (!live[i])
			return -ENOSPC;
		cond_resched();
	}
	for (i = 1; i < ranges; i += 2) {
		__free_iova(iovad, live[i]);
		cond_resched();
	}
	return 0;
}

/* Time one two-page allocation; 0 if it failed. */
static u64 time_search(struct iova_domain *iovad)
{
	struct iova *iova;
	u64 ns;

	ns = ktime_get_ns();
	iova = alloc_iova(iovad, 2, LIMIT_PFN, true);
	ns = ktime_get_ns() - ns;
	if (!iova)
		return 0;
	__free_iova(iovad, iova);
	return max(ns, 1);
}

static int measure(struct iova_domain *iovad, struct iova **live)
{
	u64 ns, sum = 0, worst = 0;
	unsigned int i;

	for (i = 0; i < calls; i++) {
		__free_iova(iovad, live[0]);
		live[0] = alloc_iova(iovad, 1, LIMIT_PFN, true);
		if (!live[0])
			return -ENOSPC;
		ns = time_search(iovad);
		if (!ns)
			return -ENOSPC;
		sum += ns;
		worst = max(worst, ns);
		cond_resched();
	}
	mean_ns = div_u64(sum, calls);
	worst_ns = worst;
	return 0;
}

static int __init iova_bench_init(void)
{
	struct iova_domain iovad;
	struct iova **live;
	int ret;

	if (!ranges || !calls || ranges > LIMIT_PFN / 2)
		return -EINVAL;

	live = vcalloc(ranges, sizeof(*live));
	if (!live)
		return -ENOMEM;

	ret = iova_cache_get();
	if (ret)
		goto out_free;

	init_iova_domain(&iovad, PAGE_SIZE, 1);
	ret = fragment(&iovad, live);
	if (!ret)
		ret = measure(&iovad, live);
	put_iova_domain(&iovad);
	iova_cache_put();
out_free:
	vfree(live);
	return ret;
}
module_init(iova_bench_init);

static void __exit iova_bench_exit(void)
{
}
module_exit(iova_bench_exit);

MODULE_DESCRIPTION("IOVA allocator: search latency in a fragmented domain");
MODULE_LICENSE("GPL");
