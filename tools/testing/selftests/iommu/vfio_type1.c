// SPDX-License-Identifier: GPL-2.0-only
/*
 * vfio's type1 backend through its real system calls, on a pci-testdev of
 * QEMU's that this program binds to vfio-pci: what a mapping costs and gives
 * back, in accounts and in counts of kernel functions, never in time.
 *
 * The counts hold for VT-d, some for AMD-Vi; other IOMMUs are held to the
 * accounts alone. The tests of device memory need a testdev with a membar of
 * 1 GiB or more, those of several devices two that have ATS. Without these
 * they are skipped.
 *
 * debug: always
 */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include <linux/capability.h>

#include "../kselftest_harness.h"
#include "vfio_type1.h"
#include "vfio_type1_counts.h"

#define IOVA	(4UL << 30)
#define SIZE	(64UL << 20)
#define STEP	(128UL << 20)	/* of small entries, without a pause */

static bool on_vt_d(void)
{
	return !access("/sys/class/iommu/dmar0", F_OK);
}

/* With its own page table, whose pages are of any power of two. */
static bool on_amd_vi(void)
{
	return !access("/sys/class/iommu/ivhd0", F_OK);
}

/* Maps and unmaps, and looks at the accounts; @ram bytes of it are memory. */
static void check_map_unmap(struct __test_metadata *_metadata, struct vt *vt,
			    void *mem, uint64_t iova, uint64_t size,
			    uint64_t ram)
{
	struct vt_accounts before = vt_accounts(vt);

	ASSERT_EQ(0, vt_map(vt, mem, iova, size));
	VT_EXPECT_ACCOUNTS(before, vt, ram, 1, ram / VT_PAGE);
	EXPECT_EQ(size, vt_unmap(vt, iova, size));
	VT_EXPECT_ACCOUNTS(before, vt, 0, 0, 0);
}

/* ---- memory of all kinds ------------------------------------------------ */

FIXTURE(memory)
{
	struct vt_subject subject;
	struct vt *vt;
	void *mem;
};

FIXTURE_VARIANT(memory)
{
	enum vt_memory kind;
	uint64_t leaf;		/* what a page table entry maps if aligned */
};

FIXTURE_VARIANT_ADD(memory, small) {
	.kind = VT_4K, .leaf = VT_PAGE,
};

FIXTURE_VARIANT_ADD(memory, scattered) {
	.kind = VT_SCATTERED, .leaf = VT_PAGE,
};

FIXTURE_VARIANT_ADD(memory, thp) {
	.kind = VT_THP, .leaf = VT_2M,
};

FIXTURE_VARIANT_ADD(memory, hugetlb) {
	.kind = VT_HUGETLB, .leaf = VT_2M,
};

FIXTURE_SETUP(memory)
{
	const char *why = vt_take(&self->subject, vt_pci_is_testdev, 0);

	if (why)
		SKIP(return, "%s", why);
	self->mem = vt_memory(variant->kind, SIZE);
	if (self->mem == MAP_FAILED)
		SKIP(return, "no such memory here");
	self->vt = &self->subject.vt;
	ASSERT_EQ(0, vt_open(self->vt, &self->subject.pci, VFIO_TYPE1v2_IOMMU));
}

FIXTURE_TEARDOWN(memory)
{
	vt_return(&self->subject);
	vt_free(variant->kind, self->mem, SIZE);
}

TEST_F(memory, costs_what_it_maps)
{
	check_map_unmap(_metadata, self->vt, self->mem, IOVA, SIZE, SIZE);
	check_map_unmap(_metadata, self->vt, self->mem + VT_PAGE, IOVA,
			SIZE - VT_PAGE, SIZE - VT_PAGE);
}

TEST_F(memory, read_only_comes_back)
{
	struct vt_accounts before = vt_accounts(self->vt);

	ASSERT_EQ(0, vt_map_prot(self->vt, self->mem, IOVA, SIZE,
				 VFIO_DMA_MAP_FLAG_READ));
	VT_EXPECT_ACCOUNTS(before, self->vt, SIZE, 1, SIZE / VT_PAGE);
	EXPECT_EQ(SIZE, vt_unmap(self->vt, IOVA, SIZE));
	VT_EXPECT_ACCOUNTS(before, self->vt, 0, 0, 0);
}

TEST_F(memory, comes_back_when_the_container_goes)
{
	struct vt_accounts before = vt_accounts(self->vt);

	ASSERT_EQ(0, vt_map(self->vt, self->mem, IOVA, SIZE));
	vt_close(self->vt);
	EXPECT_EQ(before.locked, vt_status("VmLck"));
	EXPECT_EQ(before.pinned, vt_pinned());
}

TEST_F(memory, comes_back_when_the_group_leaves)
{
	struct vt_accounts before = vt_accounts(self->vt);

	ASSERT_EQ(0, vt_map(self->vt, self->mem, IOVA, SIZE));
	ASSERT_EQ(0, ioctl(self->vt->group, VFIO_GROUP_UNSET_CONTAINER));
	EXPECT_EQ(before.locked, vt_status("VmLck"));
	EXPECT_EQ(before.pinned, vt_pinned());
}

/*
 * One walk for each contiguous run and leaf table, one unmap and flush for 512
 * walks, and pages unpinned by range: case 29. The IOVA decides how large the
 * entries are: an odd one makes them small ones, whatever the memory.
 */
static void check_counts(struct __test_metadata *_metadata, struct vt *vt,
			 void *mem, uint64_t iova, uint64_t leaf)
{
	int64_t runs = vt_runs(mem, SIZE);
	int64_t tables = SIZE / (512 * leaf) + 2;
	int64_t rounds = (runs + tables) / 512 + 2;

	ASSERT_LT(0, runs);
	ASSERT_EQ(0, vt_map(vt, mem, iova, SIZE));
	ASSERT_EQ(0, vt_count_start());
	EXPECT_EQ(SIZE, vt_unmap(vt, iova, SIZE));
	ASSERT_EQ(0, vt_count_stop());

	TH_LOG("%lld runs: %lld walks, %lld unmaps, %lld syncs, %lld unpins",
	       (long long)runs, (long long)vt_count(vt_walk_functions),
	       (long long)vt_count(vt_unmap_functions),
	       (long long)vt_count(vt_sync_functions),
	       (long long)vt_count(vt_unpin_functions));
	EXPECT_LE(vt_count(vt_walk_functions), runs + tables + rounds);
	EXPECT_LE(1, vt_count(vt_walk_functions));
	EXPECT_LE(vt_count(vt_unmap_functions), rounds);
	EXPECT_LE(1, vt_count(vt_unmap_functions));
	/* A flush more where 2 MiB pages begin, and one where they end. */
	EXPECT_LE(vt_count(vt_sync_functions), 3 * rounds);
	EXPECT_LE(1, vt_count(vt_sync_functions));
	EXPECT_LE(vt_count(vt_unpin_functions), runs + SIZE / VT_PAGE / 4096);
	EXPECT_LE(1, vt_count(vt_unpin_functions));
}

/* Fine-grained superpages: not a walk more than one an entry. */
TEST_F(memory, unmap_counts_by_the_entry)
{
	int64_t entries, rounds;

	if (!on_amd_vi())
		SKIP(return, "counts are those of AMD-Vi");
	entries = vt_entries(self->mem, IOVA, SIZE);
	rounds = entries / 512 + 1;
	ASSERT_LT(0, entries);
	ASSERT_EQ(0, vt_map(self->vt, self->mem, IOVA, SIZE));
	ASSERT_EQ(0, vt_count_start());
	EXPECT_EQ(SIZE, vt_unmap(self->vt, IOVA, SIZE));
	ASSERT_EQ(0, vt_count_stop());

	TH_LOG("%lld entries: %lld walks, %lld unmaps", (long long)entries,
	       (long long)vt_count(vt_walk_functions),
	       (long long)vt_count(vt_unmap_functions));
	EXPECT_LE(vt_count(vt_walk_functions), entries + rounds);
	EXPECT_LE(vt_count(vt_unmap_functions), rounds);
}

TEST_F(memory, unmap_counts)
{
	if (!on_vt_d())
		SKIP(return, "counts are those of VT-d");
	check_counts(_metadata, self->vt, self->mem, IOVA, variant->leaf);
}

TEST_F(memory, unmap_counts_at_an_odd_address)
{
	if (!on_vt_d())
		SKIP(return, "counts are those of VT-d");
	check_counts(_metadata, self->vt, self->mem, IOVA + VT_PAGE, VT_PAGE);
}

/* ---- ranges, limits, failures ------------------------------------------- */

FIXTURE(type1)
{
	struct vt_subject subject;
	struct vt *vt;
	char *mem;
};

FIXTURE_SETUP(type1)
{
	const char *why = vt_take(&self->subject, vt_pci_is_testdev, 0);

	if (why)
		SKIP(return, "%s", why);
	self->vt = &self->subject.vt;
	self->mem = vt_memory(VT_4K, SIZE);
	ASSERT_NE(MAP_FAILED, self->mem);
	ASSERT_EQ(0, vt_open(self->vt, &self->subject.pci, VFIO_TYPE1v2_IOMMU));
}

FIXTURE_TEARDOWN(type1)
{
	vt_return(&self->subject);
	vt_free(VT_4K, self->mem, SIZE);
}

/* Three mappings, 3 MiB in all. */
static void map_three(struct __test_metadata *_metadata, struct vt *vt,
		      char *mem)
{
	ASSERT_EQ(0, vt_map(vt, mem, IOVA, 1 << 20));
	ASSERT_EQ(0, vt_map(vt, mem + (1 << 20), IOVA + (1 << 20), 1 << 20));
	ASSERT_EQ(0, vt_map(vt, mem, IOVA + VT_1G, 1 << 20));
}

/* Case 27: what an unmap returns is what was mapped, and no more. */
TEST_F(type1, unmap_all_returns_what_was_mapped)
{
	struct vt_accounts before = vt_accounts(self->vt);

	map_three(_metadata, self->vt, self->mem);
	EXPECT_EQ(3 << 20, vt_unmap_all(self->vt));
	VT_EXPECT_ACCOUNTS(before, self->vt, 0, 0, 0);
	EXPECT_EQ(0, vt_unmap_all(self->vt));
}

TEST_F(type1, range_past_the_width_returns_what_was_mapped)
{
	struct vt_accounts before = vt_accounts(self->vt);

	map_three(_metadata, self->vt, self->mem);
	EXPECT_EQ(3 << 20, vt_unmap(self->vt, 0, 1UL << 63));
	VT_EXPECT_ACCOUNTS(before, self->vt, 0, 0, 0);
}

TEST_F(type1, range_to_the_last_address_returns_what_was_mapped)
{
	struct vt_accounts before = vt_accounts(self->vt);

	map_three(_metadata, self->vt, self->mem);
	EXPECT_EQ(3 << 20, vt_unmap(self->vt, VT_PAGE, -VT_PAGE));
	VT_EXPECT_ACCOUNTS(before, self->vt, 0, 0, 0);
	EXPECT_EQ(0, vt_unmap(self->vt, VT_PAGE, -VT_PAGE));
}

TEST_F(type1, range_past_the_last_address_is_refused)
{
	EXPECT_EQ(-EINVAL, vt_unmap(self->vt, 2 * VT_PAGE, -VT_PAGE));
	EXPECT_EQ(-EINVAL, vt_unmap(self->vt, IOVA, 0));
}

TEST_F(type1, range_that_cuts_a_mapping_changes_nothing)
{
	struct vt_accounts before = vt_accounts(self->vt);

	map_three(_metadata, self->vt, self->mem);
	EXPECT_EQ(-EINVAL, vt_unmap(self->vt, IOVA, (1 << 20) + VT_PAGE));
	EXPECT_EQ(-EINVAL, vt_unmap(self->vt, IOVA + VT_PAGE, 1 << 20));
	VT_EXPECT_ACCOUNTS(before, self->vt, 3 << 20, 3, (3 << 20) / VT_PAGE);
	EXPECT_EQ(1 << 20, vt_unmap(self->vt, IOVA + (1 << 20), 1 << 20));
	VT_EXPECT_ACCOUNTS(before, self->vt, 2 << 20, 2, (2 << 20) / VT_PAGE);
}

/* The last page of all, where the IOMMU has one. */
TEST_F(type1, last_page_is_found_again)
{
	struct vt_accounts before = vt_accounts(self->vt);
	uint64_t iova = -VT_PAGE;

	if (vt_map(self->vt, self->mem, iova, VT_PAGE))
		SKIP(return, "the IOMMU translates fewer than 64 bits");
	EXPECT_EQ(-EEXIST, vt_map(self->vt, self->mem, iova, VT_PAGE));
	EXPECT_EQ(VT_PAGE, vt_unmap(self->vt, iova, VT_PAGE));
	VT_EXPECT_ACCOUNTS(before, self->vt, 0, 0, 0);
}

TEST_F(type1, overlap_is_refused)
{
	struct vt_accounts before = vt_accounts(self->vt);

	ASSERT_EQ(0, vt_map(self->vt, self->mem, IOVA, SIZE));
	EXPECT_EQ(-EEXIST, vt_map(self->vt, self->mem, IOVA + SIZE - VT_PAGE,
				  2 * VT_PAGE));
	EXPECT_EQ(-EEXIST, vt_map(self->vt, self->mem, IOVA - VT_PAGE,
				  2 * VT_PAGE));
	VT_EXPECT_ACCOUNTS(before, self->vt, SIZE, 1, SIZE / VT_PAGE);
}

/* A mapping that fails half-way leaves no trace. */
TEST_F(type1, hole_in_memory_leaves_no_trace)
{
	struct vt_accounts before = vt_accounts(self->vt);

	ASSERT_EQ(0, munmap(self->mem + SIZE / 2, VT_PAGE));
	EXPECT_EQ(-EFAULT, vt_map(self->vt, self->mem, IOVA, SIZE));
	VT_EXPECT_ACCOUNTS(before, self->vt, 0, 0, 0);
	check_map_unmap(_metadata, self->vt, self->mem, IOVA, SIZE / 2,
			SIZE / 2);
}

static int drop_ipc_lock(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return -errno;
	data[0].effective &= ~(1U << CAP_IPC_LOCK);
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

TEST_F(type1, memlock_limit_leaves_no_trace)
{
	struct rlimit limit = { SIZE / 2, SIZE / 2 };
	struct vt_accounts before = vt_accounts(self->vt);

	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	ASSERT_EQ(0, drop_ipc_lock());
	EXPECT_EQ(-ENOMEM, vt_map(self->vt, self->mem, IOVA, SIZE));
	VT_EXPECT_ACCOUNTS(before, self->vt, 0, 0, 0);
	check_map_unmap(_metadata, self->vt, self->mem, IOVA, SIZE / 2,
			SIZE / 2);
}

/* Case 30: how many entries a mapping costs does not depend on its size. */
TEST_F_TIMEOUT(type1, four_gib_cost_one_entry, 300)
{
	uint64_t size = 4 * VT_1G, at;
	int fd = memfd_create("type1", 0);
	char *mem;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, SIZE));
	mem = mmap(NULL, size, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	for (at = 0; at < size; at += SIZE)
		ASSERT_NE(MAP_FAILED, mmap(mem + at, SIZE,
					   PROT_READ | PROT_WRITE, MAP_SHARED |
					   MAP_FIXED | MAP_POPULATE, fd, 0));
	check_map_unmap(_metadata, self->vt, mem, IOVA, size, size);
}

TEST_F_TIMEOUT(type1, entries_run_out_and_come_back, 300)
{
	struct vt_accounts before = vt_accounts(self->vt);
	int64_t i;

	for (i = 0; i < before.avail; i++)
		ASSERT_EQ(0, vt_map(self->vt, self->mem + i * VT_PAGE % SIZE,
				    IOVA + i * VT_PAGE, VT_PAGE));
	EXPECT_EQ(-ENOSPC, vt_map(self->vt, self->mem, IOVA + i * VT_PAGE,
				  VT_PAGE));
	VT_EXPECT_ACCOUNTS(before, self->vt, i * VT_PAGE, i, i);
	EXPECT_EQ(i * VT_PAGE, vt_unmap_all(self->vt));
	VT_EXPECT_ACCOUNTS(before, self->vt, 0, 0, 0);
}

/* ---- device memory ------------------------------------------------------ */

FIXTURE(device_memory)
{
	struct vt_subject subject;
	struct vt *vt;
	uint64_t size;
	char *bar;
};

FIXTURE_SETUP(device_memory)
{
	const char *why = vt_take(&self->subject, vt_pci_is_testdev, 0);

	if (why)
		SKIP(return, "%s", why);
	self->vt = &self->subject.vt;
	ASSERT_EQ(0, vt_open(self->vt, &self->subject.pci, VFIO_TYPE1v2_IOMMU));
	ASSERT_EQ(0, vt_open_device(self->vt, &self->subject.pci));
	self->bar = vt_map_bar(self->vt, &self->size);
	if (self->bar == MAP_FAILED || self->size < VT_1G)
		SKIP(return, "the testdev has no membar of 1 GiB");
}

FIXTURE_TEARDOWN(device_memory)
{
	vt_return(&self->subject);
}

TEST_F_TIMEOUT(device_memory, is_not_accounted, 300)
{
	check_map_unmap(_metadata, self->vt, self->bar, IOVA, self->size, 0);
	check_map_unmap(_metadata, self->vt, self->bar, IOVA + VT_PAGE, VT_1G,
			0);
	check_map_unmap(_metadata, self->vt, self->bar + VT_PAGE, IOVA,
			VT_2M, 0);
}

/* All of it, by the entries of the process: in chunks, not page by page. */
TEST_F_TIMEOUT(device_memory, is_mapped_in_chunks, 300)
{
	int64_t gib = self->size / VT_1G;

	if (!on_vt_d())
		SKIP(return, "counts are those of VT-d");
	/* The page tables of the process get their entries. */
	ASSERT_EQ(0, vt_map(self->vt, self->bar, IOVA, self->size));
	ASSERT_EQ(self->size, vt_unmap(self->vt, IOVA, self->size));

	ASSERT_EQ(0, vt_count_start());
	ASSERT_EQ(0, vt_map(self->vt, self->bar, IOVA, self->size));
	ASSERT_EQ(self->size, vt_unmap(self->vt, IOVA, self->size));
	ASSERT_EQ(0, vt_count_stop());

	/* 512 entries of 2 MiB in a GiB, if that is how it is mapped. */
	EXPECT_LE(vt_count(vt_lookup_functions), 513 * gib);
	EXPECT_LE(vt_count(vt_map_functions), 8 * gib);
	EXPECT_LE(vt_count(vt_walk_functions), gib);
	EXPECT_LE(vt_count(vt_unmap_functions), gib);
	EXPECT_EQ(0, vt_count(vt_unpin_functions));
}

/* There are no points at which such a kernel reschedules. */
static bool preemptible(void)
{
	struct utsname name;

	return !uname(&name) && strstr(name.version, "PREEMPT");
}

/* By small entries: each table that is read is followed by a chance to. */
TEST_F_TIMEOUT(device_memory, unmap_reschedules_in_a_run, 300)
{
	int64_t tables = VT_1G / VT_2M + 1;

	if (!on_vt_d())
		SKIP(return, "counts are those of VT-d");
	ASSERT_EQ(0, vt_map(self->vt, self->bar, IOVA + VT_PAGE, VT_1G));
	ASSERT_EQ(0, vt_count_start());
	EXPECT_EQ(VT_1G, vt_unmap(self->vt, IOVA + VT_PAGE, VT_1G));
	ASSERT_EQ(0, vt_count_stop());

	EXPECT_LE(vt_count(vt_walk_functions), tables);
	/* In steps of 128 MiB, one of which the flush after 512 walks cuts. */
	EXPECT_LE(VT_1G / STEP, vt_count(vt_unmap_functions));
	EXPECT_LE(vt_count(vt_unmap_functions), VT_1G / STEP + 2);
	if (vt_is_counted(vt_resched_functions) && !preemptible())
		EXPECT_LE(tables, vt_count(vt_resched_functions));
}

/*
 * One mapping of memory and, next to it, device memory; and one that ends in
 * nothing. (A hole in the device memory would do, too, but Linux 6.12 crashes
 * when an area is split that an entry of 1 GiB maps.)
 */
TEST_F_TIMEOUT(device_memory, beside_memory_in_a_mapping, 300)
{
	struct vt_accounts before = vt_accounts(self->vt);
	char *mem = self->bar - VT_2M;

	ASSERT_EQ(mem, mmap(mem, VT_2M, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			    MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1, 0));
	check_map_unmap(_metadata, self->vt, mem, IOVA, 2 * VT_2M, VT_2M);
	check_map_unmap(_metadata, self->vt, mem + VT_PAGE, IOVA, VT_2M,
			VT_2M - VT_PAGE);
	EXPECT_EQ(-EFAULT, vt_map(self->vt, mem, IOVA,
				  VT_2M + self->size + VT_PAGE));
	VT_EXPECT_ACCOUNTS(before, self->vt, 0, 0, 0);
	check_map_unmap(_metadata, self->vt, mem, IOVA, 2 * VT_2M, VT_2M);
}

/* ---- several devices ---------------------------------------------------- */

FIXTURE(two_devices)
{
	struct vt_subject first;
	struct vt_subject second;
	char *mem;
};

FIXTURE_SETUP(two_devices)
{
	const char *why = vt_take(&self->first, vt_pci_is_ats, 0);

	if (!why)
		why = vt_take(&self->second, vt_pci_is_ats, 1);
	if (why)
		SKIP(return, "%s", why);
	self->mem = vt_memory(VT_4K, SIZE);
	ASSERT_NE(MAP_FAILED, self->mem);
	ASSERT_EQ(0, vt_open(&self->first.vt, &self->first.pci,
			     VFIO_TYPE1v2_IOMMU));
}

FIXTURE_TEARDOWN(two_devices)
{
	vt_return(&self->first);
	vt_return(&self->second);
	vt_free(VT_4K, self->mem, SIZE);
}

TEST_F(two_devices, join_and_leave_with_mappings)
{
	struct vt_accounts before = vt_accounts(&self->first.vt);

	ASSERT_EQ(0, vt_map(&self->first.vt, self->mem, IOVA, SIZE));
	ASSERT_EQ(0, vt_join_second(&self->first, &self->second));
	VT_EXPECT_ACCOUNTS(before, &self->first.vt, SIZE, 1, SIZE / VT_PAGE);
	ASSERT_EQ(0, vt_leave_second(&self->second));
	VT_EXPECT_ACCOUNTS(before, &self->first.vt, SIZE, 1, SIZE / VT_PAGE);
	EXPECT_EQ(SIZE, vt_unmap_all(&self->first.vt));
	VT_EXPECT_ACCOUNTS(before, &self->first.vt, 0, 0, 0);
}

/* The same memory in two containers is pinned, and accounted, by each. */
TEST_F(two_devices, containers_account_on_their_own)
{
	struct vt_accounts before = vt_accounts(&self->first.vt);

	ASSERT_EQ(0, vt_open(&self->second.vt, &self->second.pci,
			     VFIO_TYPE1v2_IOMMU));
	ASSERT_EQ(0, vt_map(&self->first.vt, self->mem, IOVA, SIZE));
	ASSERT_EQ(0, vt_map(&self->second.vt, self->mem, IOVA, SIZE));
	VT_EXPECT_ACCOUNTS(before, &self->first.vt, 2 * SIZE, 1,
			   2 * SIZE / VT_PAGE);
	EXPECT_EQ(SIZE, vt_unmap_all(&self->first.vt));
	VT_EXPECT_ACCOUNTS(before, &self->second.vt, SIZE, 1, SIZE / VT_PAGE);
	EXPECT_EQ(SIZE, vt_unmap_all(&self->second.vt));
	VT_EXPECT_ACCOUNTS(before, &self->first.vt, 0, 0, 0);
}

struct mapper {
	struct vt *vt;
	char *mem;
	bool stop;
	int errors;
};

static void *map_until_stopped(void *arg)
{
	struct mapper *mapper = arg;

	while (!__atomic_load_n(&mapper->stop, __ATOMIC_RELAXED)) {
		mapper->errors += vt_map(mapper->vt, mapper->mem, IOVA,
					 VT_2M) != 0;
		mapper->errors += vt_unmap(mapper->vt, IOVA, VT_2M) != VT_2M;
	}
	return NULL;
}

/*
 * Case 25, CVE-2024-56669: a device with ATS leaves the domain, again and
 * again, while mappings come and go, and each unmap flushes the device-TLBs.
 */
TEST_F_TIMEOUT(two_devices, ats_device_leaves_while_the_other_unmaps, 300)
{
	struct vt_accounts before = vt_accounts(&self->first.vt);
	struct mapper mapper = { .vt = &self->first.vt, .mem = self->mem };
	pthread_t thread;
	int i;

	ASSERT_EQ(0, pthread_create(&thread, NULL, map_until_stopped, &mapper));
	for (i = 0; i < 50; i++) {
		EXPECT_EQ(0, vt_join_second(&self->first, &self->second));
		EXPECT_EQ(0, vt_leave_second(&self->second));
	}
	__atomic_store_n(&mapper.stop, true, __ATOMIC_RELAXED);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, mapper.errors);
	VT_EXPECT_ACCOUNTS(before, &self->first.vt, 0, 0, 0);
}

TEST_HARNESS_MAIN
