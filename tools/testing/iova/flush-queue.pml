/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Model of the epoch protocol of drivers/iommu/flush-queue.c, for spin:
 *
 *	spin -a flush-queue.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan
 *
 * Three CPUs unmap a page each: pages 0 and 1 are of client 0, page 2 of client
 * 1. The timer flushes, and so does a CPU at its high-water mark. A device with
 * ATS is attached to client 0 meanwhile, and detached. Devices load translations
 * whenever they can: into the IOTLB until the page table is cleared, into a device
 * TLB until the IOTLB has lost them.
 *
 * Checked: what is reclaimed, no TLB holds (F2, F3, F5); and all that is queued
 * is reclaimed in the end by the timer alone (F6), since a CPU that waits for
 * ever is an invalid end state.
 *
 * The model is sequentially consistent: each pair of accesses whose order matters
 * has a barrier between them in the code, named there by the letters and numbers
 * used here. MUTANT leaves one thing out at a time, each of which spin must
 * refute:
 *
 *	 1  the mark of c comes after the epoch has been read
 *	 2  flushes overlap
 *	 3  a flush clears the mark after it has flushed
 *	 4  the mark of b comes after that of c
 *	 5  the mark of b is cleared after the flush that takes it
 *	 6  the timer is marked idle after its flush
 *	 7  the timer does not count a flush that has no mark to take
 *	 8  a client becomes extra without waiting for a flush under way
 *	 9  a device TLB is flushed before the IOTLB that fills it
 *	10  the timer is looked at before the epoch has been read
 *	11  the mark of b is set only by who sees that the client is extra
 */
#ifndef MUTANT
#define MUTANT 0
#endif
#define NONE 0
#define MANY 3		/* the only client i is i + 1 */
#define CLIENT(page) (page / 2)

bool iotlb[3];		/* it has the page, whose table is cleared */
bool devtlb[2];		/* the device has it, and the IOTLB has not */
byte started, finished, pending = NONE;
bool flushing, timer_on;
bool queued;		/* of client 0 */
bool extra, ats;	/* so is client 0; its device has a TLB */

/* b */
inline mark_queued(page)
{
	if
#if MUTANT == 11
	:: CLIENT(page) == 0 && extra -> queued = true
#else
	:: CLIENT(page) == 0 && !queued -> queued = true
#endif
	:: else
	fi
}

/* c: a compare and exchange, or nothing to do */
inline mark_pending(page)
{
	atomic {
		if
		:: pending == NONE -> pending = CLIENT(page) + 1
		:: pending != NONE && pending != CLIENT(page) + 1 ->
			pending = MANY
		:: else
		fi
	}
}

proctype unmap(byte page)
{
	byte epoch;

	iotlb[page] = true;			/* a */
#if MUTANT == 1
	epoch = started;
#endif
#if MUTANT != 4
	mark_queued(page);			/* b */
#endif
	mark_pending(page);			/* c */
#if MUTANT == 4
	mark_queued(page);
#endif
#if MUTANT == 10
	bool armed = timer_on;
#endif
#if MUTANT != 1
	epoch = started;			/* d, e */
#endif
#if MUTANT == 10
	if
	:: !armed -> timer_on = true
	:: else
	fi;
#else
	timer_on = true;			/* f, g */
#endif
	(epoch < finished);			/* reclaim */
	assert(!iotlb[page] && (CLIENT(page) == 1 || !devtlb[page % 2]))
}

/* What a device TLB could load, it has. */
inline flush_iotlb_0()
{
	atomic {
		devtlb[0] = devtlb[0] || (ats && iotlb[0]);
		devtlb[1] = devtlb[1] || (ats && iotlb[1]);
		iotlb[0] = false;
		iotlb[1] = false
	}
}

inline flush_devtlb()
{
	if
	:: own -> atomic { devtlb[0] = false; devtlb[1] = false }
	:: else
	fi
}

/* A flush of client 0 alone, which first looks for the TLBs that there are. */
inline flush_own()
{
	own = extra;
#if MUTANT == 9
	flush_devtlb();
	flush_iotlb_0()
#else
	flush_iotlb_0();
	flush_devtlb()
#endif
}

inline clear_queued()
{
	atomic {
		if
		:: extra -> queued = false
		:: else
		fi
	}
}

inline flush_extra()
{
#if MUTANT == 5
	if
	:: extra && queued -> flush_own(); queued = false
	:: else
	fi
#else
	atomic { own = extra && queued; clear_queued() };
	if
	:: own -> flush_own()
	:: else
	fi
#endif
}

/* From 2 on, with the flushing bit taken. */
inline flush(number, p, own)
{
	atomic { started++; number = started }		/* 2 */
#if MUTANT == 3
	p = pending;
#else
	atomic { p = pending; pending = NONE }		/* 3 */
#endif
	if						/* 4 */
	:: p == MANY ->
		flush_iotlb_0();
		iotlb[2] = false;
		flush_extra()				/* 5 */
	:: p == 1 ->
#if MUTANT != 5
		clear_queued();
#endif
		flush_own();
#if MUTANT == 5
		clear_queued()
#endif
	:: p == 2 -> iotlb[2] = false
	:: else
	fi;
#if MUTANT == 3
	pending = NONE;
#endif
	atomic {
		if
		:: number > finished -> finished = number	/* 6 */
		:: else
		fi;
		number = 0; p = 0; own = false
	};
	flushing = false				/* 7 */
}

/* 1; only MUTANT 2 flushes while somebody else does. */
#if MUTANT == 2
#define BUSY	false
#else
#define BUSY	flushing
#endif

proctype timer()
{
	byte number, p;
	bool own;

end:	do
	:: timer_on ->
#if MUTANT != 6
		timer_on = false;
#endif
		if
		:: atomic { BUSY -> timer_on = true }
#if MUTANT == 7
		:: pending == NONE -> skip
		:: atomic { !BUSY && pending != NONE -> flushing = true };
#else
		:: atomic { !BUSY -> flushing = true };
#endif
			flush(number, p, own)
		fi;
#if MUTANT == 6
		timer_on = false
#endif
	od
}

/* At its high-water mark. */
proctype busy_cpu()
{
	byte number, p;
	bool own;

	if
	:: atomic { BUSY -> skip }
	:: atomic { !BUSY -> flushing = true };
		flush(number, p, own)
	fi
}

proctype attach()
{
	byte number, p;
	bool own;

	extra = true;
#if MUTANT != 8
	atomic { !BUSY -> flushing = true };
	flush(number, p, own);
#endif
	ats = true;
	/* Used for a while, and detached. */
	atomic { ats = false; devtlb[0] = false; devtlb[1] = false };
	extra = false
}

init
{
	atomic {
		run unmap(0);
		run unmap(1);
		run unmap(2);
		run timer();
		run busy_cpu();
		run attach()
	}
}
