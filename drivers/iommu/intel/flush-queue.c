// SPDX-License-Identifier: GPL-2.0-only
/*
 * One flush queue for all domains behind a remapping unit.
 *
 * A global invalidation empties the unit's IOTLB as fast as one of a domain does,
 * and covers all that its domains have unmapped. So they share a queue, whose
 * memory and whose flushes do not grow with their number. While only one of them
 * has something queued, the queue flushes that one alone, by its own operation.
 *
 * The global invalidation does not reach all TLBs of each domain. A domain is
 * "extra" (see ../flush-queue.c), and has its own flush after the unit's when it
 * has queued, as long as one of these holds:
 *
 *   - a device with ATS is attached, which has a TLB of its own;
 *   - a PASID is attached, for the same reason, and since it may be that of a
 *     device which is not attached itself;
 *   - a device behind another unit is attached, whose IOTLB this is not;
 *   - it translates by the first stage, which the PASID-based invalidations are
 *     for.
 *
 * That is looked at before a device or a PASID can make use of the domain, and
 * again after it has ceased to. A domain that is behind no unit or behind several
 * when it enters lazy mode has a queue of its own.
 *
 * The queue is made when the first domain needs it. Domains hold references to
 * it, so that it may outlive the unit, which it does not touch from then on. In
 * suspend, entries stay where they are: what is left to flush before the unit is
 * switched off, iommu_flush_all() flushes, and the timer goes on after resume.
 */
#include <linux/iommu.h>
#include <linux/xarray.h>

#include "../dma-iommu.h"
#include "../flush-queue.h"
#include "iommu.h"

/* Through the invalidation queue, or the registers of a unit that has none. */
static void flush_unit(void *scope)
{
	struct intel_iommu *iommu = scope;

	iommu->flush.flush_iotlb(iommu, 0, 0, 0, DMA_TLB_GLOBAL_FLUSH);
}

/* A unit's queue; NULL without memory. */
static struct iommu_fq *unit_queue(struct intel_iommu *iommu)
{
	struct iommu_fq *fq = READ_ONCE(iommu->fq), *old;

	if (fq)
		return fq;

	fq = iommu_fq_alloc(flush_unit, iommu, false);
	if (!fq)
		return NULL;

	/* Domains of different groups may be here at once. */
	old = cmpxchg(&iommu->fq, NULL, fq);
	if (!old)
		return fq;
	iommu_fq_put(fq);
	return old;
}

/* The unit that a domain is behind; NULL for none or several. */
static struct intel_iommu *only_unit(struct dmar_domain *domain)
{
	struct intel_iommu *iommu = NULL;
	struct iommu_domain_info *info;
	unsigned long i;

	xa_for_each(&domain->iommu_array, i, info) {
		if (iommu)
			return NULL;
		iommu = info->iommu;
	}
	return iommu;
}

static bool other_unit(struct dmar_domain *domain)
{
	struct iommu_domain_info *info;
	unsigned long i;

	xa_for_each(&domain->iommu_array, i, info) {
		if (READ_ONCE(info->iommu->fq) != domain->fq)
			return true;
	}
	return false;
}

static bool device_tlbs(struct dmar_domain *domain)
{
	struct device_domain_info *info;
	unsigned long flags;
	bool found;

	spin_lock_irqsave(&domain->lock, flags);
	found = !list_empty(&domain->dev_pasids);
	/* Not whether it is enabled: it is about to be. */
	list_for_each_entry(info, &domain->devices, link)
		found |= info->ats_supported;
	spin_unlock_irqrestore(&domain->lock, flags);

	return found;
}

static bool is_extra(struct dmar_domain *domain)
{
	return domain->use_first_level || other_unit(domain) ||
	       device_tlbs(domain);
}

/**
 * intel_fq_get - the queue of the unit that a domain is behind
 * @domain: domain that enters lazy mode
 * @extra: set to whether the unit's flush does not reach all TLBs of the domain
 *
 * Context: process context, may sleep. The caller holds the mutex of the group
 * that owns @domain.
 * Return: the queue, with a reference; NULL for a domain that needs one of its own.
 */
struct iommu_fq *intel_fq_get(struct iommu_domain *domain, bool *extra)
{
	struct dmar_domain *dmar_domain = to_dmar_domain(domain);
	struct intel_iommu *iommu = only_unit(dmar_domain);
	struct iommu_fq *fq = iommu ? unit_queue(iommu) : NULL;

	if (!fq)
		return NULL;

	dmar_domain->fq = fq;
	*extra = is_extra(dmar_domain);
	return iommu_fq_get(fq);
}

/**
 * intel_fq_update - what uses a domain has changed
 * @domain: domain of any type
 *
 * To be called when a device has been added to &dmar_domain.devices and to
 * &dmar_domain.iommu_array, before anything translates for it; and after it, or
 * a PASID, has been removed from everywhere.
 *
 * Context: process context, may sleep. The caller holds the mutex of the group.
 */
void intel_fq_update(struct dmar_domain *domain)
{
	if (domain->fq)
		iommu_dma_fq_set_extra(&domain->domain, is_extra(domain));
}

/**
 * intel_fq_prepare_pasid - a PASID is about to be attached to a domain
 * @domain: domain of any type
 *
 * Followed by intel_fq_update() if it fails.
 *
 * Context: process context, may sleep. The caller holds the mutex of the group.
 */
void intel_fq_prepare_pasid(struct dmar_domain *domain)
{
	if (domain->fq)
		iommu_dma_fq_set_extra(&domain->domain, true);
}

/**
 * intel_fq_end - a unit goes away
 * @iommu: unit that can still invalidate, and has no domain
 *
 * Context: process context, may sleep.
 */
void intel_fq_end(struct intel_iommu *iommu)
{
	struct iommu_fq *fq = iommu->fq;

	if (!fq)
		return;
	iommu_fq_end_scope(fq);
	iommu->fq = NULL;
	iommu_fq_put(fq);
}
