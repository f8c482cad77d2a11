/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small language of operations on a domain, for random tests, failure sweeps
 * and the fuzzer. A script is three bytes that set the domain up, and then three
 * bytes an operation: what, and two arguments. Any bytes are a script; letters
 * make one that people can read.
 *
 * Set-up: CPUs, size of the space, start_pfn; see ops_begin().
 *
 *	a, A	allocate, without and with reclaim: size, limit
 *	b	allocate some: size, how many
 *	t, u	allocate from the tree, aligned and not: size, limit
 *	f	free: which
 *	g	free some: how many, which
 *	q, Q	put into the flush queue: which; flush it
 *	c	go to another CPU: which
 *	o	take a CPU offline, or online: which
 *	k, K	set the cached range: pages; log2 of the pages
 *	w, p	run work; let time pass: 4 ms each
 *	n	no memory soon: when
 *	m	meet others on locks: how often
 *	i	reclaim all
 */
#ifndef _OPS_H
#define _OPS_H

#include "world.h"

/* What is done where a byte is not one of these: each as often as it stands. */
#define OPS_LETTERS	"aaaaAAAAbffffffgqQtuccoKkwwppnmi"

/**
 * struct ops_result - what a script has come to
 * @done: operations
 * @allocated: ranges that were handed out
 * @refused: requests that were not served
 * @failed: allocations of memory that were made to fail
 */
struct ops_result {
	unsigned long done;
	unsigned long allocated;
	unsigned long refused;
	unsigned long failed;
};

/* The allocation of memory, from the first operation on, that fails; or 0. */
extern unsigned long ops_fail_at;

/*
 * Run a script in a world of its own and check all rules every @every
 * operations, and at the end. Dies if anything is wrong.
 */
struct ops_result ops_run(const u8 *script, size_t len, unsigned int every);

#endif
