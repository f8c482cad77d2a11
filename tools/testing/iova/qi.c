// SPDX-License-Identifier: GPL-2.0-only
/*
 * The invalidation queue, on a unit whose time is the test's. What a wait says
 * was done, the unit must have done.
 */
#include "qi-tasks.h"
#include "test.h"

#define LATENCY		5000
#define MAX_BATCH	16
#define MSEC		1000000

static u32 next_id;

/**
 * struct batch - descriptors that are submitted together
 * @desc: they
 * @count: how many
 * @ticket: by which they are waited for
 */
struct batch {
	struct qi_desc		desc[MAX_BATCH];
	unsigned int		count;
	struct qi_ticket	ticket;
};

FIXTURE(qi) {
};

FIXTURE_VARIANT(qi) {
	unsigned int shift;
};

FIXTURE_VARIANT_ADD(qi, slots_of_16_bytes) {
	.shift = 4,
};

FIXTURE_VARIANT_ADD(qi, slots_of_32_bytes) {
	.shift = 5,
};

FIXTURE_SETUP(qi)
{
	qi_tasks_begin();
	qi_unit_begin(variant->shift, LATENCY);
	next_id = 0;
}

FIXTURE_TEARDOWN(qi)
{
	qi_unit_end();
	sim_check(!sim_memory.live, "%ld objects", sim_memory.live);
}

static struct qi_ring *ring = &qi_unit.ring;

static u32 new_id(void)
{
	u32 id = next_id++ % QI_UNIT_IDS;

	qi_unit.done[id] = false;
	return id;
}

static struct batch new_batch(unsigned int count)
{
	struct batch batch = { .count = count };
	unsigned int i;

	for (i = 0; i < count; i++)
		batch.desc[i] = qi_unit_iotlb(new_id());
	return batch;
}

static void submit(struct batch *batch)
{
	qi_ring_submit(ring, batch->desc, batch->count, 0, &batch->ticket);
}

/* A wait may only say that all is done if it is. */
static int wait_for(struct batch *batch)
{
	int rc = qi_ring_wait(ring, &batch->ticket);
	unsigned int i;

	for (i = 0; !rc && i < batch->count; i++)
		sim_check(qi_unit.done[batch->desc[i].qw1],
			  "descriptor %u of %u", i, batch->count);
	return rc;
}

/* What is for devices that do not answer leaves the batch. */
static void drop_silent(struct batch *batch)
{
	unsigned int i, kept = 0;

	for (i = 0; i < batch->count; i++) {
		if ((batch->desc[i].qw0 & 0xf) != QI_DIOTLB_TYPE ||
		    !qi_unit.silent[batch->desc[i].qw0 >> 32])
			batch->desc[kept++] = batch->desc[i];
	}
	batch->count = kept;
}

/* As who flushes does it; how often it had to be submitted. */
static unsigned int flush(struct batch *batch)
{
	unsigned int times = 1;
	int rc;

	for (submit(batch); (rc = wait_for(batch)) == -EAGAIN; submit(batch)) {
		drop_silent(batch);
		times++;
	}
	sim_check(!rc, "%d", rc);
	return times;
}

/* All slots come back, once the unit has nothing to do. */
static void expect_empty(struct __test_metadata *_metadata)
{
	qi_unit_advance(qi_now() + 1000 * 1000 * 1000);
	EXPECT_EQ(0, qi_ring_used(ring));
}

TEST_F(qi, positions_wrap_and_all_sizes_fit)
{
	unsigned int i;

	for (i = 0; i < 40 * QI_LENGTH; i++) {
		struct batch batch = new_batch(i % (MAX_BATCH + 1));

		submit(&batch);
		ASSERT_EQ(0, wait_for(&batch));
	}
	EXPECT_EQ(qi_unit.doorbells, i);
	EXPECT_EQ(0, qi_unit.fsts_reads);
	expect_empty(_metadata);
}

TEST_F(qi, the_longest_submission_fits)
{
	struct qi_desc desc[QI_RING_MAX];
	struct qi_ticket ticket;
	unsigned int i, n;

	for (n = 0; n < 5; n++) {
		for (i = 0; i < QI_RING_MAX; i++)
			desc[i] = qi_unit_iotlb(new_id());
		qi_ring_submit(ring, desc, QI_RING_MAX, 0, &ticket);
		ASSERT_EQ(0, qi_ring_wait(ring, &ticket));
		for (i = 0; i < QI_RING_MAX; i++)
			ASSERT_TRUE(qi_unit.done[desc[i].qw1]);
	}
	expect_empty(_metadata);
}

/* Also to whom it took so long to look that its slots have another's wait. */
TEST_F(qi, who_comes_back_late_is_told_that_it_is_done)
{
	struct batch late = new_batch(3), batch;
	unsigned int i;

	submit(&late);
	for (i = 0; i < 200; i++) {
		batch = new_batch(3);
		ASSERT_EQ(1, flush(&batch));
	}
	EXPECT_EQ(0, wait_for(&late));
	expect_empty(_metadata);
}

/* Tickets that nobody waits for take no room from others. */
TEST_F(qi, nobody_owns_slots)
{
	struct batch batch[200];
	unsigned int i;

	for (i = 0; i < 200; i++) {
		batch[i] = new_batch(i % 5);
		submit(&batch[i]);
	}
	EXPECT_LE(ring->head - ring->tail, QI_RING_ROOM);
	while (i--)
		EXPECT_EQ(0, wait_for(&batch[i]));
	expect_empty(_metadata);
}

/* The doorbell is left to who holds it, or rung by the waiter. */
TEST_F(qi, a_bell_that_was_taken_is_rung_later)
{
	struct batch batch = new_batch(2);

	sim_locks.contended = 1;
	submit(&batch);
	EXPECT_EQ(0, sim_locks.contended);
	EXPECT_EQ(0, qi_unit.doorbells);
	EXPECT_EQ(0, wait_for(&batch));
	EXPECT_EQ(1, qi_unit.doorbells);
}

/* Who needs room rings for the one that he has interrupted. */
TEST_F(qi, a_full_ring_that_the_unit_does_not_know_of)
{
	struct batch batch[16], last;
	unsigned int i;

	sim_locks.contended = 15;
	for (i = 0; i < 15; i++) {
		batch[i] = new_batch(MAX_BATCH);
		submit(&batch[i]);
	}
	ASSERT_EQ(0, qi_unit.doorbells);
	last = new_batch(MAX_BATCH);
	EXPECT_EQ(1, flush(&last));
	EXPECT_EQ(2, qi_unit.doorbells);
	while (i--)
		EXPECT_EQ(0, wait_for(&batch[i]));
}

TEST_F(qi, one_doorbell_for_all_that_was_submitted)
{
	struct batch first = new_batch(1), second = new_batch(1);

	sim_locks.contended = 1;
	submit(&first);
	submit(&second);
	EXPECT_EQ(1, qi_unit.doorbells);
	EXPECT_EQ(0, wait_for(&first));
	EXPECT_EQ(0, wait_for(&second));
	EXPECT_EQ(1, qi_unit.doorbells);
}

/* I6: by all waiters together, and none before one has waited that long. */
static void wait_long(unsigned int task)
{
	struct batch batch = new_batch(1);

	flush(&batch);
}

TEST_F(qi, fault_status_is_read_at_a_bounded_rate)
{
	unsigned int nr;

	qi_unit.latency = MSEC / QI_RING_CHECKS_PER_MS - 10000;
	qi_tasks_run(QI_TASKS, wait_long);
	EXPECT_EQ(0, qi_unit.fsts_reads);

	qi_unit.latency = 20 * MSEC;
	for (nr = 1; nr <= QI_TASKS; nr *= 2) {
		qi_unit.fsts_reads = 0;
		qi_tasks_run(nr, wait_long);
		EXPECT_LE(qi_unit.fsts_reads, 20 * QI_RING_CHECKS_PER_MS + 1);
		EXPECT_GE(qi_unit.fsts_reads, 20 * QI_RING_CHECKS_PER_MS / 2);
	}
}

/*
 * Case 23: the submissions that a time-out hits are of any size, so that their
 * wait descriptors are in any slot.
 */
TEST_F(qi, a_timeout_hits_submissions_of_any_size)
{
	unsigned int silent, before, after, again, n;
	struct batch batch[4];

	qi_unit.silent[1] = true;
	for (n = 0; n < MAX_BATCH * 16; n++) {
		silent = 1 + n / 16;
		before = n / 4 % 4;
		after = n % 4;
		batch[0] = new_batch(before);
		batch[1] = new_batch(silent);
		batch[1].desc[before * silent / 4] =
			qi_unit_devtlb(new_id(), 1);
		batch[2] = new_batch(after);
		batch[3] = new_batch(silent);
		for (again = 0; again < 4; again++)
			submit(&batch[again]);
		/* Before the device, all is done; behind it, nothing. */
		EXPECT_EQ(0, wait_for(&batch[0]));
		EXPECT_EQ(-EAGAIN, wait_for(&batch[1]));
		EXPECT_EQ(-EAGAIN, wait_for(&batch[2]));
		EXPECT_EQ(-EAGAIN, wait_for(&batch[3]));
		for (again = 1; again < 4; again++) {
			drop_silent(&batch[again]);
			ASSERT_EQ(1, flush(&batch[again]));
		}
		expect_empty(_metadata);
	}
	EXPECT_EQ(MAX_BATCH * 16, qi_unit.timeouts);
}

/* The unit stops between a submission's descriptors and its wait descriptor. */
TEST_F(qi, a_timeout_hits_half_a_submission)
{
	struct batch first = new_batch(1), second = new_batch(4);

	qi_unit.silent[1] = true;
	first.desc[0] = qi_unit_devtlb(new_id(), 1);
	submit(&first);
	qi_unit_advance(qi_now());
	/* What comes is seen by a unit that is at a stop, after two slots. */
	sim_locks.contended = 1;
	submit(&second);
	qi_unit.tail = (qi_unit.tail + 2) % QI_LENGTH;
	qi_unit_advance(qi_now());
	qi_unit_advance(qi_now() + qi_unit.timeout);
	EXPECT_EQ(-EAGAIN, wait_for(&first));
	EXPECT_EQ(-EAGAIN, wait_for(&second));
	EXPECT_EQ(1, flush(&second));
	expect_empty(_metadata);
}

/* Its slots are in use again when the waiter looks: he has to ask again. */
TEST_F(qi, who_comes_back_late_after_a_timeout_submits_again)
{
	struct batch late = new_batch(2), batch;
	unsigned int i;

	qi_unit.silent[1] = true;
	late.desc[1] = qi_unit_devtlb(new_id(), 1);
	submit(&late);
	for (i = 0; i < 300; i++) {
		batch = new_batch(2);
		flush(&batch);
	}
	EXPECT_EQ(1, qi_unit.timeouts);
	EXPECT_EQ(-EAGAIN, wait_for(&late));
	drop_silent(&late);
	EXPECT_EQ(1, flush(&late));
	expect_empty(_metadata);
}

TEST_F(qi, a_refused_descriptor_is_its_submissions_fault)
{
	struct batch batch[3];
	unsigned int bad, i;

	for (bad = 0; bad < MAX_BATCH; bad++) {
		for (i = 0; i < 3; i++)
			batch[i] = new_batch(MAX_BATCH);
		batch[1].desc[bad].qw0 = QI_UNIT_BAD;
		for (i = 0; i < 3; i++)
			submit(&batch[i]);
		EXPECT_EQ(0, wait_for(&batch[0]));
		EXPECT_EQ(-EINVAL, wait_for(&batch[1]));
		EXPECT_EQ(0, wait_for(&batch[2]));
		/* The others of it were executed. */
		for (i = 0; i < MAX_BATCH; i++)
			EXPECT_EQ(i != bad, qi_unit.done[batch[1].desc[i].qw1]);
		expect_empty(_metadata);
	}
	EXPECT_EQ(MAX_BATCH, qi_unit.refused);
}

TEST_F(qi, a_reset_sends_waiters_back)
{
	struct batch batch = new_batch(3);

	submit(&batch);
	qi_ring_reset(ring);
	/* The unit, switched off and on. */
	qi_unit.head = 0;
	qi_unit.tail = 0;
	EXPECT_EQ(-EAGAIN, wait_for(&batch));
	EXPECT_EQ(1, flush(&batch));
	expect_empty(_metadata);
}

TEST_F(qi, without_memory_there_is_no_ring)
{
	struct qi_ring other;
	unsigned int n;

	for (n = 1; n <= 2; n++) {
		sim_memory.fail_at = sim_memory.calls + n;
		EXPECT_EQ(-ENOMEM, qi_ring_init(&other, qi_unit.reg,
						qi_unit.desc, variant->shift,
						GFP_KERNEL));
	}
	sim_memory.fail_at = 0;
}

/* All of it at once: devices fall silent, and descriptors are refused. */
static void anything(unsigned int task)
{
	unsigned int i, n, times;
	struct batch batch;
	int rc;

	for (n = 0; n < SCALE(60, 5000); n++) {
		batch = new_batch(sim_random_below(MAX_BATCH + 1));
		for (i = 0; i < batch.count; i++) {
			if (sim_random_below(4) == 0)
				batch.desc[i] =
					qi_unit_devtlb(new_id(),
						       sim_random_below(QI_UNIT_SIDS));
			else if (sim_random_below(500) == 0)
				batch.desc[i].qw0 = QI_UNIT_BAD;
		}
		if (sim_random_below(100) == 0)
			qi_unit.silent[sim_random_below(QI_UNIT_SIDS)] ^= true;
		if (sim_random_below(8) == 0)
			sim_locks.contended = 1;
		for (times = 0; times < 1000; times++) {
			submit(&batch);
			rc = wait_for(&batch);
			if (rc != -EAGAIN)
				break;
			drop_silent(&batch);
		}
		sim_check(!rc || rc == -EINVAL, "%d", rc);
	}
}

TEST_F(qi, every_waiter_returns_whatever_happens)
{
	for (sim_seed = 1; sim_seed <= SCALE(4, 40); sim_seed++) {
		qi_tasks_run(1 + sim_seed * 5 % QI_TASKS, anything);
		expect_empty(_metadata);
	}
	TH_LOG("%lu doorbells, %lu time-outs, %lu refusals, %u at a time",
	       qi_unit.doorbells, qi_unit.timeouts, qi_unit.refused,
	       qi_unit.max_waits);
	EXPECT_GT(qi_unit.timeouts, 10);
	EXPECT_GT(qi_unit.refused, 3);
}

/* No lock is held while another is taken. */
TEST_F(qi, locks_do_not_nest)
{
	const char *outer, *inner;

	qi_unit.silent[1] = true;
	qi_tasks_run(4, anything);
	EXPECT_FALSE(sim_lock_order(0, &outer, &inner));
}

TEST_HARNESS_MAIN
