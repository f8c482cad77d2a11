/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints of the IOVA magazine caches. None is on a path that a CPU's own
 * magazines serve. Domains are told apart by the address of their struct
 * iova_domain, hashed as %p is.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM iommu_iova

#if !defined(_TRACE_IOMMU_IOVA_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_IOMMU_IOVA_H

#include <linux/tracepoint.h>

struct iova_domain;

/*
 * An allocation that the CPU's own magazines could not serve; last_pfn is the
 * highest first pfn that would do.
 */
TRACE_EVENT(iova_class_miss,
	TP_PROTO(struct iova_domain *iovad, unsigned int order,
		 unsigned long last, bool depot),
	TP_ARGS(iovad, order, last, depot),
	TP_STRUCT__entry(
		__field(void *, iovad)
		__field(unsigned int, order)
		__field(unsigned long, last)
		__field(bool, depot)
	),
	TP_fast_assign(
		__entry->iovad = iovad;
		__entry->order = order;
		__entry->last = last;
		__entry->depot = depot;
	),
	TP_printk("domain=%p order=%u last_pfn=%#lx served_by=%s",
		  __entry->iovad, __entry->order, __entry->last,
		  __entry->depot ? "depot" : "tree")
);

/* A magazine changed hands between a CPU and the depot. */
TRACE_EVENT(iova_depot_exchange,
	TP_PROTO(struct iova_domain *iovad, unsigned int order, bool take_full,
		 unsigned int nr_full, unsigned int nr_empty),
	TP_ARGS(iovad, order, take_full, nr_full, nr_empty),
	TP_STRUCT__entry(
		__field(void *, iovad)
		__field(unsigned int, order)
		__field(bool, take_full)
		__field(unsigned int, nr_full)
		__field(unsigned int, nr_empty)
	),
	TP_fast_assign(
		__entry->iovad = iovad;
		__entry->order = order;
		__entry->take_full = take_full;
		__entry->nr_full = nr_full;
		__entry->nr_empty = nr_empty;
	),
	TP_printk("domain=%p order=%u taken=%s full=%u empty=%u",
		  __entry->iovad, __entry->order,
		  __entry->take_full ? "full" : "empty",
		  __entry->nr_full, __entry->nr_empty)
);

/* Frees went back to the tree because no empty magazine was at hand. */
TRACE_EVENT(iova_class_spill,
	TP_PROTO(struct iova_domain *iovad, unsigned int order,
		 unsigned int nr),
	TP_ARGS(iovad, order, nr),
	TP_STRUCT__entry(
		__field(void *, iovad)
		__field(unsigned int, order)
		__field(unsigned int, nr)
	),
	TP_fast_assign(
		__entry->iovad = iovad;
		__entry->order = order;
		__entry->nr = nr;
	),
	TP_printk("domain=%p order=%u ranges=%u",
		  __entry->iovad, __entry->order, __entry->nr)
);

/* Surplus magazines have gone back; full and empty ones are left. */
TRACE_EVENT(iova_depot_trim,
	TP_PROTO(struct iova_domain *iovad, unsigned int order,
		 unsigned int full, unsigned int empty),
	TP_ARGS(iovad, order, full, empty),
	TP_STRUCT__entry(
		__field(void *, iovad)
		__field(unsigned int, order)
		__field(unsigned int, full)
		__field(unsigned int, empty)
	),
	TP_fast_assign(
		__entry->iovad = iovad;
		__entry->order = order;
		__entry->full = full;
		__entry->empty = empty;
	),
	TP_printk("domain=%p order=%u full=%u empty=%u", __entry->iovad,
		  __entry->order, __entry->full, __entry->empty)
);

#endif

#include <trace/define_trace.h>
