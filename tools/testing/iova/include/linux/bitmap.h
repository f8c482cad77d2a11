/* SPDX-License-Identifier: GPL-2.0-only */
/* Bitmaps that several may change at once. */
#ifndef _SIM_BITMAP_H
#define _SIM_BITMAP_H

#include <linux/bitops.h>
#include <linux/slab.h>

static inline unsigned long *bitmap_zalloc(unsigned int bits, gfp_t gfp)
{
	return kzalloc(BITS_TO_LONGS(bits) * sizeof(long), gfp);
}

static inline void bitmap_free(unsigned long *map)
{
	kfree(map);
}

static inline unsigned long bit_mask(unsigned long bit)
{
	return 1UL << (bit % BITS_PER_LONG);
}

static inline bool test_bit(unsigned long bit, const unsigned long *map)
{
	return READ_ONCE(map[bit / BITS_PER_LONG]) & bit_mask(bit);
}

static inline void set_bit(unsigned long bit, unsigned long *map)
{
	__atomic_fetch_or(&map[bit / BITS_PER_LONG], bit_mask(bit),
			  __ATOMIC_SEQ_CST);
}

static inline void clear_bit(unsigned long bit, unsigned long *map)
{
	__atomic_fetch_and(&map[bit / BITS_PER_LONG], ~bit_mask(bit),
			   __ATOMIC_SEQ_CST);
}

#define for_each_set_bit(bit, map, nr)					\
	for ((bit) = 0; (bit) < (nr); (bit)++)				\
		if (test_bit(bit, map))

#endif
