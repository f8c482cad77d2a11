// SPDX-License-Identifier: GPL-2.0-only
/*
 * The series' own invalidation queue, drivers/iommu/intel/qi-ring.c, on a unit
 * whose time is the simulation's. The unit takes what the doorbell has told it of
 * in order: it begins an invalidation when it has served the one before, and has
 * done it a latency later. A wait descriptor is done when all before it is, and
 * writes its word to memory then: whoever polls that word has to fetch its line
 * again.
 *
 * Registers and memory change when a CPU looks whose clock has come that far.
 */
#include <intel/iommu.h>

#include "../../../drivers/iommu/intel/qi-ring.h"
#include "ncpu.h"

#define SHIFT	DMAR_IQ_SHIFT

/* A wait descriptor's. */
struct word {
	u32	*at;
	u32	value;
	u64	due;
};

/**
 * struct unit - the unit, and its queue
 * @ring: the queue
 * @reg: where its registers would be
 * @desc: descriptors
 * @fetched: slot up to which the unit has read them
 * @free_at: when it can begin another invalidation
 * @done_at: when it has done all that it has begun
 * @word: what it will write, in order
 * @first: number of the oldest of these
 * @last: number that the next one gets
 * @busy: taken by who looks, where CPUs are threads
 */
static struct unit {
	struct qi_ring	ring;
	char		reg[256];
	char		desc[QI_RING_SLOTS << SHIFT];
	unsigned int	fetched;
	u64		free_at;
	u64		done_at;
	struct word	word[QI_RING_SLOTS];
	unsigned int	first;
	unsigned int	last;
	bool		busy;
} *unit;

static void lock(void)
{
	while (__atomic_exchange_n(&unit->busy, true, __ATOMIC_ACQUIRE))
		;
}

static void unlock(void)
{
	__atomic_store_n(&unit->busy, false, __ATOMIC_RELEASE);
}

static struct word *word_at(unsigned int number)
{
	return &unit->word[number % QI_RING_SLOTS];
}

static void fetch(const struct qi_desc *desc, u64 now)
{
	if ((desc->qw0 & 0xf) == QI_IWD_TYPE) {
		*word_at(unit->last++) = (struct word) {
			.at = (u32 *)(unsigned long)desc->qw1,
			.value = desc->qw0 >> 32,
			.due = max(unit->done_at, now),
		};
		return;
	}
	now = max(unit->free_at, now);
	unit->free_at = now + cost[COST_SERVICE];
	unit->done_at = now + cost[COST_LATENCY];
}

/* Let memory have what the unit has written by now; when it writes next. */
static u64 catch_up(void)
{
	struct word *word;
	u64 next = 0;

	lock();
	while (unit->first != unit->last) {
		word = word_at(unit->first);
		if (word->due > clock_cpu->now) {
			next = word->due;
			break;
		}
		__atomic_store_n(word->at, word->value, __ATOMIC_RELEASE);
		clock_device_wrote(word->at);
		unit->first++;
	}
	unlock();
	return next;
}

void writel(u32 value, void *reg)
{
	sim_check(reg == unit->reg + DMAR_IQT_REG, "%#zx",
		  (size_t)(reg - (void *)unit->reg));
	clock_sync();
	clock_spend(CLOCK_WORK, cost[COST_DOORBELL]);
	catch_up();
	lock();
	while (unit->fetched != value >> SHIFT) {
		fetch((void *)&unit->desc[unit->fetched << SHIFT],
		      clock_cpu->now);
		unit->fetched = (unit->fetched + 1) % QI_RING_SLOTS;
	}
	unlock();
}

/* No faults. */
u32 readl(const void *reg)
{
	clock_spend(CLOCK_FLUSH, cost[COST_MMIO_READ]);
	return 0;
}

u64 readq(const void *reg)
{
	return readl(reg);
}

u64 get_cycles(void)
{
	return clock_cpu->now / 1000;
}

/* Until the unit writes next, but for what others may tell it of meanwhile. */
void sim_relax(void)
{
	u64 next = catch_up();

	clock_spend_until(CLOCK_FLUSH, max(next, clock_cpu->now + NCPU_RELAX));
	clock_sync();
	catch_up();
}

void ncpu_qi_begin(void)
{
	unit = clock_memory(sizeof(*unit));
	sim_check(!qi_ring_init(&unit->ring, unit->reg, unit->desc, SHIFT,
				GFP_KERNEL), "no memory");
	/* Its positions begin at a multiple of the ring's size. */
	unit->fetched = unit->ring.head % QI_RING_SLOTS;
}

void ncpu_qi_flush(void)
{
	static const struct qi_desc desc = { .qw0 = QI_IOTLB_TYPE };
	struct qi_ticket ticket;

	clock_cpu->stats.flushes++;
	qi_ring_submit(&unit->ring, &desc, 1, 0, &ticket);
	sim_check(!qi_ring_wait(&unit->ring, &ticket), "a fault");
}
