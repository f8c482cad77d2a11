/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests and the benchmark of vfio's type1 backend share: devices and
 * containers, memory of several kinds, accounts, and counts of kernel functions.
 *
 * Functions return 0 or a negative errno unless they say otherwise. Sizes are
 * in bytes, 'last' is inclusive.
 */
#ifndef __VFIO_TYPE1_H
#define __VFIO_TYPE1_H

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/limits.h>
#include <linux/vfio.h>

#define VT_PAGE		4096UL
#define VT_2M		(2UL << 20)
#define VT_1G		(1024UL << 20)
#define VT_TESTDEV	0x1b360005	/* vendor and device of pci-testdev */
#define VT_PCI		"/sys/bus/pci"
#define VT_TRACING	"/sys/kernel/tracing"

/* --- files ------------------------------------------------------------- */

static inline int vt_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* Returns bytes read. */
static inline ssize_t vt_read(const char *path, void *buf, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size);
	if (n < 0)
		n = -errno;
	close(fd);
	return n;
}

/* --- PCI devices ------------------------------------------------------- */

struct vt_pci {
	char bdf[32];
	char driver[64];	/* what drove it before vt_pci_bind() */
	unsigned char config[4096];
	ssize_t config_size;
};

static inline int vt_pci_read(struct vt_pci *pci, const char *dir)
{
	char path[PATH_MAX], link[PATH_MAX];
	ssize_t n;

	snprintf(pci->bdf, sizeof(pci->bdf), "%s", strrchr(dir, '/') + 1);
	snprintf(path, sizeof(path), "%s/config", dir);
	pci->config_size = vt_read(path, pci->config, sizeof(pci->config));
	snprintf(path, sizeof(path), "%s/driver", dir);
	n = readlink(path, link, sizeof(link) - 1);
	pci->driver[0] = 0;
	if (n > 0) {
		link[n] = 0;
		snprintf(pci->driver, sizeof(pci->driver), "%s",
			 strrchr(link, '/') + 1);
	}
	return pci->config_size < 64 ? -ENODEV : 0;
}

static inline bool vt_pci_is_testdev(const struct vt_pci *pci)
{
	const unsigned char *c = pci->config;

	return (c[1] << 24 | c[0] << 16 | c[3] << 8 | c[2]) == VT_TESTDEV;
}

/* Has an Address Translation Service capability (0x000f). */
static inline bool vt_pci_is_ats(const struct vt_pci *pci)
{
	unsigned int at = 256, next;

	while (at >= 256 && (ssize_t)at + 4 <= pci->config_size) {
		const unsigned char *c = pci->config + at;

		if ((c[0] | c[1] << 8) == 0x000f)
			return true;
		next = (c[2] | c[3] << 8) >> 4;
		if (next <= at)
			break;
		at = next;
	}
	return false;
}

/* The @index-th device that @is so, from 0. */
static inline int vt_pci_find(struct vt_pci *pci,
			      bool (*is)(const struct vt_pci *), int index)
{
	int ret = -ENODEV;
	glob_t dirs;
	size_t i;

	if (glob(VT_PCI "/devices/*", 0, NULL, &dirs))
		return -ENODEV;
	for (i = 0; ret && i < dirs.gl_pathc; i++)
		if (!vt_pci_read(pci, dirs.gl_pathv[i]) && is(pci) && !index--)
			ret = 0;
	globfree(&dirs);
	return ret;
}

/* An empty @driver: none. */
static inline int vt_pci_bind(const struct vt_pci *pci, const char *driver)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), VT_PCI "/devices/%s/driver/unbind",
		 pci->bdf);
	vt_write(path, pci->bdf);
	snprintf(path, sizeof(path), VT_PCI "/devices/%s/driver_override",
		 pci->bdf);
	vt_write(path, *driver ? driver : "\n");
	if (!*driver)
		return 0;
	snprintf(path, sizeof(path), VT_PCI "/drivers/%s/bind", driver);
	return vt_write(path, pci->bdf);
}

/* --- containers --------------------------------------------------------- */

struct vt {
	int container;
	int group;
	int device;
	void *room;		/* address space, with device memory in it */
	size_t room_size;
};

#define VT_CLOSED	((struct vt) { -1, -1, -1, NULL, 0 })

static inline void vt_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* The group of @pci joins @container. */
static inline int vt_join(struct vt *vt, int container,
			  const struct vt_pci *pci)
{
	char path[PATH_MAX], link[PATH_MAX];
	ssize_t n;

	*vt = VT_CLOSED;
	snprintf(path, sizeof(path), VT_PCI "/devices/%s/iommu_group",
		 pci->bdf);
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return -errno;
	link[n] = 0;
	snprintf(path, sizeof(path), "/dev/vfio/%s", strrchr(link, '/') + 1);
	vt->group = open(path, O_RDWR);
	if (vt->group < 0 ||
	    ioctl(vt->group, VFIO_GROUP_SET_CONTAINER, &container))
		return -errno;
	return 0;
}

/* Resets the device, which takes its time: only where it is needed. */
static inline int vt_open_device(struct vt *vt, const struct vt_pci *pci)
{
	vt->device = ioctl(vt->group, VFIO_GROUP_GET_DEVICE_FD, pci->bdf);
	return vt->device < 0 ? -errno : 0;
}

/* A mapping of device memory keeps the device in use as an open file does. */
static inline void vt_close(struct vt *vt)
{
	if (vt->room)
		munmap(vt->room, vt->room_size);
	vt->room = NULL;
	vt_close_fd(&vt->device);
	vt_close_fd(&vt->group);
	vt_close_fd(&vt->container);
}

/* A container of type @type with @pci in it; vt_close() also if it fails. */
static inline int vt_open(struct vt *vt, const struct vt_pci *pci, int type)
{
	int container = open("/dev/vfio/vfio", O_RDWR), ret;

	*vt = VT_CLOSED;
	if (container < 0)
		return -errno;
	ret = vt_join(vt, container, pci);
	vt->container = container;
	if (!ret && ioctl(container, VFIO_SET_IOMMU, type))
		ret = -errno;
	return ret;
}

static inline int vt_map_prot(const struct vt *vt, const void *vaddr,
			      uint64_t iova, uint64_t size, uint32_t prot)
{
	struct vfio_iommu_type1_dma_map map = {
		.argsz = sizeof(map),
		.flags = prot,
		.vaddr = (uintptr_t)vaddr,
		.iova = iova,
		.size = size,
	};

	return ioctl(vt->container, VFIO_IOMMU_MAP_DMA, &map) ? -errno : 0;
}

static inline int vt_map(const struct vt *vt, const void *vaddr, uint64_t iova,
			 uint64_t size)
{
	return vt_map_prot(vt, vaddr, iova, size, VFIO_DMA_MAP_FLAG_READ |
			   VFIO_DMA_MAP_FLAG_WRITE);
}

/* Returns bytes unmapped. */
static inline int64_t vt_unmap_flags(const struct vt *vt, uint64_t iova,
				     uint64_t size, uint32_t flags)
{
	struct vfio_iommu_type1_dma_unmap unmap = {
		.argsz = sizeof(unmap),
		.flags = flags,
		.iova = iova,
		.size = size,
	};

	if (ioctl(vt->container, VFIO_IOMMU_UNMAP_DMA, &unmap))
		return -errno;
	return unmap.size;
}

static inline int64_t vt_unmap(const struct vt *vt, uint64_t iova,
			       uint64_t size)
{
	return vt_unmap_flags(vt, iova, size, 0);
}

static inline int64_t vt_unmap_all(const struct vt *vt)
{
	return vt_unmap_flags(vt, 0, 0, VFIO_DMA_UNMAP_FLAG_ALL);
}

/* --- accounts ----------------------------------------------------------- */

/* Returns how many more mappings the container takes. */
static inline int64_t vt_dma_avail(const struct vt *vt)
{
	union {
		struct vfio_iommu_type1_info info;
		char bytes[4096];
	} buf = { .info.argsz = sizeof(buf) };
	struct vfio_iommu_type1_info_dma_avail *avail;
	struct vfio_info_cap_header *cap;
	uint32_t at;

	if (ioctl(vt->container, VFIO_IOMMU_GET_INFO, &buf))
		return -errno;
	for (at = buf.info.cap_offset; at; at = cap->next) {
		cap = (void *)(buf.bytes + at);
		avail = (void *)cap;
		if (cap->id == VFIO_IOMMU_TYPE1_INFO_DMA_AVAIL)
			return avail->avail;
	}
	return -ENOENT;
}

/* A line "KEY: N kB" of /proc/self/status, in bytes. */
static inline int64_t vt_status(const char *key)
{
	FILE *file = fopen("/proc/self/status", "r");
	size_t len = strlen(key);
	int64_t value = -ENOENT;
	char line[256];

	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, key, len) && line[len] == ':')
			value = strtoll(line + len + 1, NULL, 10) * 1024;
	fclose(file);
	return value;
}

/* Pages that are pinned now, of the whole system; negative if not told. */
static inline int64_t vt_pinned(void)
{
	long acquired = -1, released = -1, value;
	char key[64];
	FILE *file;

	/* Each CPU's share is added to the sum only now and then. */
	vt_write("/proc/sys/vm/stat_refresh", "1");
	file = fopen("/proc/vmstat", "r");
	if (!file)
		return -errno;
	while (fscanf(file, "%63s %ld", key, &value) == 2) {
		if (!strcmp(key, "nr_foll_pin_acquired"))
			acquired = value;
		if (!strcmp(key, "nr_foll_pin_released"))
			released = value;
	}
	fclose(file);
	return acquired < 0 ? -ENOENT : acquired - released;
}

/* --- memory ------------------------------------------------------------- */

enum vt_memory {
	VT_4K,		/* small pages, touched in order: mostly contiguous */
	VT_SCATTERED,	/* small pages, no two neighbours contiguous */
	VT_THP,
	VT_HUGETLB,	/* of 2 MiB */
};

static inline void vt_touch(char *mem, size_t size, size_t stride)
{
	size_t at, from;

	for (from = 0; from < stride; from += VT_PAGE)
		for (at = from; at < size; at += stride)
			mem[at] = 1;
}

/* Sees to it that the system has @size bytes in 2 MiB pages. */
static inline int vt_reserve_hugetlb(size_t size)
{
	char text[32];
	const char *path = "/proc/sys/vm/nr_hugepages";

	snprintf(text, sizeof(text), "%zu", size / VT_2M);
	if (vt_write(path, text) || vt_read(path, text, sizeof(text)) <= 0)
		return -errno;
	return strtoul(text, NULL, 10) < size / VT_2M ? -ENOMEM : 0;
}

/* @size bytes, a multiple of 2 MiB and so aligned; MAP_FAILED if not. */
static inline void *vt_memory(enum vt_memory kind, size_t size)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *mem, *start;

	if (kind == VT_HUGETLB) {
		if (vt_reserve_hugetlb(size))
			return MAP_FAILED;
		mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   flags | MAP_HUGETLB | MAP_POPULATE, -1, 0);
		return mem;
	}

	mem = mmap(NULL, size + VT_2M, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (mem == MAP_FAILED)
		return mem;
	start = (char *)(((uintptr_t)mem + VT_2M - 1) & ~(VT_2M - 1));
	munmap(mem, start - mem);
	munmap(start + size, mem + VT_2M - start);
	if (madvise(start, size, kind == VT_THP ? MADV_HUGEPAGE :
		    MADV_NOHUGEPAGE))
		return MAP_FAILED;
	vt_touch(start, size, kind == VT_SCATTERED ? size / 64 : size);
	return start;
}

static inline void vt_free(enum vt_memory kind, void *mem, size_t size)
{
	munmap(mem, size);
	if (kind == VT_HUGETLB)
		vt_write("/proc/sys/vm/nr_hugepages", "0");
}

/* The page frame numbers of @size bytes at @mem, all present; NULL: unknown. */
static inline uint64_t *vt_pfns(const void *mem, size_t size)
{
	size_t i, bytes = size / VT_PAGE * sizeof(uint64_t);
	int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t *pfns = malloc(bytes);

	if (fd < 0 || !pfns ||
	    pread(fd, pfns, bytes, (uintptr_t)mem / VT_PAGE * sizeof(*pfns)) !=
	    (ssize_t)bytes) {
		free(pfns);
		pfns = NULL;
	}
	vt_close_fd(&fd);
	for (i = 0; pfns && i < size / VT_PAGE; i++)
		pfns[i] &= (1ULL << 55) - 1;
	return pfns;
}

/* Pages from the @i-th of @nr on that are physically contiguous. */
static inline size_t vt_run(const uint64_t *pfns, size_t i, size_t nr)
{
	size_t n = 1;

	while (i + n < nr && pfns[i + n] == pfns[i] + n)
		n++;
	return n;
}

/* Contiguous runs in the @size bytes at @mem. */
static inline int64_t vt_runs(const void *mem, size_t size)
{
	uint64_t *pfns = vt_pfns(mem, size);
	size_t i, nr = size / VT_PAGE;
	int64_t runs = 0;

	if (!pfns)
		return -EIO;
	for (i = 0; i < nr; i += vt_run(pfns, i, nr))
		runs++;
	free(pfns);
	return runs;
}

/*
 * Entries in which an IOMMU maps them at @iova whose pages are of any power of
 * two: each as large as alignment and what is left of the run allow.
 */
static inline int64_t vt_entries(const void *mem, uint64_t iova, size_t size)
{
	uint64_t *pfns = vt_pfns(mem, size), page;
	size_t i, end = 0, nr = size / VT_PAGE;
	int64_t entries = 0;

	if (!pfns)
		return -EIO;
	for (i = 0; i < nr; i += page, entries++) {
		if (i == end)
			end += vt_run(pfns, i, nr);
		page = (iova / VT_PAGE + i) | pfns[i];
		page &= -page;
		while (page > end - i)
			page /= 2;
	}
	free(pfns);
	return entries;
}

/* --- device memory ------------------------------------------------------ */

/*
 * BAR 2 of @vt's device, mapped so that large pages fit where its size allows
 * that: *@size bytes, and room for 2 MiB before it; until vt_close(). MAP_FAILED
 * if there is none.
 */
static inline void *vt_map_bar(struct vt *vt, uint64_t *size)
{
	struct vfio_region_info info = {
		.argsz = sizeof(info),
		.index = VFIO_PCI_BAR2_REGION_INDEX,
	};
	uint16_t command = 2;	/* memory space on */
	char *mem, *start;

	*size = 0;
	if (ioctl(vt->device, VFIO_DEVICE_GET_REGION_INFO, &info) ||
	    !info.size || !(info.flags & VFIO_REGION_INFO_FLAG_MMAP))
		return MAP_FAILED;
	if (pwrite(vt->device, &command, sizeof(command),
		   ((uint64_t)VFIO_PCI_CONFIG_REGION_INDEX << 40) + 4) < 0)
		return MAP_FAILED;

	mem = mmap(NULL, info.size + 2 * VT_1G, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED)
		return mem;
	vt->room = mem;
	vt->room_size = info.size + 2 * VT_1G;
	start = (char *)(((uintptr_t)mem + VT_2M + VT_1G - 1) & ~(VT_1G - 1));
	*size = info.size;
	return mmap(start, info.size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED, vt->device, info.offset);
}

/* --- devices under test -------------------------------------------------- */

/* What a mapping costs: the process, the container, the system. */
struct vt_accounts {
	int64_t locked;		/* bytes */
	int64_t avail;		/* mappings */
	int64_t pinned;		/* pages */
};

static inline struct vt_accounts vt_accounts(const struct vt *vt)
{
	return (struct vt_accounts) {
		.locked = vt_status("VmLck"),
		.avail = vt_dma_avail(vt),
		.pinned = vt_pinned(),
	};
}

#define VT_EXPECT_ACCOUNTS(before, vt, locked_, mappings_, pinned_) do { \
	struct vt_accounts was = (before), now = vt_accounts(vt);	\
									\
	EXPECT_EQ(was.locked + (int64_t)(locked_), now.locked);		\
	EXPECT_EQ(was.avail - (int64_t)(mappings_), now.avail);		\
	EXPECT_EQ(was.pinned + (int64_t)(pinned_), now.pinned);		\
} while (0)

/* A device that vfio drives, in a container of its own. */
struct vt_subject {
	struct vt_pci pci;
	struct vt vt;
};

/* Returns why it cannot be tested here, or NULL. */
static inline const char *vt_take(struct vt_subject *subject,
				  bool (*is)(const struct vt_pci *), int index)
{
	subject->vt = VT_CLOSED;
	vt_write("/sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts",
		 "1");
	if (vt_pci_find(&subject->pci, is, index))
		return "too few devices of the kind";
	if (vt_pci_bind(&subject->pci, "vfio-pci"))
		return "no vfio-pci driver, or not root";
	return NULL;
}

static inline void vt_return(struct vt_subject *subject)
{
	vt_close(&subject->vt);
	vt_pci_bind(&subject->pci, subject->pci.driver);
}

/* The second device joins the container of the first. */
static inline int vt_join_second(struct vt_subject *first,
				 struct vt_subject *second)
{
	return vt_join(&second->vt, first->vt.container, &second->pci);
}

static inline int vt_leave_second(struct vt_subject *second)
{
	if (ioctl(second->vt.group, VFIO_GROUP_UNSET_CONTAINER))
		return -errno;
	vt_close_fd(&second->vt.group);
	return 0;
}

#endif /* __VFIO_TYPE1_H */
