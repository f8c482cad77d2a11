// SPDX-License-Identifier: GPL-2.0-only
/*
 * vfio's type1 backend when memory runs out: each allocation that a call makes
 * fails in turn. The call either succeeds all the same, or it fails and leaves
 * no trace in any account.
 *
 * Needs a kernel with failslab and fail_page_alloc, and a pci-testdev; to have
 * two domains in a container, which nothing else brings about on one kind of
 * IOMMU, two devices that have ATS.
 *
 * debug: always
 */
#include "../kselftest_harness.h"
#include "vfio_type1.h"
#include "vfio_type1_counts.h"

#define IOVA		(4UL << 30)
#define SIZE		(16UL << 20)
#define DEBUGFS		"/sys/kernel/debug/"
#define MAX_NTH		2000	/* no call here allocates more often */

/* All allocations of a task may fail, of any kind and order, silently. */
static bool have_fault_injection(void)
{
	return !(vt_write(DEBUGFS "failslab/ignore-gfp-wait", "N") ||
		 vt_write(DEBUGFS "failslab/verbose", "0") ||
		 vt_write(DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N") ||
		 vt_write(DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N") ||
		 vt_write(DEBUGFS "fail_page_alloc/min-order", "0") ||
		 vt_write(DEBUGFS "fail_page_alloc/verbose", "0"));
}

static void fail_nth(int fd, int nth)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", nth);
	/* This very write may be what fails. */
	while (pwrite(fd, text, strlen(text), 0) < 0 && errno == EFAULT)
		;
}

/* Ends it. Returns whether there was an nth allocation, which failed. */
static bool nth_has_failed(int fd)
{
	char text[16] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	bool spent = n < 0 || atoi(text) == 0;

	fail_nth(fd, 0);
	return spent;
}

FIXTURE(fail_nth)
{
	struct vt_subject first;
	struct vt *vt;
	int fd;
};

FIXTURE_SETUP(fail_nth)
{
	const char *why = vt_take(&self->first, vt_pci_is_testdev, 0);

	if (why)
		SKIP(return, "%s", why);
	if (!have_fault_injection())
		SKIP(return, "no fault injection in this kernel");
	self->fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (self->fd < 0)
		SKIP(return, "no fail-nth in this kernel");
	self->vt = &self->first.vt;
	ASSERT_EQ(0, vt_open(self->vt, &self->first.pci, VFIO_TYPE1v2_IOMMU));
}

FIXTURE_TEARDOWN(fail_nth)
{
	close(self->fd);
	vt_return(&self->first);
}

/* Map @mem, with each allocation failing in turn. Returns how many there are. */
static int sweep_map(struct __test_metadata *_metadata, struct vt *vt, int fd,
		     void *mem, uint64_t size, uint64_t ram)
{
	struct vt_accounts before = vt_accounts(vt);
	int nth, ret, failures = 0;
	bool spent;

	for (nth = 1; nth < MAX_NTH; nth++) {
		fail_nth(fd, nth);
		ret = vt_map(vt, mem, IOVA, size);
		spent = nth_has_failed(fd);
		if (ret) {
			EXPECT_EQ(-ENOMEM, ret);
			failures++;
			VT_EXPECT_ACCOUNTS(before, vt, 0, 0, 0);
		} else {
			VT_EXPECT_ACCOUNTS(before, vt, ram, 1, ram / VT_PAGE);
			EXPECT_EQ(size, vt_unmap(vt, IOVA, size));
			VT_EXPECT_ACCOUNTS(before, vt, 0, 0, 0);
		}
		if (!spent)
			break;
	}
	EXPECT_LT(nth, MAX_NTH);
	EXPECT_EQ(0, ret);
	/* An entry, a page table: some must have failed the call. */
	EXPECT_LE(2, failures);
	TH_LOG("%d allocations, %d of them fail the call", nth - 1, failures);
	return nth - 1;
}

TEST_F_TIMEOUT(fail_nth, map_of_contiguous_memory, 300)
{
	void *mem = vt_memory(VT_4K, SIZE);

	ASSERT_NE(MAP_FAILED, mem);
	sweep_map(_metadata, self->vt, self->fd, mem, SIZE, SIZE);
}

TEST_F_TIMEOUT(fail_nth, map_of_scattered_memory, 300)
{
	void *mem = vt_memory(VT_SCATTERED, SIZE);

	ASSERT_NE(MAP_FAILED, mem);
	/* A page table for each 2 MiB of it. */
	EXPECT_LE(SIZE / VT_2M, sweep_map(_metadata, self->vt, self->fd, mem,
					  SIZE, SIZE));
}

TEST_F_TIMEOUT(fail_nth, map_of_device_memory, 300)
{
	uint64_t size;
	char *bar;

	ASSERT_EQ(0, vt_open_device(self->vt, &self->first.pci));
	bar = vt_map_bar(self->vt, &size);
	if (bar == MAP_FAILED || size < SIZE)
		SKIP(return, "the testdev has no membar");
	/* Its page tables are there already. */
	ASSERT_EQ(0, vt_map(self->vt, bar, IOVA, SIZE));
	ASSERT_EQ(SIZE, vt_unmap(self->vt, IOVA, SIZE));
	/* Small entries: the IOVA is not aligned as the device memory is. */
	sweep_map(_metadata, self->vt, self->fd, bar + VT_PAGE, SIZE / 2, 0);
}

/* Unmapping needs no memory: with the first allocation failing, it works. */
TEST_F(fail_nth, unmap_allocates_nothing)
{
	struct vt_accounts before = vt_accounts(self->vt);
	void *mem = vt_memory(VT_SCATTERED, SIZE);

	ASSERT_NE(MAP_FAILED, mem);
	ASSERT_EQ(0, vt_map(self->vt, mem, IOVA, SIZE));
	fail_nth(self->fd, 1);
	EXPECT_EQ(SIZE, vt_unmap(self->vt, IOVA, SIZE));
	EXPECT_FALSE(nth_has_failed(self->fd));
	VT_EXPECT_ACCOUNTS(before, self->vt, 0, 0, 0);
}

TEST_F_TIMEOUT(fail_nth, opening_a_container, 300)
{
	int64_t locked = vt_status("VmLck");
	int nth, ret;
	bool spent;

	for (nth = 1; nth < MAX_NTH; nth++) {
		vt_close(self->vt);
		fail_nth(self->fd, nth);
		ret = vt_open(self->vt, &self->first.pci, VFIO_TYPE1v2_IOMMU);
		spent = nth_has_failed(self->fd);
		if (!spent)
			break;
	}
	EXPECT_LT(nth, MAX_NTH);
	EXPECT_EQ(0, ret);
	EXPECT_EQ(locked, vt_status("VmLck"));
}

FIXTURE(fail_nth_join)
{
	struct vt_subject first;
	struct vt_subject second;
	char *mem;
	int fd;
};

FIXTURE_SETUP(fail_nth_join)
{
	const char *why = vt_take(&self->first, vt_pci_is_ats, 0);

	if (!why)
		why = vt_take(&self->second, vt_pci_is_ats, 1);
	if (why)
		SKIP(return, "%s", why);
	if (!have_fault_injection())
		SKIP(return, "no fault injection in this kernel");
	self->fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (self->fd < 0)
		SKIP(return, "no fail-nth in this kernel");
	self->mem = vt_memory(VT_4K, SIZE);
	ASSERT_NE(MAP_FAILED, self->mem);
	ASSERT_EQ(0, vt_open(&self->first.vt, &self->first.pci,
			     VFIO_TYPE1v2_IOMMU));
}

FIXTURE_TEARDOWN(fail_nth_join)
{
	close(self->fd);
	vt_return(&self->first);
	vt_return(&self->second);
}

/* Two mappings, one of them scattered, so that replay has work to undo. */
static void map_two(struct __test_metadata *_metadata, struct vt *vt, char *mem)
{
	ASSERT_EQ(0, vt_map(vt, mem, IOVA, SIZE / 2));
	ASSERT_EQ(0, vt_map(vt, mem + SIZE / 2, IOVA + SIZE, SIZE / 2));
}

/*
 * A second group joins, with each allocation failing in turn. Where it is the
 * one that lets it join the domain which exists, it gets a domain of its own and
 * all mappings are replayed there, by which each further failure is one of the
 * replay.
 */
TEST_F_TIMEOUT(fail_nth_join, replay, 600)
{
	struct vt *vt = &self->first.vt;
	struct vt_accounts before = vt_accounts(vt);
	int nth, ret, joined = 0, replayed = 0;
	int64_t maps;
	bool spent;

	map_two(_metadata, vt, self->mem);
	for (nth = 1; nth < MAX_NTH; nth++) {
		ASSERT_EQ(0, vt_count_start());
		fail_nth(self->fd, nth);
		ret = vt_join_second(&self->first, &self->second);
		spent = nth_has_failed(self->fd);
		ASSERT_EQ(0, vt_count_stop());
		maps = vt_count(vt_map_functions);
		VT_EXPECT_ACCOUNTS(before, vt, SIZE, 2, SIZE / VT_PAGE);
		joined += !ret;
		if (!ret && maps) {
			replayed++;
			/* Both domains go. */
			EXPECT_EQ(SIZE, vt_unmap_all(vt));
			VT_EXPECT_ACCOUNTS(before, vt, 0, 0, 0);
			map_two(_metadata, vt, self->mem);
			VT_EXPECT_ACCOUNTS(before, vt, SIZE, 2, SIZE / VT_PAGE);
		}
		vt_close(&self->second.vt);
		VT_EXPECT_ACCOUNTS(before, vt, SIZE, 2, SIZE / VT_PAGE);
		if (!spent)
			break;
	}
	EXPECT_LT(nth, MAX_NTH);
	EXPECT_EQ(0, ret);
	EXPECT_LE(1, joined);
	EXPECT_LE(1, replayed);
	EXPECT_EQ(SIZE, vt_unmap_all(vt));
	VT_EXPECT_ACCOUNTS(before, vt, 0, 0, 0);
	TH_LOG("%d allocations, joined %d times, %d of them with a replay",
	       nth - 1, joined, replayed);
}

TEST_HARNESS_MAIN
