/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In the place of drivers/iommu/intel/iommu.h: what the invalidation queue needs
 * of it. Included before everything else, it takes that file's place in a kernel
 * tree, too. Registers are those of a unit of qi-unit.c.
 */
#ifndef _INTEL_IOMMU_H_
#define _INTEL_IOMMU_H_

#include <linux/align.h>
#include <linux/atomic.h>
#include <linux/io.h>
#include <linux/kernel.h>
#include <linux/spinlock.h>

#define DMAR_FSTS_REG		0x34
#define DMAR_IQH_REG		0x80
#define DMAR_IQT_REG		0x88
#define DMAR_IQER_REG		0xb0
#define DMAR_IQ_SHIFT		4

#define DMA_FSTS_IQE		(1 << 4)
#define DMA_FSTS_ICE		(1 << 5)
#define DMA_FSTS_ITE		(1 << 6)

#define QI_LENGTH		256
#define QI_IOTLB_TYPE		0x2
#define QI_DIOTLB_TYPE		0x3
#define QI_IWD_TYPE		0x5
#define QI_IWD_STATUS_DATA(d)	(((u64)(d)) << 32)
#define QI_IWD_STATUS_WRITE	(1ULL << 5)
#define QI_IWD_PRQ_DRAIN	(1ULL << 7)
#define QI_DEV_IOTLB_SID(sid)	((u64)((sid) & 0xffff) << 32)

struct intel_iommu;

struct qi_desc {
	u64 qw0;
	u64 qw1;
	u64 qw2;
	u64 qw3;
};

#define dmar_readq(reg)		readq(reg)

/* A nanosecond. */
#define tsc_khz			1000000UL
u64 get_cycles(void);

void sim_relax(void);
#define cpu_relax()		sim_relax()

#endif
