/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * max_opt_dma_size of an IOMMU group; see iommu-opt-size.c.
 */
#ifndef __IOMMU_OPT_SIZE_H
#define __IOMMU_OPT_SIZE_H

#include <linux/errno.h>
#include <linux/types.h>

struct iommu_group;

/* iommu.c */
size_t iommu_group_opt_size(struct iommu_group *group);

#ifdef CONFIG_IOMMU_DMA

int iommu_opt_size_parse(const char *buf, size_t *bytes);
size_t iommu_opt_size_initial(void);
size_t iommu_opt_size_show(size_t in_force, size_t wanted);

#else /* CONFIG_IOMMU_DMA */

static inline int iommu_opt_size_parse(const char *buf, size_t *bytes)
{
	return -EOPNOTSUPP;
}

static inline size_t iommu_opt_size_initial(void)
{
	return 0;
}

static inline size_t iommu_opt_size_show(size_t in_force, size_t wanted)
{
	return in_force;
}

#endif /* CONFIG_IOMMU_DMA */
#endif /* __IOMMU_OPT_SIZE_H */
