// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks that are passed on in the order of arrival, as the kernel's are: who
 * arrives takes the lock's line from whoever has it, the one that unlocks takes
 * it back, and who is next learns of it a handoff later.
 */
#include <stdlib.h>

#include <linux/spinlock.h>

#include "clock.h"

/**
 * struct lock - the state of a lock
 * @class: who is accounted for it
 * @held: somebody has it
 * @since: when that began
 * @acquired: how often it was taken
 * @queue: CPUs that wait, in the order of arrival
 */
struct lock {
	unsigned int		class;
	bool			held;
	u64			since;
	unsigned long		acquired;
	struct list_head	queue;
};

static struct lock **locks;
static unsigned int nr_locks, locks_size;
static const char *classes[CLOCK_CLASSES];
static unsigned int outside_irqs_off;

const char *clock_lock_class(unsigned int class)
{
	return class < CLOCK_CLASSES ? classes[class] : NULL;
}

static unsigned int class_named(const char *name)
{
	unsigned int i;

	for (i = 0; i < CLOCK_CLASSES; i++) {
		if (!classes[i])
			classes[i] = name;
		if (!strcmp(classes[i], name))
			return i;
	}
	sim_die(__FILE__, __LINE__, "too many classes of locks");
}

void clock_lock_init(spinlock_t *lock, const char *name)
{
	struct lock *new = calloc(1, sizeof(*new));

	if (nr_locks + 1 >= locks_size) {
		locks_size = 2 * locks_size + 1024;
		locks = realloc(locks, locks_size * sizeof(*locks));
	}
	BUG_ON(!locks || !new);
	new->class = class_named(name);
	INIT_LIST_HEAD(&new->queue);
	lock->id = ++nr_locks;
	locks[lock->id] = new;
}

static struct lock *state(spinlock_t *lock)
{
	if (!lock->id)
		clock_lock_init(lock, "static");
	return locks[lock->id];
}

unsigned int clock_irqs_set(unsigned int off)
{
	unsigned int *place = clock_cpu ? &clock_cpu->irqs_off :
					  &outside_irqs_off;
	unsigned int old = *place;

	*place = off;
	if (clock_cpu && off && !old)
		clock_spend(CLOCK_WORK, cost[COST_IRQ]);
	return old;
}

bool clock_irqs_off(void)
{
	return clock_cpu ? clock_cpu->irqs_off : outside_irqs_off;
}

bool clock_lock_held(spinlock_t *lock)
{
	return state(lock)->held;
}

unsigned long clock_lock_acquired(spinlock_t *lock)
{
	return state(lock)->acquired;
}

static void taken(struct lock *s, u64 arrival)
{
	struct clock_lock_stats *stats;

	s->acquired++;
	if (!clock_cpu)
		return;
	stats = &clock_cpu->stats.lock[s->class];
	stats->taken++;
	if (clock_cpu->now > arrival) {
		stats->waited++;
		stats->wait += clock_cpu->now - arrival;
	}
	s->since = clock_cpu->now;
}

/*
 * Come to the lock, in turn; returns from when on it is waited for. Those who
 * come together queue for its line first.
 */
static u64 arrive(spinlock_t *lock)
{
	u64 arrival;

	if (!clock_cpu)
		return 0;
	arrival = clock_cpu->now + cost[COST_ATOMIC];
	clock_atomic(lock);
	return arrival;
}

void spin_lock(spinlock_t *lock)
{
	struct lock *s = state(lock);
	u64 arrival = arrive(lock);

	if (!s->held) {
		s->held = true;
	} else {
		BUG_ON(!clock_cpu);
		list_add_tail(&clock_cpu->wait, &s->queue);
		clock_block(CLOCK_LOCK);
	}
	taken(s, arrival);
}

bool spin_trylock(spinlock_t *lock)
{
	struct lock *s = state(lock);
	u64 arrival;

	clock_sync();
	if (s->held) {
		clock_read(lock);
		return false;
	}
	arrival = arrive(lock);
	s->held = true;
	taken(s, arrival);
	return true;
}

void spin_unlock(spinlock_t *lock)
{
	struct lock *s = state(lock);
	struct clock_cpu *next;

	BUG_ON(!s->held);
	if (!clock_cpu) {
		s->held = false;
		return;
	}
	/* Whoever came before this moment is in the queue. */
	clock_sync();
	clock_write(lock);
	/* What was stored before is seen before. */
	clock_drain();
	clock_cpu->stats.lock[s->class].held += clock_cpu->now - s->since;
	if (list_empty(&s->queue)) {
		s->held = false;
		return;
	}
	next = list_first_entry(&s->queue, struct clock_cpu, wait);
	list_del(&next->wait);
	clock_own(lock, next);
	clock_wake(next, clock_cpu->now + cost[COST_HANDOFF]);
}
