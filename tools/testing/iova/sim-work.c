// SPDX-License-Identifier: GPL-2.0-only
/*
 * Time, and work and timers that wait for it.
 */
#include <pthread.h>
#include <unistd.h>

#include <linux/preempt.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

#include "sim.h"

static pthread_mutex_t work_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_done = PTHREAD_COND_INITIALIZER;
static LIST_HEAD(queue);
static struct work_struct *running;
static pthread_t runner;
static unsigned long now;

unsigned long sim_jiffies(void)
{
	return READ_ONCE(now);
}

static void enqueue(struct work_struct *work, unsigned long due)
{
	WRITE_ONCE(work->pending, true);
	work->due = due;
	list_add_tail(&work->entry, &queue);
}

bool sim_queue_work(struct work_struct *work, unsigned long delay)
{
	bool queued = false;

	pthread_mutex_lock(&work_mutex);
	if (!work->pending) {
		enqueue(work, now + delay);
		queued = true;
	}
	pthread_mutex_unlock(&work_mutex);
	return queued;
}

void timer_reduce(struct timer_list *timer, unsigned long expires)
{
	pthread_mutex_lock(&work_mutex);
	if (!timer->shutdown && !timer->work.pending) {
		WRITE_ONCE(timer->cpu, sim_cpu);
		enqueue(&timer->work, expires);
	} else if (expires < timer->work.due) {
		timer->work.due = expires;
	}
	pthread_mutex_unlock(&work_mutex);
}

void timer_shutdown_sync(struct timer_list *timer)
{
	pthread_mutex_lock(&work_mutex);
	timer->shutdown = true;
	pthread_mutex_unlock(&work_mutex);
	cancel_work_sync(&timer->work);
}

/*
 * Timers of a CPU that is gone go to one that is there. Another CPU may arm it
 * again from the moment on when it is not pending any more.
 */
void sim_timer_run(struct work_struct *work)
{
	struct timer_list *timer = container_of(work, struct timer_list, work);
	unsigned int cpu = sim_cpu, on = READ_ONCE(timer->cpu);

	sim_cpu = cpu_online(on) ? on : 0;
	sim_in_interrupt = true;
	timer->function(timer);
	sim_in_interrupt = false;
	sim_cpu = cpu;
}

bool cancel_work_sync(struct work_struct *work)
{
	bool pending;

	might_sleep();
	pthread_mutex_lock(&work_mutex);
	do {
		pending = work->pending;
		if (pending) {
			list_del(&work->entry);
			WRITE_ONCE(work->pending, false);
		}
		if (running != work)
			break;
		/* It may queue itself once more before it ends. */
		sim_check(!pthread_equal(runner, pthread_self()), "itself");
		pthread_cond_wait(&work_done, &work_mutex);
	} while (1);
	pthread_mutex_unlock(&work_mutex);
	return pending;
}

/* Timers run in interrupts, before the work that is due with them. */
static bool before(struct work_struct *work, struct work_struct *other)
{
	if (work->due != other->due)
		return work->due < other->due;
	return work->func == sim_timer_run && other->func != sim_timer_run;
}

/* The work that is due first, by @until; NULL if there is none. */
static struct work_struct *first_due(unsigned long until)
{
	struct work_struct *work, *first = NULL;

	list_for_each_entry(work, &queue, entry) {
		if (work->due <= until && (!first || before(work, first)))
			first = work;
	}
	return first;
}

static bool run_one(unsigned long until)
{
	struct work_struct *work;

	pthread_mutex_lock(&work_mutex);
	work = first_due(until);
	if (work) {
		if (work->due > now && until != ~0UL)
			WRITE_ONCE(now, work->due);
		list_del(&work->entry);
		WRITE_ONCE(work->pending, false);
		running = work;
		runner = pthread_self();
		pthread_mutex_unlock(&work_mutex);

		work->func(work);

		pthread_mutex_lock(&work_mutex);
		running = NULL;
		pthread_cond_broadcast(&work_done);
	}
	pthread_mutex_unlock(&work_mutex);
	return work;
}

unsigned int sim_run_work(void)
{
	return sim_advance(0);
}

unsigned int sim_advance(unsigned long ms)
{
	unsigned long until = now + ms;
	unsigned int ran = 0;

	while (run_one(until))
		ran++;
	WRITE_ONCE(now, until);
	return ran;
}

bool sim_work_pending(void)
{
	return !list_empty(&queue);
}

void *sim_worker(void *stop)
{
	while (!READ_ONCE(*(bool *)stop)) {
		if (!run_one(~0UL))
			usleep(100);
	}
	return NULL;
}
