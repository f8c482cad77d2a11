/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A VT-d unit that has nothing but its invalidation queue. It takes a while for
 * each descriptor, many at a time; completes them in the order of the ring; waits
 * for devices that never answer, and gives up; and refuses what it does not know.
 * It notes which descriptors it has really done.
 */
#ifndef _QI_UNIT_H
#define _QI_UNIT_H

#include <pthread.h>

#include <intel/iommu.h>

#include "../../../drivers/iommu/intel/qi-ring.h"
#include "sim.h"

#define QI_UNIT_IDS	(1U << 16)
#define QI_UNIT_SIDS	8
/* A descriptor type that it refuses. */
#define QI_UNIT_BAD	0xf
/* Nanoseconds that an access to a register takes. */
#define QI_UNIT_READ	1000
#define QI_UNIT_WRITE	200

/**
 * struct qi_unit_item - a descriptor that was fetched and is not done
 * @due: when it will be
 * @id: of an invalidation, its number
 * @word: of a wait descriptor, what it writes, else NULL
 * @data: of a wait descriptor, what is written
 * @silent: it is for a device that does not answer
 */
struct qi_unit_item {
	u64	due;
	u32	id;
	u32	*word;
	u32	data;
	bool	silent;
};

/**
 * struct qi_unit - the unit and its queue
 * @ring: what is tested
 * @latency: of an invalidation, nanoseconds
 * @timeout: after which a device is given up, nanoseconds
 * @silent: by source id: it never answers
 * @done: by number of an invalidation: the unit has done it
 * @doorbells: writes to the tail register
 * @fsts_reads: reads of the fault status register
 * @timeouts: devices given up
 * @refused: descriptors refused
 * @waits: wait descriptors that are under way
 * @max_waits: the most there were at a time
 *
 * The rest is the unit's own.
 */
struct qi_unit {
	struct qi_ring	ring;
	u64		latency;
	u64		timeout;
	bool		silent[QI_UNIT_SIDS];
	bool		done[QI_UNIT_IDS];
	unsigned long	doorbells;
	unsigned long	fsts_reads;
	unsigned long	timeouts;
	unsigned long	refused;
	unsigned int	waits;
	unsigned int	max_waits;

	pthread_mutex_t	mutex;
	u8		reg[0x100];
	void		*desc;
	u32		head;
	u32		tail;
	u32		fsts;
	u64		last_due;
	struct qi_unit_item item[QI_LENGTH];
	unsigned int	first;
	unsigned int	items;
};

/* There is one, and it begins anew. */
extern struct qi_unit qi_unit;
void qi_unit_begin(unsigned int shift, u64 latency);
void qi_unit_end(void);
/* What happens until @now. */
void qi_unit_advance(u64 now);

/* The time; whoever runs the test has it. */
u64 qi_now(void);
void qi_spend(u64 ns);

/* Descriptor number @id: of the IOTLB, or of the device @sid. */
struct qi_desc qi_unit_iotlb(u32 id);
struct qi_desc qi_unit_devtlb(u32 id, unsigned int sid);

#endif
