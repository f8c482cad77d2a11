// SPDX-License-Identifier: GPL-2.0-only
#include <linux/spinlock.h>

#define MAX_HELD	8
#define MAX_ORDERS	64

struct sim_locks sim_locks;

static spinlock_t *held[MAX_HELD];
static unsigned int nr_held;
static const char *orders[MAX_ORDERS][2];
static unsigned int nr_orders;

void sim_irqs_set(unsigned int off)
{
	bool change = off != sim_locks.irqs_off;

	if (change && !off && sim_locks.irqs_hook)
		sim_locks.irqs_hook(false);
	sim_locks.irqs_off = off;
	if (change && off && sim_locks.irqs_hook)
		sim_locks.irqs_hook(true);
}

static void record_order(const char *outer, const char *inner)
{
	unsigned int i;

	BUG_ON(!outer || !inner || !strcmp(outer, inner));

	for (i = 0; i < nr_orders; i++) {
		if (!strcmp(orders[i][0], outer) &&
		    !strcmp(orders[i][1], inner))
			return;
	}
	BUG_ON(nr_orders == MAX_ORDERS);
	orders[nr_orders][0] = outer;
	orders[nr_orders++][1] = inner;
}

bool sim_lock_order(unsigned int n, const char **outer, const char **inner)
{
	if (n >= nr_orders)
		return false;
	*outer = orders[n][0];
	*inner = orders[n][1];
	return true;
}

static void take(spinlock_t *lock)
{
	unsigned int i;

	BUG_ON(lock->held || nr_held == MAX_HELD);
	for (i = 0; i < nr_held; i++)
		record_order(held[i]->kind, lock->kind);
	held[nr_held++] = lock;
	lock->held = true;
	lock->acquired++;
}

bool spin_trylock(spinlock_t *lock)
{
	if (sim_locks.contended) {
		sim_locks.contended--;
		return false;
	}
	take(lock);
	return true;
}

void spin_lock(spinlock_t *lock)
{
	take(lock);
}

void spin_unlock(spinlock_t *lock)
{
	/* The latest first: none of the code here does it otherwise. */
	BUG_ON(!lock->held || held[nr_held - 1] != lock);
	lock->held = false;
	nr_held--;
}
