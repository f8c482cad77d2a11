// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers and work, on the CPU that has armed or queued them. A jiffy is 1 ms of
 * that CPU's clock. They run between two operations of the CPU, whose time they
 * take.
 */
#include <linux/preempt.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

#include "clock.h"

unsigned long sim_jiffies(void)
{
	return clock_cpu ? clock_cpu->now / CLOCK_MS : 0;
}

static void enqueue(struct work_struct *work, unsigned long due)
{
	BUG_ON(!clock_cpu);
	work->due = due;
	list_add_tail(&work->entry, &clock_cpu->timers);
}

bool sim_queue_work(struct work_struct *work, unsigned long delay)
{
	/* As the kernel does: the mark first, by an atomic. */
	clock_atomic(&work->pending);
	if (__atomic_exchange_n(&work->pending, true, __ATOMIC_SEQ_CST))
		return false;
	clock_spend(CLOCK_WORK, cost[COST_QUEUE_WORK]);
	enqueue(work, sim_jiffies() + delay);
	return true;
}

void timer_reduce(struct timer_list *timer, unsigned long expires)
{
	clock_write(timer);
	clock_spend(CLOCK_WORK, cost[COST_TIMER]);
	if (timer->shutdown)
		return;
	if (!__atomic_exchange_n(&timer->work.pending, true, __ATOMIC_SEQ_CST))
		enqueue(&timer->work, expires);
	else if (expires < timer->work.due)
		timer->work.due = expires;
}

void mod_timer(struct timer_list *timer, unsigned long expires)
{
	clock_write(timer);
	clock_spend(CLOCK_WORK, cost[COST_TIMER]);
	cancel_work_sync(&timer->work);
	timer->work.pending = true;
	enqueue(&timer->work, expires);
}

void timer_shutdown_sync(struct timer_list *timer)
{
	timer->shutdown = true;
	cancel_work_sync(&timer->work);
}

bool cancel_work_sync(struct work_struct *work)
{
	if (!work->pending)
		return false;
	list_del(&work->entry);
	work->pending = false;
	return true;
}

u64 clock_longest_timer;

void sim_timer_run(struct work_struct *work)
{
	struct timer_list *timer = container_of(work, struct timer_list, work);

	u64 begin = clock_cpu->now;

	clock_spend(CLOCK_WORK, cost[COST_SOFTIRQ]);
	sim_in_interrupt = true;
	timer->function(timer);
	sim_in_interrupt = false;
	clock_longest_timer = max(clock_longest_timer, clock_cpu->now - begin);
}

/* What is due first; a timer before work that is due with it. */
static struct work_struct *first_due(void)
{
	struct work_struct *work, *first = NULL;

	list_for_each_entry(work, &clock_cpu->timers, entry) {
		if (work->due > sim_jiffies())
			continue;
		if (!first || work->due < first->due ||
		    (work->due == first->due && work->func == sim_timer_run &&
		     first->func != sim_timer_run))
			first = work;
	}
	return first;
}

void clock_run_timers(void)
{
	struct work_struct *work;

	while ((work = first_due())) {
		cancel_work_sync(work);
		if (work->func != sim_timer_run)
			clock_spend(CLOCK_WORK, cost[COST_WORKER]);
		work->func(work);
	}
}

unsigned int sim_advance(unsigned long ms)
{
	if (clock_cpu) {
		clock_spend(CLOCK_IDLE, ms * CLOCK_MS);
		clock_run_timers();
	}
	return 0;
}
