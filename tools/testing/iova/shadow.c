// SPDX-License-Identifier: GPL-2.0-only
/*
 * A bit for each page, which is set while somebody has been given the page.
 * Atomic, so that threads may use it as well.
 */
#include "world.h"

static unsigned long shadow[SHADOW_PFNS / BITS_PER_LONG];
static long taken;

/* The bits of one word that [pfn, pfn + pages) begins with. */
static unsigned long first_bits(unsigned long pfn, unsigned long pages)
{
	unsigned long bit = pfn % BITS_PER_LONG;
	unsigned long nr = min(pages, BITS_PER_LONG - bit);

	return (~0UL >> (BITS_PER_LONG - nr)) << bit;
}

void shadow_take(unsigned long pfn, unsigned long pages)
{
	unsigned long bits, old, *word;

	sim_check(pages && pfn < SHADOW_PFNS && pages <= SHADOW_PFNS - pfn,
		  "%#lx + %lu", pfn, pages);
	__atomic_fetch_add(&taken, pages, __ATOMIC_RELAXED);
	for (; pages; pfn += hweight_long(bits), pages -= hweight_long(bits)) {
		bits = first_bits(pfn, pages);
		word = &shadow[pfn / BITS_PER_LONG];
		old = __atomic_fetch_or(word, bits, __ATOMIC_ACQ_REL);
		sim_check(!(old & bits), "%#lx is handed out twice",
			  pfn / BITS_PER_LONG * BITS_PER_LONG +
			  __ffs(old & bits));
	}
}

void shadow_give(unsigned long pfn, unsigned long pages)
{
	unsigned long bits, old, *word;

	__atomic_fetch_sub(&taken, pages, __ATOMIC_RELAXED);
	for (; pages; pfn += hweight_long(bits), pages -= hweight_long(bits)) {
		bits = first_bits(pfn, pages);
		word = &shadow[pfn / BITS_PER_LONG];
		old = __atomic_fetch_and(word, ~bits, __ATOMIC_ACQ_REL);
		sim_check((old & bits) == bits, "%#lx is nobody's", pfn);
	}
}

unsigned long shadow_taken(void)
{
	return __atomic_load_n(&taken, __ATOMIC_RELAXED);
}

unsigned long map_alloc(struct iova_domain *iovad, unsigned long pages,
			unsigned long limit, bool flush)
{
	unsigned long pfn = alloc_iova_fast(iovad, pages, limit, flush);
	unsigned long align = roundup_pow_of_two(pages);

	if (!pfn)
		return 0;
	sim_check(pfn >= iovad->start_pfn, "%#lx", pfn);
	sim_check(pages - 1 <= limit && pfn <= limit - (pages - 1),
		  "%#lx + %lu is above %#lx", pfn, pages, limit);
	sim_check(!(pfn % align), "%#lx for %lu pages", pfn, pages);
	shadow_take(pfn, pages);
	return pfn;
}

void map_free(struct iova_domain *iovad, unsigned long pfn,
	      unsigned long pages)
{
	unsigned long calls = READ_ONCE(sim_memory.calls);

	shadow_give(pfn, pages);
	free_iova_fast(iovad, pfn, pages);
#ifndef __SANITIZE_THREAD__
	sim_check(sim_memory.calls == calls, "a free allocates");
#endif
	(void)calls;
}
