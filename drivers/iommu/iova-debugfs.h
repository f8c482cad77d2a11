/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of the IOVA allocator by IOMMU group; see iova-debugfs.c.
 */
#ifndef __IOVA_DEBUGFS_H
#define __IOVA_DEBUGFS_H

#include <linux/kconfig.h>

struct iommu_fq_client;
struct iommu_group;
struct seq_file;

#if IS_ENABLED(CONFIG_IOMMU_DEBUGFS) && IS_ENABLED(CONFIG_IOMMU_DMA)

void iova_debugfs_add_group(struct iommu_group *group);
void iova_debugfs_remove_group(struct iommu_group *group);
void iommu_fq_show(struct seq_file *s, struct iommu_fq_client *client);

#else

static inline void iova_debugfs_add_group(struct iommu_group *group)
{
}

static inline void iova_debugfs_remove_group(struct iommu_group *group)
{
}

#endif
#endif /* __IOVA_DEBUGFS_H */
