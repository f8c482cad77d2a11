/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The world that the allocator's files run in here: what a test can see of it,
 * and what it can make happen. The stand-in headers in include/ declare what
 * the allocator itself uses.
 *
 * One thread can play all CPUs: it sets sim_cpu, and nothing else runs until it
 * says so. With threads, each has a sim_cpu of its own.
 */
#ifndef _SIM_H
#define _SIM_H

#include <linux/cpumask.h>
#include <linux/kernel.h>

#define SIM_CPUS_MAX	256

/* Fail with a line that says where and what. */
#define sim_check(condition, fmt, ...) do {				\
	if (unlikely(!(condition)))					\
		sim_die(__FILE__, __LINE__, "%s: " fmt, #condition,	\
			##__VA_ARGS__);					\
} while (0)

/* Printed with each failure, so that it can be repeated. */
extern _Thread_local unsigned long sim_seed;

/* xorshift64*, from sim_seed on. */
u64 sim_random(void);
/* 0 to @n - 1. */
unsigned long sim_random_below(unsigned long n);

/* Start with @nr CPUs, all online, this thread on CPU 0. */
void sim_set_cpus(unsigned int nr);
void sim_cpu_down(unsigned int cpu);
void sim_cpu_up(unsigned int cpu);

/**
 * struct sim_memory - what the stand-ins for slab and kmalloc have done
 * @live: objects that are allocated
 * @bytes: their size
 * @calls: allocations asked for
 * @failed: allocations that were made to fail
 * @fail_at: the allocation that makes @calls this number fails; 0 for none
 * @fail_from: and each from this number on; 0 for none
 */
struct sim_memory {
	long		live;
	long		bytes;
	unsigned long	calls;
	unsigned long	failed;
	unsigned long	fail_at;
	unsigned long	fail_from;
};

extern struct sim_memory sim_memory;

/* Only a sanitizer's malloc() tells sizes as they were asked for. */
#ifdef __SANITIZE_ADDRESS__
#define SIM_EXACT_BYTES	true
#else
#define SIM_EXACT_BYTES	false
#endif

/* Run what work is due, and what that queues; returns how many ran. */
unsigned int sim_run_work(void);
/* Let @ms pass, running work as it becomes due; returns how many ran. */
unsigned int sim_advance(unsigned long ms);
bool sim_work_pending(void);
/* For a thread: run work, due or not, until *@stop. */
void *sim_worker(void *stop);

/* Warnings seen, which sim_expect_warnings() has allowed. */
extern unsigned int sim_warnings;
void sim_expect_warnings(bool expect);

#endif
