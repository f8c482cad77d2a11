// SPDX-License-Identifier: GPL-2.0-only
/*
 * A model of a remapping unit, and of how 6.12 uses its invalidation queue. The
 * unit takes what the doorbell has told it of in order. A submission is two slots
 * of the ring: a descriptor, and the wait by which the unit tells that it is done.
 * The lock of the ring is held for the doorbell, and taken again for each look,
 * which reads the fault status as well.
 */
#include "ncpu.h"

/* Submissions that the ring has room for. */
#define ROOM	127
#define SLOTS	128

/**
 * struct unit - the queue, by cache lines
 * @q_lock: protects @head, @len and the descriptors
 * @head: submissions so far
 * @len: length of each
 * @rung: submissions that the unit knows of
 * @tail: submissions whose slots are free again
 * @desc: descriptors
 * @status: a word for each submission, which the unit writes
 * @done: when it does so; known once it was rung for
 * @busy_until: when the unit can begin the next
 */
static struct unit {
	spinlock_t	q_lock;	/* head, len, desc */
	unsigned int	head;
	unsigned char	len[2 * SLOTS];
	unsigned int	rung;
	unsigned int	tail ____cacheline_aligned_in_smp;
	u64		desc[SLOTS][4] ____cacheline_aligned_in_smp;
	unsigned int	status[2 * SLOTS] ____cacheline_aligned_in_smp;
	/* The unit's own: no CPU's time. */
	u64		done[SLOTS];
	u64		busy_until;
} *unit;

void ncpu_unit_begin(void)
{
	unit = clock_memory(sizeof(*unit));
	spin_lock_init(&unit->q_lock);
}

/* Tell the unit of all that was submitted. */
static void ring(void)
{
	clock_read(&unit->head);
	clock_spend(CLOCK_WORK, cost[COST_DOORBELL]);
	for (; unit->rung != unit->head; unit->rung++) {
		u64 begin = max(unit->busy_until, clock_cpu->now);

		unit->busy_until = begin + cost[COST_SERVICE];
		unit->done[unit->rung % SLOTS] = begin + cost[COST_LATENCY];
	}
	clock_write(&unit->rung);
}

static bool is_done(unsigned int pos)
{
	int behind = unit->rung - pos;

	/* Its slot may be another's by now. */
	return behind > SLOTS ||
	       (behind > 0 && unit->done[pos % SLOTS] <= clock_cpu->now);
}

static bool has_room(void)
{
	if (unit->head - unit->tail < ROOM)
		return true;
	while (unit->tail != unit->head && is_done(unit->tail))
		unit->tail++;
	clock_write(&unit->tail);
	return unit->head - unit->tail < ROOM;
}

/* Put a submission into the ring, whose lock is held. */
static unsigned int put(void)
{
	unsigned int pos = unit->head++;

	clock_write(&unit->desc[pos % SLOTS]);
	clock_write(&unit->desc[pos % SLOTS][2]);
	clock_write(&unit->status[2 * pos % (2 * SLOTS)]);
	clock_write(&unit->len[2 * pos % (2 * SLOTS)]);
	clock_write(&unit->head);
	clock_cpu->stats.flushes++;
	return pos;
}

void ncpu_unit_poll(void)
{
	unsigned long flags;
	unsigned int pos;

	spin_lock_irqsave(&unit->q_lock, flags);
	while (!has_room()) {
		spin_unlock(&unit->q_lock);
		clock_spend(CLOCK_FLUSH, NCPU_RELAX);
		spin_lock(&unit->q_lock);
	}
	pos = put();
	ring();
	while (!is_done(pos)) {
		/* The fault status, with the lock held. */
		clock_spend(CLOCK_FLUSH, cost[COST_MMIO_READ]);
		spin_unlock(&unit->q_lock);
		clock_spend(CLOCK_FLUSH, NCPU_RELAX);
		spin_lock(&unit->q_lock);
	}
	spin_unlock_irqrestore(&unit->q_lock, flags);
}
