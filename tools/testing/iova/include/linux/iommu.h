/* SPDX-License-Identifier: GPL-2.0-only */
/* As much of a domain as its flush queue knows. */
#ifndef _SIM_IOMMU_H
#define _SIM_IOMMU_H

#include <linux/list.h>

struct iommu_domain {
	void	(*flush_iotlb_all)(struct iommu_domain *domain);
};

#define iommu_flush_iotlb_all(domain)	(domain)->flush_iotlb_all(domain)

/* In the place of drivers/iommu/iommu-pages.h. */
#define __IOMMU_PAGES_H
void iommu_put_pages_list(struct list_head *list);

#endif
