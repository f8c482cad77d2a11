// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deferred IOTLB flushing.
 *
 * In lazy mode an unmap clears the page table, and leaves the IOTLB to a later
 * flush that covers many unmaps. Until that flush has finished the device may
 * still reach the pages by the old translation, so that neither the address
 * space nor the page-table pages may be used again: they wait here.
 *
 * Vocabulary:
 *
 *   scope	what one flush covers: a remapping unit with all its domains, or
 *		a single domain
 *   client	a domain that queues
 *   extra	a client whose TLBs the scope does not cover, or not all of them:
 *		device TLBs, or those of another unit. Where it has queued, its
 *		own flush follows the scope's
 *   entry	one unmapped range, with the page-table pages it has left empty
 *   ring	the entries of one CPU, oldest first
 *   epoch	of an entry: the number of the last flush that had been started
 *		when the entry was queued
 *
 * An entry may be reclaimed once a flush that began after it was queued has
 * finished. Flushes are numbered. Any CPU that reaches its high-water mark, or
 * the timer, starts one for all, and each CPU then reclaims its own entries as
 * it goes on queueing, so that address space returns to the CPU that uses it. A
 * busy CPU reclaims one for each that it queues, at the rate at which it uses
 * them: all CPUs may reclaim after the same flush, and what they got back at once
 * they would have to store with one another until they need it. What CPUs leave
 * behind because they have gone idle, or offline, is reclaimed from process
 * context a time-out later.
 *
 * Nobody waits for somebody else's flush on the way of an unmap. A CPU that
 * wants one while another is under way goes on; where its ring is full as well,
 * it is told to flush by itself, strictly. This makes queueing safe in any
 * context, including an interrupt that hits a CPU in the middle of a flush.
 *
 * Protocol
 * --------
 *
 *	iommu_fq_add(client)			fq_flush()
 *	--------------------			----------
 *	   (page table cleared)			 1 take the flushing bit
 *	a  smp_mb()				 2 n = ++started   (full barrier)
 *	b  client->queued = 1			 3 p = xchg(pending, NULL)
 *	c  pending = client, or MANY		 4 flush p's scope in hardware
 *	d  smp_mb()				 5 if p is MANY: each extra client
 *	e  epoch = started			     with xchg(queued, 0) its own
 *	f  entry into the ring			 6 finished = n    (release)
 *	g  arm the timer unless timer_on	 7 drop the flushing bit
 *
 *	reclaim: entry.epoch < finished (acquire)
 *
 *	fq_timeout(): timer_on = 0 (full barrier), fq_flush()
 *
 * F1  Flushes of a queue do not overlap (1, 7), so that they take marks, run and
 *     finish in the order of their numbers.
 * F2  Let k be the flush that takes the mark of c. Its hardware flush starts
 *     after 3, hence after the page table was cleared (a): it covers the entry.
 *     Where c finds the mark set already, the mark that it saw is taken by a
 *     flush whose xchg() comes after this look, and the same holds.
 * F3  A flush n > epoch has incremented started after e, hence takes marks after
 *     c, so that k <= n. By F1, k has finished when n has. So whatever flush it
 *     is whose number an entry is reclaimed by, one that covers the entry has
 *     finished.
 * F4  Epochs in a ring do not decrease, since e and f are done under the ring's
 *     lock and started only grows. What can be reclaimed stands at the head.
 * F5  Flush k of F2 finds the client's mark of b, or an earlier flush has taken
 *     it after b: b comes before c, 3 before 5. For an extra client, who takes it
 *     flushes all TLBs of the domain, after a; by F1 that has finished when k has.
 *     Nobody has to know at b whether a client is extra. It becomes so before
 *     the TLBs in question can be filled, and after all flushes that may have
 *     missed it have finished: iommu_fq_set_extra().
 * F6  An entry that finds timer_on set is covered, and can be reclaimed by what
 *     the flush of that timer, or a later one, leaves in finished. If e read a
 *     number before the timer's increment, by F3. If not, g reads timer_on after
 *     the timer has cleared it (smp_rmb() before g), and somebody has set it
 *     again. The timer's flush counts even if there is no mark left to take: the
 *     mark may have been taken by the very flush whose number is the epoch.
 * F7  Page-table pages are freed with their entry, not before.
 *
 * Isolation window: an unmapped range can be reached for at most the time-out,
 * rounded up to a jiffy, plus the flush that covers it. Where the timer meets a
 * flush that began too early, add what is left of that one and a jiffy: the timer
 * looks again every jiffy until it gets the bit.
 *
 * tools/testing/iova/flush-queue.pml is a model of this for spin, by the same
 * letters, which checks F2, F3, F5 and F6. It has no reordering: each two
 * accesses above whose order matters have a barrier between them here.
 *
 * Lock order: extras_lock -> (nothing); ring lock -> locks of the IOVA allocator
 * and of slab. No lock is held across a flush; the flushing bit is only tried.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

#include "flush-queue.h"
#include "iommu-pages.h"

#define CREATE_TRACE_POINTS
#include <trace/events/iommu_fq.h>

/* More than one client has queued since the last flush took the mark. */
#define IOMMU_FQ_MANY	((struct iommu_fq_client *)ERR_PTR(-1))

/* Numbers of entries wrap. */
static_assert(!(IOMMU_FQ_BLOCK & (IOMMU_FQ_BLOCK - 1)));
static_assert(!(IOMMU_FQ_BLOCKS & (IOMMU_FQ_BLOCKS - 1)));
static_assert(!(IOMMU_FQ_BLOCKS_SHARED & (IOMMU_FQ_BLOCKS_SHARED - 1)));

/**
 * struct iommu_fq_entry - an unmapped range that waits for its flush
 * @client: whose it is
 * @pfn: first pfn
 * @pages: true length, in pages of the client's granule
 * @epoch: last flush that had been started when it was queued
 * @since: jiffies when it was queued
 * @freelist: page-table pages that the unmap has left empty
 */
struct iommu_fq_entry {
	struct iommu_fq_client	*client;
	unsigned long		pfn;
	unsigned long		pages;
	u64			epoch;
	unsigned long		since;
	struct list_head	freelist;
};

struct iommu_fq_block {
	struct iommu_fq_entry	entry[IOMMU_FQ_BLOCK];
};

/* With 4 KiB pages, a block is a page's worth: it can be had in any context. */
static_assert(sizeof(struct iommu_fq_block) <= PAGE_SIZE);

/**
 * struct iommu_fq_ring - entries of one CPU, or of all where shared
 * @lock: protects all below
 * @head: number of the oldest entry
 * @tail: number that the next one gets
 * @pages: sum of all entries'
 * @fresh: number of the oldest entry with epoch @epoch: no flush that would cover
 *	   it has been started
 * @fresh_pages: sum of the pages from @fresh on
 * @epoch: of the entry queued last
 * @oldest: entry @head; NULL where the head is at the begin of a block
 * @next: place of entry @tail; NULL where the tail is at the begin of a block
 * @high: high-water mark, in entries
 * @high_pages: the same in pages
 * @blocks: number of @block, a power of two
 * @spare: a block for the tail, or NULL
 * @block: entry i stands in block i / IOMMU_FQ_BLOCK modulo @blocks. Only the
 *	   blocks from head to tail are there.
 */
struct iommu_fq_ring {
	spinlock_t		lock;	/* all below */
	unsigned int		head;
	unsigned int		tail;
	unsigned int		fresh;
	unsigned int		high;
	unsigned long		high_pages;
	unsigned long		pages;
	unsigned long		fresh_pages;
	u64			epoch;
	struct iommu_fq_entry	*oldest;
	struct iommu_fq_entry	*next;
	unsigned int		blocks;
	struct iommu_fq_block	*spare;
	struct iommu_fq_block	*block[] __counted_by(blocks);
};

/* Where the block of entry @i stands. */
static struct iommu_fq_block **ring_slot(struct iommu_fq_ring *ring,
					 unsigned int i)
{
	return &ring->block[i / IOMMU_FQ_BLOCK & (ring->blocks - 1)];
}

static struct iommu_fq_entry *ring_entry(struct iommu_fq_ring *ring,
					 unsigned int i)
{
	return &(*ring_slot(ring, i))->entry[i % IOMMU_FQ_BLOCK];
}

static unsigned int ring_level(struct iommu_fq_ring *ring)
{
	return ring->tail - ring->head;
}

/* Does the ring ask for a flush? At its mark, or for much address space. */
static bool ring_asks(struct iommu_fq_ring *ring)
{
	return ring->tail - ring->fresh >= ring->high ||
	       ring->fresh_pages >= ring->high_pages;
}

/*
 * Entries to reclaim before the next one is queued: as many as are queued, but
 * more where there are too many, or so few that it does not matter.
 */
static unsigned int ring_pace(struct iommu_fq_ring *ring)
{
	unsigned int level = ring_level(ring);

	if (level > ring->high || ring->pages > ring->high_pages)
		return IOMMU_FQ_STEP;
	if (level < ring->high / 4 && ring->pages < ring->high_pages / 4)
		return IOMMU_FQ_STEP;
	return 1;
}

/* Where flushes should be few, much address space is no reason for one. */
static struct iommu_fq_ring *ring_alloc(bool shared)
{
	unsigned int blocks = shared ? IOMMU_FQ_BLOCKS_SHARED : IOMMU_FQ_BLOCKS;
	struct iommu_fq_ring *ring;

	ring = kzalloc(struct_size(ring, block, blocks),
		       GFP_ATOMIC | __GFP_NOWARN);
	if (!ring)
		return NULL;

	spin_lock_init(&ring->lock);
	ring->blocks = blocks;
	/* Three quarters. */
	ring->high = blocks * (IOMMU_FQ_BLOCK / 4 * 3);
	ring->high_pages = shared ? ULONG_MAX : IOMMU_FQ_PAGES;
	return ring;
}

/* The tail is at the begin of a block: see to it that there is one. */
static noinline struct iommu_fq_entry *ring_next_block(struct iommu_fq_ring *ring)
{
	struct iommu_fq_block **slot = ring_slot(ring, ring->tail);

	lockdep_assert_held(&ring->lock);

	/* The head has not yet left the block of one round ago. */
	if (*slot)
		return NULL;
	*slot = ring->spare ?: kmalloc(sizeof(**slot), GFP_ATOMIC |
				       __GFP_NOWARN);
	ring->spare = NULL;
	if (*slot)
		ring->next = (*slot)->entry;
	return ring->next;
}

/* Where entry @tail goes; NULL if the ring is full, or without memory. */
static struct iommu_fq_entry *ring_tail(struct iommu_fq_ring *ring)
{
	return likely(ring->next) ? ring->next : ring_next_block(ring);
}

/* The oldest entry of a ring that is not empty. */
static struct iommu_fq_entry *ring_oldest(struct iommu_fq_ring *ring)
{
	if (unlikely(!ring->oldest))
		ring->oldest = ring_entry(ring, ring->head);
	return ring->oldest;
}

/* The head has left a block, which may be one that the tail needs. */
static noinline void ring_leave_block(struct iommu_fq_ring *ring)
{
	struct iommu_fq_block **slot = ring_slot(ring, ring->head - 1);

	lockdep_assert_held(&ring->lock);

	ring->oldest = NULL;
	if (ring->spare)
		kfree(*slot);
	else
		ring->spare = *slot;
	*slot = NULL;
}

/* The oldest entry is no more. */
static void ring_pop(struct iommu_fq_ring *ring)
{
	lockdep_assert_held(&ring->lock);

	ring->pages -= ring->oldest->pages;
	ring->oldest++;
	if (++ring->head % IOMMU_FQ_BLOCK == 0)
		ring_leave_block(ring);
}

/* An empty ring does without blocks. */
static void ring_trim(struct iommu_fq_ring *ring)
{
	struct iommu_fq_block **slot;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	if (!ring_level(ring)) {
		slot = ring_slot(ring, ring->tail);
		kfree(*slot);
		*slot = NULL;
		ring->tail = round_up(ring->tail, IOMMU_FQ_BLOCK);
		ring->head = ring->tail;
		ring->next = NULL;
		ring->oldest = NULL;
	}
	kfree(ring->spare);
	ring->spare = NULL;
	spin_unlock_irqrestore(&ring->lock, flags);
}

static unsigned int nr_rings(struct iommu_fq *fq)
{
	return fq->shared ? 1 : nr_cpu_ids;
}

static unsigned int this_cpu_ring(struct iommu_fq *fq)
{
	return fq->shared ? 0 : raw_smp_processor_id();
}

/* This CPU's ring; NULL without memory. */
static struct iommu_fq_ring *this_ring(struct iommu_fq *fq)
{
	struct iommu_fq_ring **place = &fq->ring[this_cpu_ring(fq)];
	struct iommu_fq_ring *ring = READ_ONCE(*place), *old;

	if (likely(ring))
		return ring;

	ring = ring_alloc(fq->shared);
	if (!ring)
		return NULL;

	old = cmpxchg(place, NULL, ring);
	if (!old)
		return ring;
	kfree(ring);
	return old;
}

/*
 * b in the protocol. Where the scope is a domain, each flush is the domain's own.
 *
 * Who sets the mark does so by an atomic, so that who finds it set is ordered
 * behind the flush that has cleared it before, by dependencies alone.
 */
static void mark_queued(struct iommu_fq *fq, struct iommu_fq_client *client)
{
	if (!fq->flush_scope)
		return;
	if (!READ_ONCE(client->queued))
		xchg(&client->queued, 1);
	/* The mark before the one that brings the flush about: F5. */
	smp_rmb();
}

/* c in the protocol. */
static void mark_pending(struct iommu_fq *fq, struct iommu_fq_client *client)
{
	struct iommu_fq_client *seen = READ_ONCE(fq->pending), *mark;

	while (seen != client && seen != IOMMU_FQ_MANY) {
		mark = seen ? IOMMU_FQ_MANY : client;
		if (try_cmpxchg(&fq->pending, &seen, mark))
			break;
	}
}

/*
 * Who is at a flush is not preempted, lest nobody flush for a time slice. With
 * PREEMPT_RT flushing takes locks that sleep, and the window is not bounded.
 */
static bool flush_trylock(struct iommu_fq *fq)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
	if (!test_and_set_bit_lock(0, &fq->flushing))
		return true;
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
	return false;
}

static void flush_unlock(struct iommu_fq *fq)
{
	clear_bit_unlock(0, &fq->flushing);
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
}

/* 4 in the protocol, where only one client has queued. */
static void flush_one(struct iommu_fq *fq, struct iommu_fq_client *client)
{
	atomic_long_inc(&fq->domain_flushes);
	if (READ_ONCE(client->extra))
		xchg(&client->queued, 0);
	iommu_flush_iotlb_all(client->domain);
}

/* 4 and 5 in the protocol, where several have. */
static void flush_many(struct iommu_fq *fq)
{
	struct iommu_fq_client *client;

	if (fq->scope)
		fq->flush_scope(fq->scope);

	rcu_read_lock();
	list_for_each_entry_rcu(client, &fq->extras, node) {
		if (xchg(&client->queued, 0)) {
			atomic_long_inc(&fq->extra_flushes);
			iommu_flush_iotlb_all(client->domain);
		}
	}
	rcu_read_unlock();
}

/*
 * Flush what has been queued so far. Returns false if another flush is under
 * way, which may or may not cover it.
 */
static bool fq_flush(struct iommu_fq *fq, enum iommu_fq_reason reason)
{
	struct iommu_fq_client *only;
	u64 number;

	if (!flush_trylock(fq))
		return false;

	number = atomic64_inc_return(&fq->started);
	only = xchg(&fq->pending, NULL);
	if (only) {
		atomic_long_inc(&fq->flushes[reason]);
		trace_iommu_fq_flush_start(fq->id, number, reason,
					   only != IOMMU_FQ_MANY);
		if (only == IOMMU_FQ_MANY)
			flush_many(fq);
		else
			flush_one(fq, only);
		trace_iommu_fq_flush_done(fq->id, number);
	}
	/* Pairs with the acquire in last_finished(): F3. */
	atomic64_set_release(&fq->finished, number);
	flush_unlock(fq);
	return true;
}

/* As fq_flush(), and sleeps where that would return false. */
static void fq_flush_sync(struct iommu_fq *fq, enum iommu_fq_reason reason)
{
	while (!fq_flush(fq, reason))
		schedule_timeout_uninterruptible(1);
}

/* Number of the last flush that has finished. */
static u64 last_finished(struct iommu_fq *fq)
{
	/* Pairs with the release in fq_flush(). */
	return atomic64_read_acquire(&fq->finished);
}

/*
 * What an entry costs to reclaim, in entries: its page-table pages count, of which
 * it has one for each so many pages, and hardly more.
 */
static unsigned int reclaim_cost(struct iommu_fq_entry *entry)
{
	if (likely(list_empty(&entry->freelist)))
		return 1;
	return 1 + min(entry->pages / 512, (unsigned long)IOMMU_FQ_STEP);
}

/*
 * Reclaim entries that flushes up to @number cover until they have cost @max, and
 * return the cost: less than @max only if there are no more. @number has finished.
 */
static unsigned int ring_reclaim(struct iommu_fq *fq,
				 struct iommu_fq_ring *ring, u64 number,
				 unsigned int max)
{
	struct iommu_fq_entry *entry;
	unsigned int nr, cost = 0;

	lockdep_assert_held(&ring->lock);

	for (nr = 0; cost < max && ring_level(ring); nr++) {
		entry = ring_oldest(ring);
		if (entry->epoch >= number)
			break;
		cost += reclaim_cost(entry);
		if (unlikely(!list_empty(&entry->freelist)))
			iommu_put_pages_list(&entry->freelist);
		free_iova_fast(entry->client->iovad, entry->pfn, entry->pages);
		ring_pop(ring);
	}
	if (nr)
		trace_iommu_fq_reclaim(fq->id, nr, number);
	return cost;
}

/* Take up to @steps steps in a ring; returns how many of them were left. */
static unsigned int ring_reclaim_steps(struct iommu_fq *fq,
				       struct iommu_fq_ring *ring, u64 number,
				       unsigned int steps)
{
	unsigned int cost;
	unsigned long flags;

	while (steps) {
		spin_lock_irqsave(&ring->lock, flags);
		cost = ring_reclaim(fq, ring, number, IOMMU_FQ_STEP);
		spin_unlock_irqrestore(&ring->lock, flags);
		if (cost < IOMMU_FQ_STEP)
			break;
		steps--;
	}
	return steps;
}

/* Reclaim all entries that flushes up to @number cover. */
static void reclaim_all(struct iommu_fq *fq, u64 number, bool trim)
{
	struct iommu_fq_ring *ring;
	unsigned int i;

	for (i = 0; i < nr_rings(fq); i++) {
		ring = READ_ONCE(fq->ring[i]);
		if (!ring)
			continue;
		while (!ring_reclaim_steps(fq, ring, number, 1))
			cond_resched();
		if (trim)
			ring_trim(ring);
	}
}

/*
 * The work that reclaims what CPUs leave behind: it gives them a time-out after
 * the flush to do it themselves, and goes on while there are flushes.
 */
static void fq_queue_leftover(struct iommu_fq *fq)
{
	if (delayed_work_pending(&fq->leftover))
		return;
	atomic64_set(&fq->leftover_to, last_finished(fq));
	queue_delayed_work(system_unbound_wq, &fq->leftover, fq->timeout);
}

static void fq_leftover_work(struct work_struct *work)
{
	struct iommu_fq *fq = container_of(to_delayed_work(work),
					   struct iommu_fq, leftover);
	u64 number = atomic64_read(&fq->leftover_to);

	reclaim_all(fq, number, true);
	if (last_finished(fq) != number)
		fq_queue_leftover(fq);
}

/* Nobody may be preempted between saying that the timer is armed and arming it. */
static void arm_timer(struct iommu_fq *fq, unsigned long delay)
{
	preempt_disable();
	if (!xchg(&fq->timer_on, 1) || delay < fq->timeout)
		timer_reduce(&fq->timer, jiffies + delay);
	preempt_enable();
}

static void fq_timeout(struct timer_list *timer)
{
	struct iommu_fq *fq = container_of(timer, struct iommu_fq, timer);
	struct iommu_fq_ring *ring = READ_ONCE(fq->ring[this_cpu_ring(fq)]);

	xchg(&fq->timer_on, 0);		/* F6 */
	if (!fq_flush(fq, IOMMU_FQ_TIMER))
		arm_timer(fq, 1);

	if (ring)
		ring_reclaim_steps(fq, ring, last_finished(fq),
				   IOMMU_FQ_TIMER_STEPS);
	fq_queue_leftover(fq);
}

/**
 * iommu_fq_alloc - make a queue
 * @flush_scope: see &struct iommu_fq; NULL where the scope is one domain
 * @scope: for @flush_scope
 * @shared: one large ring for all CPUs, for an IOMMU whose flushes are so dear
 *	    that they should be few
 *
 * Rings are allocated when CPUs first use them.
 *
 * Context: process context, may sleep.
 * Return: the queue, with a reference; NULL without memory.
 */
struct iommu_fq *iommu_fq_alloc(void (*flush_scope)(void *scope), void *scope,
				bool shared)
{
	static atomic_t last_id = ATOMIC_INIT(0);
	struct iommu_fq *fq;

	fq = kzalloc(struct_size(fq, ring, shared ? 1 : nr_cpu_ids),
		     GFP_KERNEL);
	if (!fq)
		return NULL;

	fq->flush_scope = flush_scope;
	fq->scope = scope;
	fq->shared = shared;
	fq->timeout = msecs_to_jiffies(shared ? IOMMU_FQ_TIMEOUT_SHARED :
						IOMMU_FQ_TIMEOUT);
	fq->id = atomic_inc_return(&last_id);
	kref_init(&fq->ref);
	INIT_LIST_HEAD(&fq->extras);
	mutex_init(&fq->extras_lock);
	timer_setup(&fq->timer, fq_timeout, 0);
	INIT_DELAYED_WORK(&fq->leftover, fq_leftover_work);
	return fq;
}

/**
 * iommu_fq_end_scope - the scope of a queue goes away
 * @fq: queue
 *
 * It is not flushed any more when this returns. Clients may stay: they are extra,
 * or have nothing left that the scope covers.
 *
 * Context: process context, may sleep.
 */
void iommu_fq_end_scope(struct iommu_fq *fq)
{
	while (!flush_trylock(fq))
		schedule_timeout_uninterruptible(1);
	fq->scope = NULL;
	flush_unlock(fq);
}

/**
 * iommu_fq_get - take a reference to a queue
 * @fq: queue of which the caller holds one
 *
 * Context: any.
 * Return: @fq.
 */
struct iommu_fq *iommu_fq_get(struct iommu_fq *fq)
{
	kref_get(&fq->ref);
	return fq;
}

static void fq_release(struct kref *ref)
{
	struct iommu_fq *fq = container_of(ref, struct iommu_fq, ref);
	struct iommu_fq_ring *ring;
	unsigned int i;

	/* In this order: the timer queues the work. */
	timer_shutdown_sync(&fq->timer);
	cancel_delayed_work_sync(&fq->leftover);

	for (i = 0; i < nr_rings(fq); i++) {
		ring = fq->ring[i];
		if (!ring)
			continue;
		WARN_ON_ONCE(ring_level(ring));
		ring_trim(ring);
		kfree(ring);
	}
	kfree(fq);
}

/**
 * iommu_fq_put - give a reference to a queue back
 * @fq: queue, or NULL; freed with its last reference
 *
 * Context: process context, may sleep.
 */
void iommu_fq_put(struct iommu_fq *fq)
{
	if (fq)
		kref_put(&fq->ref, fq_release);
}

/**
 * iommu_fq_join - let a domain use a queue
 * @fq: queue; takes over a reference
 * @client: the domain's part
 * @domain: the domain
 * @iovad: where its address space goes back to
 *
 * Context: any.
 */
void iommu_fq_join(struct iommu_fq *fq, struct iommu_fq_client *client,
		   struct iommu_domain *domain, struct iova_domain *iovad)
{
	*client = (struct iommu_fq_client) {
		.fq = fq,
		.domain = domain,
		.iovad = iovad,
	};
}

/**
 * iommu_fq_leave - end a domain's use of a queue
 * @client: the domain's part; nobody queues for it any more
 *
 * All that it has queued is flushed and reclaimed, and the queue knows nothing
 * of it when this returns.
 *
 * Context: process context, may sleep.
 */
void iommu_fq_leave(struct iommu_fq_client *client)
{
	struct iommu_fq *fq = client->fq;

	fq_flush_sync(fq, IOMMU_FQ_DRAIN);
	reclaim_all(fq, last_finished(fq), false);
	iommu_fq_set_extra(client, false);
	iommu_fq_put(fq);
}

/**
 * iommu_fq_set_extra - say whether the scope covers all TLBs of a domain
 * @client: the domain's part
 * @extra: it does not
 *
 * To be set before something that the scope does not cover can be filled with
 * translations of the domain, and cleared when that has been flushed.
 *
 * Context: process context, may sleep.
 */
void iommu_fq_set_extra(struct iommu_fq_client *client, bool extra)
{
	struct iommu_fq *fq = client->fq;

	/* Else each flush is the domain's own. */
	if (!fq->flush_scope)
		return;

	mutex_lock(&fq->extras_lock);
	if (extra && !client->extra) {
		WRITE_ONCE(client->extra, true);
		list_add_rcu(&client->node, &fq->extras);
		/* A flush under way may have missed it: F5. */
		fq_flush_sync(fq, IOMMU_FQ_DRAIN);
	} else if (!extra && client->extra) {
		WRITE_ONCE(client->extra, false);
		list_del_rcu(&client->node);
		synchronize_rcu();
	}
	mutex_unlock(&fq->extras_lock);
}

/* The ring's tail has got an entry with @epoch and @pages. */
static void ring_push(struct iommu_fq_ring *ring, u64 epoch,
		      unsigned long pages)
{
	lockdep_assert_held(&ring->lock);

	if (ring->epoch != epoch) {
		ring->epoch = epoch;
		ring->fresh = ring->tail;
		ring->fresh_pages = 0;
	}
	ring->next++;
	if (unlikely(++ring->tail % IOMMU_FQ_BLOCK == 0))
		ring->next = NULL;
	ring->pages += pages;
	ring->fresh_pages += pages;
}

/*
 * Put an entry into the ring, and reclaim others. Returns 0, 1 if the ring asks
 * for a flush, or -ENOSPC: full, or no memory.
 */
static int ring_add(struct iommu_fq *fq, struct iommu_fq_ring *ring,
		    struct iommu_fq_client *client, unsigned long pfn,
		    unsigned long pages, struct list_head *freelist)
{
	struct iommu_fq_entry *entry;
	unsigned long flags;
	int ret = -ENOSPC;

	spin_lock_irqsave(&ring->lock, flags);
	smp_mb__after_spinlock();	/* d in the protocol */
	ring_reclaim(fq, ring, last_finished(fq), ring_pace(ring));
	entry = ring_tail(ring);
	if (likely(entry)) {
		entry->client = client;
		entry->pfn = pfn;
		entry->pages = pages;
		entry->epoch = atomic64_read(&fq->started);
		entry->since = jiffies;
		INIT_LIST_HEAD(&entry->freelist);
		list_splice_init(freelist, &entry->freelist);
		ring_push(ring, entry->epoch, pages);
		ret = ring_asks(ring);
		trace_iommu_fq_add(fq->id, pfn, pages, ring_level(ring));
	}
	spin_unlock_irqrestore(&ring->lock, flags);

	return ret;
}

/**
 * iommu_fq_add - defer the flush of an unmapped range
 * @client: the domain's part
 * @pfn: first pfn, in granules of the client's address space
 * @pages: length in granules, as it was mapped
 * @freelist: page-table pages that the unmap has left empty; taken over
 *
 * The page table must have been cleared. The range and the pages are freed once
 * a flush has covered them.
 *
 * Context: any.
 * Return: true if the range was taken. False if there was no place: the caller
 * has to flush its domain, and to free range and pages itself.
 */
bool iommu_fq_add(struct iommu_fq_client *client, unsigned long pfn,
		  unsigned long pages, struct list_head *freelist)
{
	struct iommu_fq *fq = client->fq;
	struct iommu_fq_ring *ring = this_ring(fq);
	bool again = true;
	int high = -ENOSPC;

	smp_mb();			/* a in the protocol */
	mark_queued(fq, client);
	mark_pending(fq, client);

	while (likely(ring)) {
		high = ring_add(fq, ring, client, pfn, pages, freelist);
		if (likely(high >= 0) || !again || !fq_flush(fq, IOMMU_FQ_LEVEL))
			break;
		again = false;
	}
	if (unlikely(high < 0)) {
		atomic_long_inc(&fq->strict);
		return false;
	}

	if (unlikely(high))
		fq_flush(fq, IOMMU_FQ_LEVEL);
	smp_rmb();			/* F6; pairs with xchg() in fq_timeout() */
	if (!READ_ONCE(fq->timer_on))
		arm_timer(fq, fq->timeout);
	return true;
}

/*
 * May the caller wait for a flush of another CPU? Not in an interrupt, which may
 * have hit that flush. Not with interrupts or softirqs off either: the caller may
 * hold a lock for which an interrupt spins that has hit that flush.
 */
static bool may_wait(void)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT) && !in_interrupt() &&
	       !irqs_disabled();
}

/*
 * Flush, or have somebody flush what has been queued so far: who may wait does so
 * for no more than two flushes.
 */
static void fq_flush_or_wait(struct iommu_fq *fq, enum iommu_fq_reason reason)
{
	u64 before = atomic64_read(&fq->started);

	while (!fq_flush(fq, reason)) {
		if (!may_wait() || last_finished(fq) > before)
			return;
		cpu_relax();
	}
}

/**
 * iommu_fq_reclaim - take back what waits, for an allocation that found no place
 * @client: the domain's part
 *
 * Takes up to IOMMU_FQ_ALLOC_STEPS steps, in the ring of this CPU first. They may
 * all go to entries of other domains.
 *
 * Context: any.
 * Return: true if it ran out of steps before it met all that @client has queued.
 */
bool iommu_fq_reclaim(struct iommu_fq_client *client)
{
	struct iommu_fq *fq = client->fq;
	unsigned int steps = IOMMU_FQ_ALLOC_STEPS;
	unsigned int nr = nr_rings(fq), first = this_cpu_ring(fq), i;
	struct iommu_fq_ring *ring;
	u64 number;

	fq_flush_or_wait(fq, IOMMU_FQ_ALLOC);
	number = last_finished(fq);
	for (i = 0; i < nr && steps; i++) {
		ring = READ_ONCE(fq->ring[(first + i) % nr]);
		if (ring)
			steps = ring_reclaim_steps(fq, ring, number, steps);
	}
	return !steps && iommu_fq_queued(client);
}

static size_t ring_bytes(struct iommu_fq_ring *ring)
{
	size_t bytes = struct_size(ring, block, ring->blocks);
	unsigned int i;

	for (i = 0; i < ring->blocks; i++)
		bytes += ring->block[i] ? sizeof(*ring->block[i]) : 0;
	return bytes + (ring->spare ? sizeof(*ring->spare) : 0);
}

/**
 * iommu_fq_get_stats - take a snapshot of a CPU's ring
 * @fq: queue
 * @cpu: CPU; 0 for a ring that all share
 * @stats: filled in, if there is a ring
 *
 * Context: any; walks the ring, so not for hot paths.
 * Return: false if the CPU has no ring.
 */
bool iommu_fq_get_stats(struct iommu_fq *fq, unsigned int cpu,
			struct iommu_fq_stats *stats)
{
	struct iommu_fq_ring *ring;
	struct iommu_fq_entry *entry;
	u64 finished = last_finished(fq);
	unsigned long flags;
	unsigned int i;

	ring = cpu < nr_rings(fq) ? READ_ONCE(fq->ring[cpu]) : NULL;
	if (!ring)
		return false;

	*stats = (struct iommu_fq_stats) {};
	spin_lock_irqsave(&ring->lock, flags);
	stats->bytes = ring_bytes(ring);
	for (i = ring->head; i != ring->tail; i++) {
		entry = ring_entry(ring, i);
		if (entry->epoch >= finished)
			break;
		stats->reclaimable++;
	}
	stats->pending = ring->tail - i;
	if (stats->pending)
		stats->oldest = jiffies_to_msecs(jiffies -
						 ring_entry(ring, i)->since);
	spin_unlock_irqrestore(&ring->lock, flags);
	return true;
}

/**
 * iommu_fq_queued - count what a domain has queued
 * @client: the domain's part
 *
 * Context: any; walks the rings, so not for hot paths.
 * Return: ranges that have not been reclaimed.
 */
unsigned long iommu_fq_queued(struct iommu_fq_client *client)
{
	struct iommu_fq *fq = client->fq;
	unsigned long queued = 0, flags;
	struct iommu_fq_ring *ring;
	unsigned int cpu, i;

	for (cpu = 0; cpu < nr_rings(fq); cpu++) {
		ring = READ_ONCE(fq->ring[cpu]);
		if (!ring)
			continue;
		spin_lock_irqsave(&ring->lock, flags);
		for (i = ring->head; i != ring->tail; i++)
			queued += ring_entry(ring, i)->client == client;
		spin_unlock_irqrestore(&ring->lock, flags);
	}
	return queued;
}
