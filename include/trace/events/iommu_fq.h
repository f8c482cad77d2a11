/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints of deferred IOTLB flushing. Queues are told apart by the number
 * that debugfs shows for a group as well.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM iommu_fq

#if !defined(_TRACE_IOMMU_FQ_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_IOMMU_FQ_H

#include <linux/tracepoint.h>

/* A range was queued; level is that of the CPU's ring. */
TRACE_EVENT(iommu_fq_add,
	TP_PROTO(int queue, unsigned long pfn, unsigned long pages,
		 unsigned int level),
	TP_ARGS(queue, pfn, pages, level),
	TP_STRUCT__entry(
		__field(int, queue)
		__field(unsigned int, level)
		__field(unsigned long, pfn)
		__field(unsigned long, pages)
	),
	TP_fast_assign(
		__entry->queue = queue;
		__entry->level = level;
		__entry->pfn = pfn;
		__entry->pages = pages;
	),
	TP_printk("queue=%d pfn=%#lx pages=%lu level=%u", __entry->queue,
		  __entry->pfn, __entry->pages, __entry->level)
);

/* A flush starts. */
TRACE_EVENT(iommu_fq_flush_start,
	TP_PROTO(int queue, u64 number, unsigned int reason, bool one_domain),
	TP_ARGS(queue, number, reason, one_domain),
	TP_STRUCT__entry(
		__field(u64, number)
		__field(int, queue)
		__field(unsigned int, reason)
		__field(bool, one_domain)
	),
	TP_fast_assign(
		__entry->number = number;
		__entry->queue = queue;
		__entry->reason = reason;
		__entry->one_domain = one_domain;
	),
	TP_printk("queue=%d number=%llu reason=%s scope=%s", __entry->queue,
		  __entry->number,
		  __print_symbolic(__entry->reason, { 0, "timer" },
				   { 1, "level" }, { 2, "alloc" },
				   { 3, "drain" }),
		  __entry->one_domain ? "domain" : "unit")
);

/* A flush has finished. */
TRACE_EVENT(iommu_fq_flush_done,
	TP_PROTO(int queue, u64 number),
	TP_ARGS(queue, number),
	TP_STRUCT__entry(
		__field(u64, number)
		__field(int, queue)
	),
	TP_fast_assign(
		__entry->number = number;
		__entry->queue = queue;
	),
	TP_printk("queue=%d number=%llu", __entry->queue, __entry->number)
);

/* Ranges that flushes up to a number cover went back to their domains. */
TRACE_EVENT(iommu_fq_reclaim,
	TP_PROTO(int queue, unsigned int ranges, u64 number),
	TP_ARGS(queue, ranges, number),
	TP_STRUCT__entry(
		__field(u64, number)
		__field(int, queue)
		__field(unsigned int, ranges)
	),
	TP_fast_assign(
		__entry->number = number;
		__entry->queue = queue;
		__entry->ranges = ranges;
	),
	TP_printk("queue=%d ranges=%u number=%llu", __entry->queue,
		  __entry->ranges, __entry->number)
);

#endif /* _TRACE_IOMMU_FQ_H */

#include <trace/define_trace.h>
