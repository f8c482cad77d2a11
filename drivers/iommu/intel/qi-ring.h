/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The invalidation queue of a VT-d unit: submitted under a lock that is held
 * briefly, waited for under none. See qi-ring.c.
 */
#ifndef _INTEL_QI_RING_H_
#define _INTEL_QI_RING_H_

#include <linux/cache.h>
#include <linux/io.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "iommu.h"

/* Slots of the ring; what the base address register is told, 4 KiB or 8. */
#define QI_RING_SLOTS		QI_LENGTH
/* At most one slot less is in use, so that a full ring is not an empty one. */
#define QI_RING_ROOM		(QI_RING_SLOTS - 1)
/* Longest submission, in descriptors: its wait descriptor comes on top. */
#define QI_RING_MAX		(QI_RING_ROOM - 1)
/* The status word that wait descriptors write which nobody waits for. */
#define QI_RING_SCRATCH		QI_RING_SLOTS
/* Status words that the unit writes. */
#define QI_RING_STATUS_WORDS	(QI_RING_SLOTS + 1)
/* How often waiters look at the fault status, all of them together. */
#define QI_RING_CHECKS_PER_MS	10

/**
 * struct qi_verdict - what became of a submission that a fault hit
 * @pos: position of its wait descriptor
 * @err: -EAGAIN: parts of it were not done; -EINVAL: the unit refused it
 */
struct qi_verdict {
	u32	pos;
	int	err;
};

/**
 * struct qi_fault - a fault, for the log
 * @fsts: fault status register, as it was before it was cleared
 * @iqer: invalidation queue error record
 * @desc: where the unit's head stood, and the descriptor before that
 */
struct qi_fault {
	u32		fsts;
	u64		iqer;
	struct qi_desc	desc[2];
};

/**
 * struct qi_ring - an invalidation queue
 * @lock: protects @head, @tail, @len, @verdict and the descriptors
 * @head: position after the last submission; read without @lock, too
 * @len: by slot of a submission's first descriptor: its slots
 * @bell: held for a write to the unit's tail register; only ever tried
 * @rung: up to here, exclusive, the unit knows of submissions
 * @tail: position of the oldest submission that is not reclaimed
 * @faults: faults handled; changes before anyone can see what a fault did
 * @checked: cycles when a waiter last read the fault status
 * @reg: the unit's registers
 * @desc: its descriptors
 * @shift: log2 of a slot's bytes, 4 or 5
 * @status: by slot of a wait descriptor: its position, once it is done. Written
 *	by the unit, and at @QI_RING_SCRATCH for nobody
 * @status_phys: physical address of @status
 * @verdict: by slot of a wait descriptor
 * @report: tells the log of a fault, under no lock; may be NULL
 * @owner: whose ring it is, for @report
 */
struct qi_ring {
	raw_spinlock_t		lock ____cacheline_aligned_in_smp;
	u32			head;
	u8			len[QI_RING_SLOTS];

	raw_spinlock_t		bell ____cacheline_aligned_in_smp;
	u32			rung;

	u32			tail ____cacheline_aligned_in_smp;
	u32			faults;
	unsigned long		checked;
	void __iomem		*reg;
	void			*desc;
	unsigned int		shift;
	u32			*status;
	phys_addr_t		status_phys;
	struct qi_verdict	*verdict;
	void			(*report)(struct qi_ring *ring,
					  const struct qi_fault *fault);
	void			*owner;
};

/**
 * struct qi_ticket - a submission that can be waited for
 * @pos: position of its wait descriptor
 * @faults: &qi_ring.faults when it was submitted
 */
struct qi_ticket {
	u32	pos;
	u32	faults;
};

int qi_ring_init(struct qi_ring *ring, void __iomem *reg, void *desc,
		 unsigned int shift, gfp_t gfp);
void qi_ring_destroy(struct qi_ring *ring);
void qi_ring_reset(struct qi_ring *ring);
void qi_ring_submit(struct qi_ring *ring, const struct qi_desc *desc,
		    unsigned int count, u64 wait_flags,
		    struct qi_ticket *ticket);
int qi_ring_wait(struct qi_ring *ring, const struct qi_ticket *ticket);
unsigned int qi_ring_used(struct qi_ring *ring);

/**
 * struct qi_request - what one caller asks of a unit; see dmar.c
 * @iommu: the unit
 * @desc: descriptors
 * @count: how many, 1 to QI_RING_MAX
 * @options: QI_OPT_*
 * @ticket: of the submission that is under way
 * @begin: when it was asked, in nanoseconds, if that is measured; else 0
 */
struct qi_request {
	struct intel_iommu	*iommu;
	struct qi_desc		*desc;
	unsigned int		count;
	unsigned long		options;
	struct qi_ticket	ticket;
	u64			begin;
};

void qi_submit(struct qi_request *req);
int qi_wait(struct qi_request *req);

#endif
