/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Simulated CPUs, each with a clock of its own. Time is virtual, in picoseconds.
 *
 * One thread plays all CPUs; each has a stack, and the one with the lowest clock
 * goes on (of several, the one with the lowest number). A CPU runs ahead of the
 * others only while it reads and writes lines that no other CPU has; locks,
 * atomics and all that others could see it does in its turn. A run depends on
 * nothing but its arguments.
 */
#ifndef _CLOCK_H
#define _CLOCK_H

#include <setjmp.h>

#include <linux/list.h>
#include <sim/random.h>

#include "cost.h"
#include "sim.h"

#define CLOCK_US	1000000ull
#define CLOCK_MS	1000000000ull
/* Lock classes whose time is kept apart. */
#define CLOCK_CLASSES	16

/**
 * enum clock_kind - what a CPU's time went into
 * @CLOCK_DRIVER: what a driver does whether the IOMMU is on or off
 * @CLOCK_PTE: the page table
 * @CLOCK_WORK: the code under test, as if the CPU were alone
 * @CLOCK_MOVE: waits for cache lines
 * @CLOCK_LOCK: waits for locks
 * @CLOCK_FLUSH: waits for the invalidation unit
 * @CLOCK_IDLE: nothing to do
 * @CLOCK_KINDS: how many there are
 */
enum clock_kind {
	CLOCK_DRIVER,
	CLOCK_PTE,
	CLOCK_WORK,
	CLOCK_MOVE,
	CLOCK_LOCK,
	CLOCK_FLUSH,
	CLOCK_IDLE,
	CLOCK_KINDS,
};

/**
 * struct clock_lock_stats - what a CPU has done with the locks of a class
 * @taken: acquisitions
 * @waited: acquisitions that found it held
 * @wait: time until it was had, the way of its line included
 * @held: time until it was released
 */
struct clock_lock_stats {
	u64	taken;
	u64	waited;
	u64	wait;
	u64	held;
};

/**
 * struct clock_stats - since the CPU's clock passed the begin of the measurement
 * @time: by kind
 * @lock: by class
 * @accesses: memory accesses of the code under test
 * @moves: lines that came from another CPU
 * @ops: operations, for the workload
 * @flushes: invalidations, for the unit
 */
struct clock_stats {
	u64			time[CLOCK_KINDS];
	struct clock_lock_stats	lock[CLOCK_CLASSES];
	u64			accesses;
	u64			moves;
	u64			ops;
	u64			flushes;
};

/**
 * struct clock_cpu - a CPU
 * @id: its number
 * @now: its clock
 * @stored: when the last of its stores has its line
 * @stats: what it has done
 * @random: state of its own generator
 * @irqs_off: interrupts are off
 * @preempt_off: value of sim_preempt_off while it does not run
 * @in_interrupt: that of sim_in_interrupt
 * @timers: timers and work that wait for their time on this CPU
 * @wait: in the queue of a lock
 */
struct clock_cpu {
	unsigned int		id;
	u64			now;
	u64			stored;
	struct clock_stats	stats;
	u64			random;
	unsigned int		irqs_off;
	unsigned int		preempt_off;
	bool			in_interrupt;
	struct list_head	timers;
	struct list_head	wait;
	/* Private to clock.c. */
	jmp_buf			context;
	void			*stack;
	bool			started;
	bool			finished;
};

/* Where each CPU is a thread, each knows its own. */
#ifdef CLOCK_REAL
#define CLOCK_THREAD	_Thread_local
#else
#define CLOCK_THREAD
#endif

/* Who runs; NULL while none does, and nothing costs anything. */
extern CLOCK_THREAD struct clock_cpu *clock_cpu;
extern struct clock_cpu clock_cpus[SIM_CPUS_MAX];

/* Have @nr CPUs run @main from clock zero, each until it returns. */
void clock_run(unsigned int nr, void (*main)(void));
/* Let CPUs with lower clocks come first. */
void clock_sync(void);
/* Spend @time, which must not be seen by others. */
void clock_spend(enum clock_kind kind, u64 time);
/* Spend what is left until @until. */
void clock_spend_until(enum clock_kind kind, u64 until);
/* Give up this CPU until clock_wake(), and its time to @kind. */
void clock_block(enum clock_kind kind);
/* Let a blocked CPU go on, no earlier than at @at. */
void clock_wake(struct clock_cpu *cpu, u64 at);
/* 0 to @n - 1, from the CPU's own generator. */
static inline u64 clock_random_below(u64 n)
{
	return (sim_xorshift(&clock_cpu->random) >> 11) % n;
}

/* line.c: memory whose cache lines are known, never given back. */
void *clock_memory(size_t size);
/* A line's change or use by the CPU that runs. */
void clock_read(const void *addr);
void clock_write(void *addr);
void clock_atomic(void *addr);
/* Have all stores been seen. */
void clock_drain(void);
/* All that is written at once, such as zeroes. */
void clock_write_range(void *addr, size_t size);
/* The line is this CPU's as the result of a transfer already paid for. */
void clock_own(void *addr, struct clock_cpu *cpu);

/* The line was written to by a device. */
void clock_device_wrote(void *addr);

/* lock.c */
/* The name of a class as spin_lock_init() has it; NULL beyond the last. */
const char *clock_lock_class(unsigned int class);

/* timer.c: run what is due on this CPU, between two operations. */
void clock_run_timers(void);
/* What the longest call of a timer took, of all CPUs. */
extern u64 clock_longest_timer;

#endif
