/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts of kernel functions, by ftrace's function profiler.
 */
#ifndef __VFIO_TYPE1_COUNTS_H
#define __VFIO_TYPE1_COUNTS_H

#include "vfio_type1.h"

/*
 * What is counted of the kernel's functions. A function that a kernel does
 * not have counts as 0.
 */
static const char * const vt_walk_functions[] = {
	"iommu_iova_to_phys", "iommu_iova_to_phys_len", NULL
};

static const char * const vt_unmap_functions[] = {
	"iommu_unmap", "iommu_unmap_fast", NULL
};

static const char * const vt_sync_functions[] = {
	"intel_iommu_tlb_sync", "amd_iommu_iotlb_sync", "viommu_iotlb_sync",
	NULL
};

static const char * const vt_unpin_functions[] = {
	"unpin_user_pages", "unpin_user_pages_dirty_lock",
	"unpin_user_page_range_dirty_lock", NULL
};

static const char * const vt_map_functions[] = { "iommu_map", NULL };

static const char * const vt_lookup_functions[] = {
	"follow_pfnmap_start", NULL
};

static const char * const vt_resched_functions[] = { "__cond_resched", NULL };

static const char * const * const vt_counted[] = {
	vt_walk_functions, vt_unmap_functions, vt_sync_functions,
	vt_unpin_functions, vt_map_functions, vt_lookup_functions,
	vt_resched_functions,
};

#define VT_NR_COUNTED	(sizeof(vt_counted) / sizeof(*vt_counted))

/*
 * What all CPUs call all the time is counted only where there is one of them:
 * emulators that run CPUs as threads can lose the breakpoint by which the kernel
 * changes code that another CPU executes.
 */
static inline bool vt_is_counted(const char * const *functions)
{
	return functions != vt_resched_functions ||
	       sysconf(_SC_NPROCESSORS_ONLN) == 1;
}

/* From here on; the functions of all CPUs and tasks count. */
static inline int vt_count_start(void)
{
	const char * const *name;
	FILE *file;
	size_t i;
	int ret;

	ret = vt_write(VT_TRACING "/function_profile_enabled", "0");
	if (ret)
		return ret;
	file = fopen(VT_TRACING "/set_ftrace_filter", "w");
	if (!file)
		return -errno;
	fclose(file);
	for (i = 0; i < VT_NR_COUNTED; i++) {
		if (!vt_is_counted(vt_counted[i]))
			continue;
		for (name = vt_counted[i]; *name; name++) {
			file = fopen(VT_TRACING "/set_ftrace_filter", "a");
			if (file) {
				fputs(*name, file);
				fclose(file);
			}
		}
	}
	return vt_write(VT_TRACING "/function_profile_enabled", "1");
}

static inline int vt_count_stop(void)
{
	return vt_write(VT_TRACING "/function_profile_enabled", "0");
}

/* Calls of one function on one CPU. The profile cuts names to 30 characters. */
static inline int64_t vt_count_file(const char *path, const char *name)
{
	FILE *file = fopen(path, "r");
	char line[512], shown[31], function[31];
	int64_t hits = 0;
	long hit;

	if (!file)
		return 0;
	snprintf(shown, sizeof(shown), "%.30s", name);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%30s %ld", function, &hit) == 2 &&
		    !strcmp(function, shown))
			hits += hit;
	fclose(file);
	return hits;
}

/* Calls of all of @names between start and stop. */
static inline int64_t vt_count(const char * const *names)
{
	int64_t hits = 0;
	glob_t files;
	size_t i;

	if (glob(VT_TRACING "/trace_stat/function*", 0, NULL, &files))
		return -ENOENT;
	for (; *names; names++)
		for (i = 0; i < files.gl_pathc; i++)
			hits += vt_count_file(files.gl_pathv[i], *names);
	globfree(&files);
	return hits;
}

#endif /* __VFIO_TYPE1_COUNTS_H */
