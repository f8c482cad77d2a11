// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs and their turns. Those that can go on stand in a heap, by clock and
 * number; the one that runs does not.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <linux/preempt.h>

#include "clock.h"

#define STACK_SIZE	(256UL << 10)

struct clock_cpu *clock_cpu;
struct clock_cpu clock_cpus[SIM_CPUS_MAX];

static struct clock_cpu *heap[SIM_CPUS_MAX];
static unsigned int heap_size;
static jmp_buf outside;
static void (*cpu_main)(void);
static ucontext_t start_context, back_context;

static bool earlier(const struct clock_cpu *a, const struct clock_cpu *b)
{
	return a->now != b->now ? a->now < b->now : a->id < b->id;
}

static void heap_push(struct clock_cpu *cpu)
{
	unsigned int i = heap_size++;

	for (; i && earlier(cpu, heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = cpu;
}

/* Put @cpu at the top, and let it sink. */
static void heap_sink(struct clock_cpu *cpu)
{
	unsigned int i = 0, child;

	while ((child = 2 * i + 1) < heap_size) {
		if (child + 1 < heap_size &&
		    earlier(heap[child + 1], heap[child]))
			child++;
		if (!earlier(heap[child], cpu))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = cpu;
}

static struct clock_cpu *heap_pop(void)
{
	struct clock_cpu *first = heap[0];

	if (--heap_size)
		heap_sink(heap[heap_size]);
	return first;
}

static void begin_cpu(void)
{
	cpu_main();
	clock_cpu->finished = true;
	clock_block(CLOCK_IDLE);
}

static void __attribute__((__noreturn__)) resume(struct clock_cpu *cpu)
{
	clock_cpu = cpu;
	sim_cpu = cpu->id;
	sim_preempt_off = cpu->preempt_off;
	sim_in_interrupt = cpu->in_interrupt;
	if (cpu->started)
		_longjmp(cpu->context, 1);

	cpu->started = true;
	getcontext(&start_context);
	start_context.uc_stack.ss_sp = cpu->stack;
	start_context.uc_stack.ss_size = STACK_SIZE;
	start_context.uc_link = &back_context;
	makecontext(&start_context, begin_cpu, 0);
	setcontext(&start_context);
	abort();
}

/* Leave this CPU, whose place in the heap or elsewhere is known, for @next. */
static void switch_to(struct clock_cpu *next)
{
	struct clock_cpu *cpu = clock_cpu;

	cpu->preempt_off = sim_preempt_off;
	cpu->in_interrupt = sim_in_interrupt;
	if (!_setjmp(cpu->context))
		resume(next);
}

void clock_sync(void)
{
	struct clock_cpu *cpu = clock_cpu, *next = heap[0];

	if (!cpu || !heap_size || earlier(cpu, next))
		return;
	heap_sink(cpu);
	switch_to(next);
}

void clock_spend(enum clock_kind kind, u64 time)
{
	clock_cpu->now += time;
	clock_cpu->stats.time[kind] += time;
}

void clock_spend_until(enum clock_kind kind, u64 until)
{
	if (until > clock_cpu->now)
		clock_spend(kind, until - clock_cpu->now);
}

void clock_block(enum clock_kind kind)
{
	struct clock_cpu *cpu = clock_cpu;
	u64 since = cpu->now;

	if (heap_size)
		switch_to(heap_pop());
	else
		_longjmp(outside, 1);
	/* clock_wake() has set the clock. */
	cpu->stats.time[kind] += cpu->now - since;
}

void clock_wake(struct clock_cpu *cpu, u64 at)
{
	cpu->now = max(cpu->now, at);
	heap_push(cpu);
}

static void init_cpu(struct clock_cpu *cpu, unsigned int id)
{
	void *stack = cpu->stack;

	if (!stack)
		stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	sim_check(stack != MAP_FAILED, "no stack");
	*cpu = (struct clock_cpu) {
		.id = id,
		.stack = stack,
		.random = (id + 1) * 0x9e3779b97f4a7c15ull,
	};
	INIT_LIST_HEAD(&cpu->timers);
}

void clock_run(unsigned int nr, void (*main)(void))
{
	unsigned int i;

	sim_check(!clock_cpu && nr <= SIM_CPUS_MAX, "%u", nr);
	cpu_main = main;
	heap_size = 0;
	for (i = 0; i < nr; i++) {
		init_cpu(&clock_cpus[i], i);
		heap_push(&clock_cpus[i]);
	}
	if (!_setjmp(outside))
		resume(heap_pop());

	clock_cpu = NULL;
	sim_cpu = 0;
	sim_preempt_off = 0;
	sim_in_interrupt = false;
	for (i = 0; i < nr; i++)
		sim_check(clock_cpus[i].finished, "CPU %u is stuck", i);
}
