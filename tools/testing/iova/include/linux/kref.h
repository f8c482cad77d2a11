/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SIM_KREF_H
#define _SIM_KREF_H

#include <linux/atomic.h>

struct kref {
	int refs;
};

static inline void kref_init(struct kref *kref)
{
	kref->refs = 1;
}

static inline void kref_get(struct kref *kref)
{
	BUG_ON(__atomic_fetch_add(&kref->refs, 1, __ATOMIC_RELAXED) < 1);
}

static inline void kref_put(struct kref *kref,
			    void (*release)(struct kref *kref))
{
	int left = __atomic_sub_fetch(&kref->refs, 1, __ATOMIC_ACQ_REL);

	BUG_ON(left < 0);
	if (!left)
		release(kref);
}

#endif
