// SPDX-License-Identifier: GPL-2.0-only
/*
 * The invalidation queue of a VT-d unit.
 *
 * Who invalidates something puts descriptors into a ring, and behind them a wait
 * descriptor by which the unit writes a status word when it has done all before
 * it. The lock of the ring is held to copy descriptors and for nothing else.
 * The doorbell is a lock of its own that is only tried: who finds it taken leaves
 * it to the holder, or rings it later. Waiting takes no lock, and interrupts
 * stay as the caller has them.
 *
 * Vocabulary
 *
 *   position	number of a descriptor since the ring was made, modulo 2^32. Its
 *		slot is the position modulo the size of the ring.
 *   submission	descriptors that were put into the ring together, and their wait
 *		descriptor, which is the last one.
 *   done	of a submission: its status word holds its own position. The unit
 *		writes that, or a fault's handler in the unit's stead.
 *   ticket	by which a submission is waited for.
 *   verdict	what a fault did to a submission.
 *   fetched	read by the unit: before its head register.
 *
 * Lock order: none. @lock and @bell are never held together, and both are leaves.
 *
 * Invariants
 *
 *   I1	@tail <= @rung <= @head, in positions, and @head - @tail <= QI_RING_ROOM.
 *	From @tail to @head the ring consists of whole submissions.
 *   I2	What the doorbell tells only grows: it is rung under @bell, with an @head
 *	that was read there.
 *   I3	A submission is reclaimed when it is done, and not before, by anyone who
 *	needs room; slots of a submission that was not fetched as a whole are
 *	never reused. Nobody owns slots that he must give back, so one who was
 *	interrupted while he waits keeps nothing from the interrupt.
 *   I4	A submission that is done or reclaimed is finished for its waiter. If no
 *	fault was handled since it was submitted, it did all it should. If one
 *	was and its status word is overwritten, nobody knows, and the waiter has
 *	to submit again, which does no harm.
 *   I5	A fault that hits a submission leaves its verdict, and counts in @faults,
 *	before the submission can be seen as done.
 *   I6	The unit's fault status is read at most QI_RING_CHECKS_PER_MS times in a
 *	millisecond, however many wait, and not before one has waited that long.
 */
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "qi-ring.h"

/* Soon after boot positions wrap, and not first when a machine is up for weeks. */
#define FIRST_POS	(-4U * QI_RING_SLOTS)

#define FAULTS		(DMA_FSTS_IQE | DMA_FSTS_ITE | DMA_FSTS_ICE)

static_assert(!(QI_RING_SLOTS & (QI_RING_SLOTS - 1)));
static_assert((u8)QI_RING_ROOM == QI_RING_ROOM);	/* &qi_ring.len */

static unsigned int slot_of(u32 pos)
{
	return pos % QI_RING_SLOTS;
}

/* Is position @a before @b? They are less than 2^31 apart. */
static bool before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

static void *desc_at(struct qi_ring *ring, u32 pos)
{
	return ring->desc + (slot_of(pos) << ring->shift);
}

static bool is_done(struct qi_ring *ring, u32 pos)
{
	/* Pairs with the unit's write, and with the release in finish(). */
	return smp_load_acquire(&ring->status[slot_of(pos)]) == pos;
}

/* The last position of the submission that begins at @first. */
static u32 last_of(struct qi_ring *ring, u32 first)
{
	return first + ring->len[slot_of(first)] - 1;
}

/* Done, or reclaimed and its status word perhaps in use again (I4). */
static bool is_finished(struct qi_ring *ring, u32 pos)
{
	if (is_done(ring, pos))
		return true;
	/* Pairs with the release in reclaim_locked(). */
	return before(pos, smp_load_acquire(&ring->tail));
}

/* A wait descriptor at @pos, by which the unit writes @pos to status word @word. */
static void put_wait_locked(struct qi_ring *ring, u32 pos, unsigned int word,
			    u64 flags)
{
	struct qi_desc wait = {
		.qw0 = QI_IWD_STATUS_DATA(pos) | QI_IWD_STATUS_WRITE |
		       QI_IWD_TYPE | flags,
		.qw1 = ring->status_phys + word * sizeof(*ring->status),
	};

	lockdep_assert_held(&ring->lock);
	memcpy(desc_at(ring, pos), &wait, 1U << ring->shift);
}

static void reclaim_locked(struct qi_ring *ring)
{
	u32 tail = ring->tail, last;

	lockdep_assert_held(&ring->lock);
	while (tail != ring->head) {
		last = last_of(ring, tail);
		if (!is_done(ring, last))
			break;
		tail = last + 1;
	}
	/* Pairs with the acquire in is_finished(): verdicts are there (I5). */
	smp_store_release(&ring->tail, tail);
}

/* Whether @slots are free, after what is done was reclaimed if need be. */
static bool has_room_locked(struct qi_ring *ring, unsigned int slots)
{
	lockdep_assert_held(&ring->lock);
	if (ring->head - ring->tail + slots <= QI_RING_ROOM)
		return true;
	reclaim_locked(ring);
	return ring->head - ring->tail + slots <= QI_RING_ROOM;
}

/* See to it that the unit knows of @pos, or that someone is telling it. */
static void ring_bell(struct qi_ring *ring, u32 pos)
{
	unsigned long flags;
	u32 head;

	if (before(pos, READ_ONCE(ring->rung)))
		return;
	if (!raw_spin_trylock_irqsave(&ring->bell, flags))
		return;
	if (!before(pos, ring->rung)) {
		/* Pairs with the release in qi_ring_submit(). */
		head = smp_load_acquire(&ring->head);
		writel(slot_of(head) << ring->shift,
		       ring->reg + DMAR_IQT_REG);
		WRITE_ONCE(ring->rung, head);
	}
	raw_spin_unlock_irqrestore(&ring->bell, flags);
}

/* The first position that the unit has not fetched. */
static u32 unfetched_locked(struct qi_ring *ring)
{
	u32 slot = readl(ring->reg + DMAR_IQH_REG) >> ring->shift;

	lockdep_assert_held(&ring->lock);
	return ring->tail + slot_of(slot - ring->tail);
}

/* The submission that ends at @last is done, as if the unit had said so. */
static void finish(struct qi_ring *ring, u32 last)
{
	/* Pairs with the acquire in is_done(): its verdict is there (I5). */
	smp_store_release(&ring->status[slot_of(last)], last);
}

static void set_verdict_locked(struct qi_ring *ring, u32 last, int err)
{
	lockdep_assert_held(&ring->lock);
	ring->verdict[slot_of(last)] = (struct qi_verdict) {
		.pos = last,
		.err = err,
	};
}

/*
 * A device did not answer in time. The unit has dropped the wait descriptors it
 * had fetched. One that it has not fetched yet it will execute, although what is
 * before it, in the same submission, may not be done.
 */
static void handle_timeout_locked(struct qi_ring *ring, u32 unfetched)
{
	u32 first, last;

	lockdep_assert_held(&ring->lock);
	for (first = ring->tail; before(first, unfetched); first = last + 1) {
		last = last_of(ring, first);
		if (is_done(ring, last))
			continue;
		set_verdict_locked(ring, last, -EAGAIN);
		if (before(last, unfetched))
			finish(ring, last);
	}
}

/*
 * The unit refuses a descriptor, and waits for another in its place. The others
 * of its submission are executed.
 */
static void handle_refusal_locked(struct qi_ring *ring, u32 refused)
{
	u32 first, last;

	lockdep_assert_held(&ring->lock);
	for (first = ring->tail; first != ring->head; first = last + 1) {
		last = last_of(ring, first);
		if (before(last, refused))
			continue;
		set_verdict_locked(ring, last, -EINVAL);
		put_wait_locked(ring, refused, refused == last ?
				slot_of(last) : QI_RING_SCRATCH, 0);
		return;
	}
}

static void handle_faults_locked(struct qi_ring *ring, struct qi_fault *fault)
{
	u32 unfetched = unfetched_locked(ring);
	u32 fsts = fault->fsts;

	lockdep_assert_held(&ring->lock);
	memcpy(&fault->desc[0], desc_at(ring, unfetched), 1U << ring->shift);
	memcpy(&fault->desc[1], desc_at(ring, unfetched - 1), 1U << ring->shift);
	fault->iqer = dmar_readq(ring->reg + DMAR_IQER_REG);

	/* Before finish(), and before the unit is let on (I5). */
	WRITE_ONCE(ring->faults, ring->faults + 1);
	if (fsts & DMA_FSTS_ITE)
		handle_timeout_locked(ring, unfetched);
	if (fsts & DMA_FSTS_IQE)
		handle_refusal_locked(ring, unfetched);
	writel(fsts & FAULTS, ring->reg + DMAR_FSTS_REG);
}

/* Look for faults; @since is when the caller has begun to wait, in cycles (I6). */
static void check_faults(struct qi_ring *ring, unsigned long since)
{
	unsigned long interval = tsc_khz / QI_RING_CHECKS_PER_MS;
	unsigned long last = READ_ONCE(ring->checked);
	unsigned long now = get_cycles();
	struct qi_fault fault = {};
	unsigned long flags;

	if (now - since < interval || now - last < interval)
		return;
	if (cmpxchg(&ring->checked, last, now) != last)
		return;
	if (!(readl(ring->reg + DMAR_FSTS_REG) & FAULTS))
		return;

	raw_spin_lock_irqsave(&ring->lock, flags);
	/* Another waiter may have been here before. */
	fault.fsts = readl(ring->reg + DMAR_FSTS_REG);
	if (fault.fsts & FAULTS)
		handle_faults_locked(ring, &fault);
	raw_spin_unlock_irqrestore(&ring->lock, flags);

	if ((fault.fsts & FAULTS) && ring->report)
		ring->report(ring, &fault);
}

/**
 * qi_ring_submit - put descriptors into the queue
 * @ring: the queue
 * @desc: descriptors, each of its words written
 * @count: how many, from 0 to QI_RING_MAX
 * @wait_flags: QI_IWD_* to add to the wait descriptor behind them
 * @ticket: for qi_ring_wait(), which may be called at any later time, once
 *
 * Waits for room if the ring is full: for the unit, not for other waiters.
 *
 * Context: any but NMI, and under any lock. Interrupts are off for a time that
 * depends on @count and the size of the ring, not on the unit.
 */
void qi_ring_submit(struct qi_ring *ring, const struct qi_desc *desc,
		    unsigned int count, u64 wait_flags,
		    struct qi_ticket *ticket)
{
	unsigned long since = 0, flags;
	unsigned int i;
	u32 first;

	if (WARN_ON_ONCE(count > QI_RING_MAX))
		count = QI_RING_MAX;

	raw_spin_lock_irqsave(&ring->lock, flags);
	while (!has_room_locked(ring, count + 1)) {
		first = ring->head;
		raw_spin_unlock_irqrestore(&ring->lock, flags);
		since = since ?: get_cycles();
		/* Who has submitted last may be what we have interrupted. */
		ring_bell(ring, first - 1);
		check_faults(ring, since);
		cpu_relax();
		raw_spin_lock_irqsave(&ring->lock, flags);
	}

	first = ring->head;
	for (i = 0; i < count; i++)
		memcpy(desc_at(ring, first + i), &desc[i], 1U << ring->shift);
	put_wait_locked(ring, first + count, slot_of(first + count), wait_flags);
	/* Whatever stood there since the slot was last used. */
	WRITE_ONCE(ring->status[slot_of(first + count)], first + count - 1);
	ring->len[slot_of(first)] = count + 1;
	ticket->pos = first + count;
	ticket->faults = ring->faults;
	/* Pairs with the acquire in ring_bell(). */
	smp_store_release(&ring->head, first + count + 1);
	raw_spin_unlock_irqrestore(&ring->lock, flags);

	ring_bell(ring, ticket->pos);
}

/* What became of a finished submission. */
static int verdict(struct qi_ring *ring, const struct qi_ticket *ticket)
{
	unsigned int slot = slot_of(ticket->pos);
	unsigned long flags;
	int err = 0;

	/* After is_finished(), whose acquire orders it (I5). */
	if (likely(READ_ONCE(ring->faults) == ticket->faults))
		return 0;

	raw_spin_lock_irqsave(&ring->lock, flags);
	if (ring->verdict[slot].pos == ticket->pos)
		err = ring->verdict[slot].err;
	else if (READ_ONCE(ring->status[slot]) != ticket->pos)
		err = -EAGAIN;
	raw_spin_unlock_irqrestore(&ring->lock, flags);
	return err;
}

/**
 * qi_ring_wait - wait for a submission
 * @ring: the queue
 * @ticket: from qi_ring_submit()
 *
 * Context: any but NMI; spins. Takes no lock while it waits, and leaves interrupts
 * as they are.
 * Return: 0 if all was done; -EAGAIN if it may not have been because a device did
 * not answer: submit again; -EINVAL if the unit refused a descriptor.
 */
int qi_ring_wait(struct qi_ring *ring, const struct qi_ticket *ticket)
{
	unsigned long since = 0;

	while (!is_finished(ring, ticket->pos)) {
		since = since ?: get_cycles();
		ring_bell(ring, ticket->pos);
		check_faults(ring, since);
		cpu_relax();
	}
	return verdict(ring, ticket);
}

/**
 * qi_ring_used - slots in use
 * @ring: the queue
 *
 * Context: any but NMI.
 * Return: slots of submissions that are not done, and of those behind them.
 */
unsigned int qi_ring_used(struct qi_ring *ring)
{
	unsigned long flags;
	unsigned int used;

	raw_spin_lock_irqsave(&ring->lock, flags);
	reclaim_locked(ring);
	used = ring->head - ring->tail;
	raw_spin_unlock_irqrestore(&ring->lock, flags);
	return used;
}

/**
 * qi_ring_reset - start again at the first slot
 * @ring: the queue; its unit is switched off
 *
 * Who still waits is told to submit again.
 *
 * Context: any but NMI.
 */
void qi_ring_reset(struct qi_ring *ring)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&ring->lock, flags);
	WRITE_ONCE(ring->faults, ring->faults + 1);
	ring->head = ALIGN(ring->head, QI_RING_SLOTS);
	WRITE_ONCE(ring->rung, ring->head);
	/* Pairs with the acquire in is_finished(). */
	smp_store_release(&ring->tail, ring->head);
	raw_spin_unlock_irqrestore(&ring->lock, flags);
}

/**
 * qi_ring_init - make a queue
 * @ring: memory for it
 * @reg: registers of the unit
 * @desc: memory for QI_RING_SLOTS descriptors
 * @shift: log2 of a slot's bytes, 4 or 5
 * @gfp: how to allocate
 *
 * Context: as @gfp says.
 * Return: 0, or -ENOMEM.
 */
int qi_ring_init(struct qi_ring *ring, void __iomem *reg, void *desc,
		 unsigned int shift, gfp_t gfp)
{
	memset(ring, 0, sizeof(*ring));
	ring->status = kcalloc(QI_RING_STATUS_WORDS, sizeof(*ring->status), gfp);
	ring->verdict = kcalloc(QI_RING_SLOTS, sizeof(*ring->verdict), gfp);
	if (!ring->status || !ring->verdict) {
		qi_ring_destroy(ring);
		return -ENOMEM;
	}
	raw_spin_lock_init(&ring->lock);
	raw_spin_lock_init(&ring->bell);
	ring->reg = reg;
	ring->desc = desc;
	ring->shift = shift;
	ring->status_phys = virt_to_phys(ring->status);
	ring->head = FIRST_POS;
	ring->tail = FIRST_POS;
	ring->rung = FIRST_POS;
	return 0;
}

/**
 * qi_ring_destroy - free what qi_ring_init() has allocated
 * @ring: the queue; nobody waits, and the unit is switched off
 *
 * Context: any but NMI.
 */
void qi_ring_destroy(struct qi_ring *ring)
{
	kfree(ring->verdict);
	kfree(ring->status);
}
