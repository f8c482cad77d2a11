// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <ucontext.h>

#include "qi-tasks.h"

#define STACK	(256 * 1024)

/**
 * struct task - what runs while it is told so
 * @context: where it is, while another runs
 * @stack: its stack
 * @clock: its time, nanoseconds
 * @off_since: when its interrupts went off
 * @irqs_off: they are off; while another task runs
 * @alive: it has not ended
 */
struct task {
	ucontext_t	context;
	void		*stack;
	u64		clock;
	u64		off_since;
	unsigned int	irqs_off;
	bool		alive;
};

struct qi_tasks qi_tasks;

static struct task tasks[QI_TASKS];
/* Before and after tasks run, it is the test itself. */
static unsigned int current;
static bool running;
static void (*task_fn)(unsigned int task);
static ucontext_t test;

static void irqs(bool off)
{
	struct task *task = &tasks[current];

	if (off)
		task->off_since = task->clock;
	else if (task->clock - task->off_since > qi_tasks.longest_off)
		qi_tasks.longest_off = task->clock - task->off_since;
}

u64 qi_now(void)
{
	return tasks[current].clock;
}

u64 get_cycles(void)
{
	return qi_now();
}

void qi_spend(u64 ns)
{
	tasks[current].clock += ns;
}

unsigned int qi_task(void)
{
	return current;
}

/* The task that is furthest back; QI_TASKS for none. */
static unsigned int last_task(void)
{
	unsigned int i, last = QI_TASKS;

	for (i = 0; i < QI_TASKS; i++) {
		if (tasks[i].alive && (last == QI_TASKS ||
				       tasks[i].clock < tasks[last].clock))
			last = i;
	}
	return last;
}

void sim_relax(void)
{
	unsigned int me = current;

	tasks[me].clock += QI_RELAX;
	if (running) {
		tasks[me].irqs_off = sim_locks.irqs_off;
		current = last_task();
		sim_locks.irqs_off = tasks[current].irqs_off;
		if (current != me)
			swapcontext(&tasks[me].context,
				    &tasks[current].context);
	}
	qi_unit_advance(tasks[me].clock);
}

static void run(void)
{
	unsigned int me = current;

	qi_unit_advance(tasks[me].clock);
	task_fn(me);
	tasks[me].alive = false;
	current = last_task();
	if (current == QI_TASKS)
		setcontext(&test);
	sim_locks.irqs_off = tasks[current].irqs_off;
	setcontext(&tasks[current].context);
}

static void start(struct task *task, u64 clock)
{
	*task = (struct task) {
		.stack = malloc(STACK),
		.clock = clock,
		.alive = true,
	};
	BUG_ON(!task->stack || getcontext(&task->context));
	task->context.uc_stack.ss_sp = task->stack;
	task->context.uc_stack.ss_size = STACK;
	makecontext(&task->context, run, 0);
}

void qi_tasks_begin(void)
{
	memset(tasks, 0, sizeof(tasks));
	current = 0;
	qi_tasks = (struct qi_tasks) {};
	sim_locks.irqs_hook = irqs;
}

void qi_tasks_run(unsigned int nr, void (*fn)(unsigned int task))
{
	u64 begin = qi_now(), end = begin;
	unsigned int i;

	BUG_ON(!nr || nr > QI_TASKS);
	task_fn = fn;
	for (i = 0; i < nr; i++)
		start(&tasks[i], begin);
	running = true;
	current = 0;
	swapcontext(&test, &tasks[0].context);
	running = false;
	for (i = 0; i < nr; i++) {
		free(tasks[i].stack);
		if (tasks[i].clock > end)
			end = tasks[i].clock;
	}
	current = 0;
	tasks[0].clock = end;
}
