// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading an I/O page table back: not a page at a time, but as far as a
 * physically contiguous run goes.
 *
 * Who has pinned memory for a device finds out from the page table what to
 * unpin. A driver that knows its table can tell in one walk how far the run
 * reaches (iommu_domain_ops::iova_to_phys_len); for the others, a loop over
 * iova_to_phys() tells the same.
 *
 * A run here is a range of IOVA, mapped without a hole to physical addresses
 * that ascend with it. 'end' is open.
 */
#include <linux/export.h>
#include <linux/iommu.h>
#include <linux/minmax.h>
#include <linux/sizes.h>

/* Walks in one call: as many as a leaf table of most formats has entries. */
#define IOMMU_PHYS_LEN_WALKS	512UL

/*
 * The run by pages of the smallest size that @domain maps, no further than to
 * where a table of such pages would end: so the next call begins with a page.
 */
static phys_addr_t iommu_walk_phys_len(struct iommu_domain *domain,
				       dma_addr_t iova, size_t max,
				       size_t *len)
{
	const struct iommu_domain_ops *ops = domain->ops;
	phys_addr_t phys = ops->iova_to_phys(domain, iova);
	size_t granule, table, done;

	*len = 0;
	if (!phys)
		return 0;

	granule = domain->pgsize_bitmap ?
		BIT(__ffs(domain->pgsize_bitmap)) : PAGE_SIZE;
	table = IOMMU_PHYS_LEN_WALKS * granule;
	max = min(max, table - (iova & (table - 1)));
	done = granule - (iova & (granule - 1));
	while (done < max &&
	       ops->iova_to_phys(domain, iova + done) == phys + done)
		done += granule;
	*len = done;
	return phys;
}

/**
 * iommu_iova_to_phys_len - physical address of a contiguous run
 * @domain: a paging, identity or blocked domain
 * @iova: where the run begins, in bytes, of any alignment
 * @max: bytes from @iova that are of interest
 * @len: bytes from @iova that are mapped, and to ascending physical addresses:
 *	at most @max, at least 1 if @iova is mapped and @max is not 0; 0
 *	otherwise
 *
 * A range that goes past the last address is cut there.
 *
 * The work of a call is bounded by the entries of one page table. A run of
 * more entries is told in pieces: *@len may be less than @max although the run
 * goes on, and a caller that needs all of it asks again at @iova + *@len. Such
 * a piece ends with an entry if the driver has an operation of its own, and
 * else where a table of the smallest pages would. An identity domain's runs
 * come in one piece.
 *
 * Context: any; nobody may change the mapping of [@iova, @iova + @max) at the
 * same time.
 * Return: the physical address of @iova, 0 if it is not mapped. Physical
 * address 0 can be mapped with some drivers; *@len tells the two apart there.
 */
phys_addr_t iommu_iova_to_phys_len(struct iommu_domain *domain,
				   dma_addr_t iova, size_t max, size_t *len)
{
	const struct iommu_domain_ops *ops = domain->ops;
	phys_addr_t phys;

	*len = 0;
	if (!max || domain->type == IOMMU_DOMAIN_BLOCKED)
		return 0;

	if (max - 1 > (dma_addr_t)~iova)
		max = (size_t)(dma_addr_t)~iova + 1;

	if (domain->type == IOMMU_DOMAIN_IDENTITY) {
		*len = max;
		return iova;
	}

	if (ops->iova_to_phys_len)
		phys = ops->iova_to_phys_len(domain, iova, max, len);
	else
		phys = iommu_walk_phys_len(domain, iova, max, len);
	*len = min(*len, max);
	return phys;
}
EXPORT_SYMBOL_GPL(iommu_iova_to_phys_len);
