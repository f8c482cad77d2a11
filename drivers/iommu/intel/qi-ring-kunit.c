// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the invalidation queue: the kernel's own locks, CPUs, interrupts
 * and time, and a unit whose registers are memory. The orders of events that
 * hardly ever come about are for tools/testing/iova.
 *
 * The unit works in the hard interrupt of a timer, so that it does, however many
 * wait; on the CPU of one of them, which he can only survive with interrupts on.
 * Where it comes upon a descriptor for the TLB of a device, that device does not
 * answer: the unit drops what it has fetched, some of what is behind it too, and
 * stops.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/random.h>

#include "qi-ring.h"

#define THREADS		4
#define FLUSHES		500
#define MAX_BATCH	16
#define IDS		((THREADS + 1) * MAX_BATCH)
#define SID		0x1234
#define SHIFT		4
#define UNIT_NS		(200 * NSEC_PER_USEC)

/* Of the fault status; while it is there, the unit waits for it to be cleared. */
#define FSTS_KEEP	BIT(31)

struct fake_unit;

/**
 * struct flusher - a thread that flushes
 * @unit: what it flushes
 * @first_id: of the invalidations that are its own
 */
struct flusher {
	struct fake_unit	*unit;
	unsigned int		first_id;
};

/**
 * struct fake_unit - a unit, and the driver's idea of it
 * @iommu: for the driver's functions
 * @ring: its queue
 * @reg: its registers
 * @desc: its descriptors
 * @head: slot that it fetches next
 * @done: by number of an invalidation: it was done
 * @timeouts: devices that were given up
 * @timer: in which it works
 * @flusher: threads that flush
 * @working: those that have not ended
 * @ended: the last of them has
 * @wrong: what they found wrong
 */
struct fake_unit {
	struct intel_iommu	iommu;
	struct qi_ring		ring;
	void			*reg;
	void			*desc;
	u32			head;
	bool			done[IDS];
	unsigned int		timeouts;
	struct hrtimer		timer;
	struct flusher		flusher[THREADS];
	atomic_t		working;
	struct completion	ended;
	atomic_t		wrong;
};

static u32 *reg_of(struct fake_unit *unit, unsigned int offset)
{
	return unit->reg + offset;
}

static u32 tail_of(struct fake_unit *unit)
{
	/* Pairs with the doorbell: descriptors are there. */
	return smp_load_acquire(reg_of(unit, DMAR_IQT_REG)) >> SHIFT;
}

static void set_head(struct fake_unit *unit, u32 head)
{
	unit->head = head % QI_RING_SLOTS;
	WRITE_ONCE(*reg_of(unit, DMAR_IQH_REG), unit->head << SHIFT);
}

static void give_up(struct fake_unit *unit)
{
	u32 behind = (tail_of(unit) - unit->head) % QI_RING_SLOTS;

	/* The one that was not answered, and what was fetched with it. */
	set_head(unit, unit->head + 1 + get_random_u32_below(behind));
	unit->timeouts++;
	/* Pairs with the acquire in in_fault(): head and count are there. */
	smp_store_release(reg_of(unit, DMAR_FSTS_REG),
			  DMA_FSTS_ITE | FSTS_KEEP);
}

/* Is it at a stop? */
static bool in_fault(struct fake_unit *unit)
{
	u32 fsts;

	/* Pairs with the driver's write, and with give_up(). */
	fsts = smp_load_acquire(reg_of(unit, DMAR_FSTS_REG));
	if (fsts & FSTS_KEEP)
		return true;
	WRITE_ONCE(*reg_of(unit, DMAR_FSTS_REG), 0);
	return false;
}

/* Do what there is to do. */
static void work(struct fake_unit *unit)
{
	struct qi_desc *desc;

	while (!in_fault(unit) && unit->head != tail_of(unit)) {
		desc = unit->desc + (unit->head << SHIFT);
		switch (desc->qw0 & 0xf) {
		case QI_DIOTLB_TYPE:
			give_up(unit);
			continue;
		case QI_IWD_TYPE:
			/* Pairs with the acquire in is_done(). */
			smp_store_release((u32 *)phys_to_virt(desc->qw1),
					  (u32)(desc->qw0 >> 32));
			break;
		default:
			WRITE_ONCE(unit->done[desc->qw1 >> VTD_PAGE_SHIFT], true);
		}
		set_head(unit, unit->head + 1);
	}
}

static enum hrtimer_restart work_in_timer(struct hrtimer *timer)
{
	work(container_of(timer, struct fake_unit, timer));
	hrtimer_forward_now(timer, ns_to_ktime(UNIT_NS));
	return HRTIMER_RESTART;
}

/* On this CPU, and it stays there. */
static void start_unit(struct fake_unit *unit)
{
	hrtimer_start(&unit->timer, ns_to_ktime(UNIT_NS),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

static struct qi_desc iotlb(struct fake_unit *unit, unsigned int id)
{
	struct qi_desc desc;

	WRITE_ONCE(unit->done[id], false);
	qi_desc_iotlb(&unit->iommu, 1, (u64)id << VTD_PAGE_SHIFT, 0,
		      DMA_TLB_PSI_FLUSH, &desc);
	return desc;
}

static struct qi_desc devtlb(void)
{
	struct qi_desc desc;

	qi_desc_dev_iotlb(SID, 0, 0, 0, 0, &desc);
	return desc;
}

/* A flush of @count pages and perhaps of a device; whether it went as it should. */
static bool flush(struct fake_unit *unit, unsigned int first_id,
		  unsigned int count, bool device)
{
	struct qi_desc desc[MAX_BATCH];
	unsigned int i, at = count / 2;
	int rc;

	for (i = 0; i < count; i++)
		desc[i] = iotlb(unit, first_id + i);
	if (device)
		desc[at] = devtlb();
	rc = qi_submit_sync(&unit->iommu, desc, count, 0);
	for (i = 0; i < count; i++) {
		if (!(device && i == at) && !READ_ONCE(unit->done[first_id + i]))
			return false;
	}
	return rc == (device ? -ETIMEDOUT : 0);
}

static int flush_in_thread(void *data)
{
	struct flusher *flusher = data;
	struct fake_unit *unit = flusher->unit;
	unsigned int i;

	for (i = 0; i < FLUSHES; i++) {
		if (!flush(unit, flusher->first_id,
			   1 + get_random_u32_below(MAX_BATCH), false))
			atomic_inc(&unit->wrong);
		cond_resched();
	}
	if (atomic_dec_and_test(&unit->working))
		complete(&unit->ended);
	return 0;
}

static void start_flushers(struct kunit *test)
{
	struct fake_unit *unit = test->priv;
	struct task_struct *thread;
	unsigned int i;

	/* The test itself is one of them, until all have begun. */
	atomic_set(&unit->working, 1);
	for (i = 0; i < THREADS; i++) {
		unit->flusher[i].unit = unit;
		unit->flusher[i].first_id = i * MAX_BATCH;
		atomic_inc(&unit->working);
		thread = kthread_run(flush_in_thread, &unit->flusher[i],
				     "qi-flush-%u", i);
		if (IS_ERR(thread)) {
			atomic_dec(&unit->working);
			KUNIT_FAIL(test, "no thread %u", i);
		}
	}
}

static void wait_for_flushers(struct kunit *test)
{
	struct fake_unit *unit = test->priv;

	if (!atomic_dec_and_test(&unit->working))
		wait_for_completion(&unit->ended);
	KUNIT_EXPECT_EQ(test, atomic_read(&unit->wrong), 0);
	KUNIT_EXPECT_EQ(test, qi_ring_used(&unit->ring), 0);
}

static void threads_flush_at_once(struct kunit *test)
{
	start_unit(test->priv);
	start_flushers(test);
	wait_for_flushers(test);
}

/* Case 23: submissions of all sizes, hit in all of their slots. */
static void every_waiter_returns_after_a_timeout(struct kunit *test)
{
	struct fake_unit *unit = test->priv;
	unsigned int count;

	start_unit(unit);
	start_flushers(test);
	for (count = 1; count <= MAX_BATCH; count++)
		KUNIT_EXPECT_TRUE(test, flush(unit, THREADS * MAX_BATCH, count,
					      true));
	wait_for_flushers(test);
	KUNIT_EXPECT_GE(test, unit->timeouts, MAX_BATCH);
}

/* Case 24: its descriptors leave the submission; what else it has is done. */
static void an_absent_device_is_dropped(struct kunit *test)
{
	struct fake_unit *unit = test->priv;
	struct qi_desc desc[2] = { devtlb(), devtlb() };

	start_unit(unit);
	KUNIT_EXPECT_EQ(test, qi_submit_sync(&unit->iommu, desc, 2, 0),
			-ETIMEDOUT);
	KUNIT_EXPECT_GE(test, unit->timeouts, 1);
	KUNIT_EXPECT_TRUE(test, flush(unit, 0, 3, true));
	KUNIT_EXPECT_GE(test, unit->timeouts, 2);
	KUNIT_EXPECT_TRUE(test, flush(unit, 0, 3, false));
	KUNIT_EXPECT_EQ(test, qi_ring_used(&unit->ring), 0);
}

/*
 * The unit works in an interrupt of the CPU that waits for it; with a time-out,
 * so does who finds it.
 */
static void interrupts_stay_on_while_waiting(struct kunit *test)
{
	struct fake_unit *unit = test->priv;
	unsigned int i;

	migrate_disable();
	start_unit(unit);
	for (i = 0; i < 50; i++)
		KUNIT_EXPECT_TRUE(test, flush(unit, 0, 1 + i % MAX_BATCH,
					      i % 10 == 9));
	migrate_enable();
	KUNIT_EXPECT_EQ(test, qi_ring_used(&unit->ring), 0);
}

/* As a flush of several units does it: all are told, and then waited for. */
static void submissions_are_waited_for_in_any_order(struct kunit *test)
{
	struct fake_unit *unit = test->priv;
	struct qi_request req[8];
	struct qi_desc desc[8];
	unsigned int i;

	for (i = 0; i < 8; i++) {
		desc[i] = iotlb(unit, i);
		req[i] = (struct qi_request) {
			.iommu = &unit->iommu,
			.desc = &desc[i],
			.count = 1,
		};
		qi_submit(&req[i]);
	}
	KUNIT_EXPECT_EQ(test, qi_ring_used(&unit->ring), 16);
	start_unit(unit);
	for (i = 8; i--;) {
		KUNIT_EXPECT_EQ(test, qi_wait(&req[i]), 0);
		KUNIT_EXPECT_TRUE(test, READ_ONCE(unit->done[i]));
	}
	KUNIT_EXPECT_EQ(test, qi_ring_used(&unit->ring), 0);
}

static int unit_init(struct kunit *test)
{
	struct fake_unit *unit = kunit_kzalloc(test, sizeof(*unit), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, unit);
	unit->reg = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	unit->desc = kunit_kzalloc(test, QI_RING_SLOTS << SHIFT, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, unit->reg);
	KUNIT_ASSERT_NOT_NULL(test, unit->desc);
	KUNIT_ASSERT_EQ(test, 0, qi_ring_init(&unit->ring,
					      (void __iomem __force *)unit->reg,
					      unit->desc, SHIFT, GFP_KERNEL));
	spin_lock_init(&unit->iommu.device_rbtree_lock);
	unit->iommu.device_rbtree = RB_ROOT;
	unit->iommu.qi = &unit->ring;
	hrtimer_init(&unit->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	unit->timer.function = work_in_timer;
	init_completion(&unit->ended);
	test->priv = unit;
	return 0;
}

static void unit_exit(struct kunit *test)
{
	struct fake_unit *unit = test->priv;

	if (!unit)
		return;
	hrtimer_cancel(&unit->timer);
	qi_ring_destroy(&unit->ring);
}

static struct kunit_case qi_ring_cases[] = {
	KUNIT_CASE(threads_flush_at_once),
	KUNIT_CASE(every_waiter_returns_after_a_timeout),
	KUNIT_CASE(an_absent_device_is_dropped),
	KUNIT_CASE(interrupts_stay_on_while_waiting),
	KUNIT_CASE(submissions_are_waited_for_in_any_order),
	{}
};

static struct kunit_suite qi_ring_suite = {
	.name = "intel_qi_ring",
	.init = unit_init,
	.exit = unit_exit,
	.test_cases = qi_ring_cases,
};

kunit_test_suite(qi_ring_suite);

MODULE_DESCRIPTION("KUnit tests of the invalidation queue of VT-d");
MODULE_LICENSE("GPL");
