/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deferred IOTLB flushing: what is unmapped waits in a queue for a flush that
 * covers much at once. See flush-queue.c.
 */
#ifndef _IOMMU_FLUSH_QUEUE_H_
#define _IOMMU_FLUSH_QUEUE_H_

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/iommu.h>
#include <linux/iova.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/* Entries of a block, the unit in which rings grow and shrink. */
#define IOMMU_FQ_BLOCK		64
/* Blocks of a CPU's ring, and of a ring that all CPUs share; powers of two. */
#define IOMMU_FQ_BLOCKS		32
#define IOMMU_FQ_BLOCKS_SHARED	512
/* Pages that no flush covers at which a CPU's ring asks for one, however few entries. */
#define IOMMU_FQ_PAGES		(128 * 1024UL)
/* Longest wait of an entry for its flush to start, in milliseconds. */
#define IOMMU_FQ_TIMEOUT	10
#define IOMMU_FQ_TIMEOUT_SHARED	1000
/* Entries, and page-table pages, reclaimed under one hold of a ring's lock. */
#define IOMMU_FQ_STEP		16
/* Steps that the timer takes in softirq, all in the ring of its own CPU. */
#define IOMMU_FQ_TIMER_STEPS	1
/* Steps that an allocation takes which found no place: a ring's worth. */
#define IOMMU_FQ_ALLOC_STEPS	(IOMMU_FQ_BLOCKS * IOMMU_FQ_BLOCK / \
				 IOMMU_FQ_STEP)

struct iommu_fq;

/**
 * enum iommu_fq_reason - why a flush was started
 * @IOMMU_FQ_TIMER: an entry has waited for the time-out
 * @IOMMU_FQ_LEVEL: a ring has reached its high-water mark, or is full
 * @IOMMU_FQ_ALLOC: an allocation of address space found no place
 * @IOMMU_FQ_DRAIN: a domain goes away, or begins to need flushes of its own
 * @IOMMU_FQ_REASONS: how many there are
 */
enum iommu_fq_reason {
	IOMMU_FQ_TIMER,
	IOMMU_FQ_LEVEL,
	IOMMU_FQ_ALLOC,
	IOMMU_FQ_DRAIN,
	IOMMU_FQ_REASONS,
};

/**
 * struct iommu_fq_client - a domain's part in a queue
 * @fq: the queue, of which this holds a reference
 * @iovad: where reclaimed address space goes
 * @domain: whose it is
 * @queued: set when something is queued, and cleared by each flush that
 *	    includes the domain's own; not cleared otherwise
 * @extra: the queue's scope does not cover all of the domain's TLBs
 * @node: entry in &iommu_fq.extras, if @extra
 */
struct iommu_fq_client {
	struct iommu_fq		*fq;
	struct iova_domain	*iovad;
	struct iommu_domain	*domain;
	int			queued;
	bool			extra;
	struct list_head	node;
};

struct iommu_fq_ring;

/**
 * struct iommu_fq - a flush queue: a scope, and what waits for its flush
 * @flush_scope: flushes the scope, and returns when the hardware has finished;
 *		 called in any context, one call at a time, never while only one
 *		 domain has entries that wait. NULL where the scope is a domain.
 * @scope: for @flush_scope, which is not called while this is NULL; changed
 *	   under @flushing
 * @timeout: in jiffies
 * @shared: one ring for all CPUs
 * @id: tells queues apart
 * @ref: holders: the clients, and who offers the queue to them
 * @extras: clients with @extra; RCU, written under @extras_lock
 * @extras_lock: protects @extras
 * @timer: starts a flush when an entry has waited for @timeout
 * @leftover: reclaims what the CPUs have not reclaimed themselves
 * @leftover_to: number of the flush that @leftover works for
 * @flushes: flushes that had something to flush, by reason
 * @domain_flushes: those of them that covered a single domain
 * @extra_flushes: flushes of single domains that others included
 * @strict: entries that found no place and were left to the caller
 * @started: number of the last flush that was started
 * @finished: number of the last flush that has finished
 * @pending: the only client that has queued since the last flush took it, NULL
 *	     for none, IOMMU_FQ_MANY for several
 * @flushing: bit 0 is set while a flush is under way
 * @timer_on: @timer is armed, or about to be
 * @ring: by CPU; NULL until the CPU queues for the first time
 */
struct iommu_fq {
	void			(*flush_scope)(void *scope);
	void			*scope;
	unsigned long		timeout;
	bool			shared;
	int			id;
	struct kref		ref;

	struct list_head	extras;
	struct mutex		extras_lock;	/* extras */
	struct timer_list	timer;
	struct delayed_work	leftover;
	atomic64_t		leftover_to;

	atomic_long_t		flushes[IOMMU_FQ_REASONS];
	atomic_long_t		domain_flushes;
	atomic_long_t		extra_flushes;
	atomic_long_t		strict;

	/* What each unmap reads and a flush writes, and nothing else. */
	atomic64_t		started ____cacheline_aligned_in_smp;
	atomic64_t		finished;
	struct iommu_fq_client	*pending;
	unsigned long		flushing;
	int			timer_on;

	struct iommu_fq_ring	*ring[] ____cacheline_aligned_in_smp;
};

struct iommu_fq *iommu_fq_alloc(void (*flush_scope)(void *scope), void *scope,
				bool shared);
void iommu_fq_end_scope(struct iommu_fq *fq);
struct iommu_fq *iommu_fq_get(struct iommu_fq *fq);
void iommu_fq_put(struct iommu_fq *fq);

void iommu_fq_join(struct iommu_fq *fq, struct iommu_fq_client *client,
		   struct iommu_domain *domain, struct iova_domain *iovad);
void iommu_fq_leave(struct iommu_fq_client *client);
void iommu_fq_set_extra(struct iommu_fq_client *client, bool extra);

bool iommu_fq_add(struct iommu_fq_client *client, unsigned long pfn,
		  unsigned long pages, struct list_head *freelist);
bool iommu_fq_reclaim(struct iommu_fq_client *client);

/**
 * struct iommu_fq_stats - a snapshot of a ring
 * @pending: entries whose flush has not finished
 * @reclaimable: entries whose flush has
 * @oldest: wait of the oldest pending entry so far, in milliseconds
 * @bytes: memory of the ring
 */
struct iommu_fq_stats {
	unsigned int	pending;
	unsigned int	reclaimable;
	unsigned int	oldest;
	size_t		bytes;
};

bool iommu_fq_get_stats(struct iommu_fq *fq, unsigned int cpu,
			struct iommu_fq_stats *stats);
unsigned long iommu_fq_queued(struct iommu_fq_client *client);

#endif
