// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "qi-unit.h"

struct qi_unit qi_unit;

static u32 slots_ahead(u32 to, u32 from)
{
	return (to - from) % QI_LENGTH;
}

static void lock(void)
{
	pthread_mutex_lock(&qi_unit.mutex);
}

static void unlock(void)
{
	pthread_mutex_unlock(&qi_unit.mutex);
}

static struct qi_unit_item *add_item(u64 due)
{
	struct qi_unit_item *item;

	BUG_ON(qi_unit.items == QI_LENGTH);
	item = &qi_unit.item[(qi_unit.first + qi_unit.items++) % QI_LENGTH];
	if (due < qi_unit.last_due)
		due = qi_unit.last_due;
	qi_unit.last_due = due;
	*item = (struct qi_unit_item) { .due = due };
	return item;
}

static void fetch_wait(u64 now, const struct qi_desc *desc)
{
	u32 *word = (u32 *)(unsigned long)desc->qw1;
	struct qi_unit_item *item = add_item(now);

	sim_check(desc->qw0 & QI_IWD_STATUS_WRITE, "qw0 %llx",
		  (unsigned long long)desc->qw0);
	sim_check(word >= qi_unit.ring.status &&
		  word < qi_unit.ring.status + QI_RING_STATUS_WORDS,
		  "qw1 %llx", (unsigned long long)desc->qw1);
	item->word = word;
	item->data = desc->qw0 >> 32;
	if (++qi_unit.waits > qi_unit.max_waits)
		qi_unit.max_waits = qi_unit.waits;
}

static void fetch(u64 now)
{
	struct qi_unit_item *item;
	struct qi_desc desc = {};

	while (!qi_unit.fsts && qi_unit.head != qi_unit.tail) {
		memcpy(&desc, qi_unit.desc +
		       (qi_unit.head << qi_unit.ring.shift),
		       1U << qi_unit.ring.shift);
		switch (desc.qw0 & 0xf) {
		case QI_IWD_TYPE:
			fetch_wait(now, &desc);
			break;
		case QI_IOTLB_TYPE:
		case QI_DIOTLB_TYPE:
			item = add_item(now + qi_unit.latency);
			item->id = desc.qw1;
			item->silent = (desc.qw0 & 0xf) == QI_DIOTLB_TYPE &&
				READ_ONCE(qi_unit.silent[desc.qw0 >> 32]);
			if (item->silent)
				item->due = now + qi_unit.timeout;
			break;
		default:
			qi_unit.refused++;
			qi_unit.fsts |= DMA_FSTS_IQE;
			return;
		}
		qi_unit.head = (qi_unit.head + 1) % QI_LENGTH;
	}
}

/* All that was fetched and is not done is forgotten. */
static void give_up(void)
{
	qi_unit.timeouts++;
	qi_unit.fsts |= DMA_FSTS_ITE;
	qi_unit.items = 0;
	qi_unit.waits = 0;
	qi_unit.last_due = 0;
}

static void complete(const struct qi_unit_item *item)
{
	if (!item->word) {
		WRITE_ONCE(qi_unit.done[item->id % QI_UNIT_IDS], true);
		return;
	}
	/* As by DMA: what was done before is seen before. */
	__atomic_store_n(item->word, item->data, __ATOMIC_RELEASE);
	qi_unit.waits--;
}

static void advance_locked(u64 now)
{
	const struct qi_unit_item *item;

	fetch(now);
	while (qi_unit.items) {
		item = &qi_unit.item[qi_unit.first];
		if (item->due > now)
			return;
		if (item->silent) {
			give_up();
			return;
		}
		complete(item);
		qi_unit.first = (qi_unit.first + 1) % QI_LENGTH;
		qi_unit.items--;
	}
}

void qi_unit_advance(u64 now)
{
	lock();
	advance_locked(now);
	unlock();
}

static unsigned long offset(const void *reg)
{
	return (const u8 *)reg - qi_unit.reg;
}

u32 readl(const void *reg)
{
	u32 value = 0;

	qi_spend(QI_UNIT_READ);
	lock();
	switch (offset(reg)) {
	case DMAR_FSTS_REG:
		qi_unit.fsts_reads++;
		value = qi_unit.fsts;
		break;
	case DMAR_IQH_REG:
		value = qi_unit.head << qi_unit.ring.shift;
		break;
	default:
		BUG_ON(true);
	}
	unlock();
	return value;
}

u64 readq(const void *reg)
{
	BUG_ON(offset(reg) != DMAR_IQER_REG);
	return 0;
}

static void write_tail(u32 value)
{
	u32 tail = value >> qi_unit.ring.shift;

	BUG_ON(tail >= QI_LENGTH || value != tail << qi_unit.ring.shift);
	qi_unit.doorbells++;
	/* It moves on, and not past what is not fetched. */
	sim_check(slots_ahead(tail, qi_unit.head) >=
		  slots_ahead(qi_unit.tail, qi_unit.head),
		  "head %u, tail %u to %u", qi_unit.head, qi_unit.tail, tail);
	qi_unit.tail = tail;
}

void writel(u32 value, void *reg)
{
	qi_spend(QI_UNIT_WRITE);
	lock();
	switch (offset(reg)) {
	case DMAR_IQT_REG:
		write_tail(value);
		break;
	case DMAR_FSTS_REG:
		qi_unit.fsts &= ~value;
		break;
	default:
		BUG_ON(true);
	}
	unlock();
}

void qi_unit_begin(unsigned int shift, u64 latency)
{
	memset(&qi_unit, 0, sizeof(qi_unit));
	pthread_mutex_init(&qi_unit.mutex, NULL);
	qi_unit.latency = latency;
	qi_unit.timeout = 300 * 1000;
	qi_unit.desc = calloc(QI_LENGTH, 1U << shift);
	BUG_ON(!qi_unit.desc);
	BUG_ON(qi_ring_init(&qi_unit.ring, qi_unit.reg, qi_unit.desc, shift,
			    GFP_KERNEL));
}

void qi_unit_end(void)
{
	qi_ring_destroy(&qi_unit.ring);
	free(qi_unit.desc);
	pthread_mutex_destroy(&qi_unit.mutex);
}

struct qi_desc qi_unit_iotlb(u32 id)
{
	return (struct qi_desc) { .qw0 = QI_IOTLB_TYPE, .qw1 = id };
}

struct qi_desc qi_unit_devtlb(u32 id, unsigned int sid)
{
	return (struct qi_desc) {
		.qw0 = QI_DIOTLB_TYPE | QI_DEV_IOTLB_SID(sid),
		.qw1 = id,
	};
}
