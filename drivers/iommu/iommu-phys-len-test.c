// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of iommu_iova_to_phys_len(): the contract, case by case, on a mock
 * driver that has nothing but iova_to_phys(); then random layouts, on the mock
 * and on the driver of this machine, against what was mapped. The latter needs
 * an IOMMU and a PCI device without a driver.
 */
#include <kunit/test.h>
#include <linux/bsearch.h>
#include <linux/iommu.h>
#include <linux/pci.h>
#include <linux/prandom.h>
#include <linux/sizes.h>

/* A range of IOVA that is mapped, contiguously. Bytes. */
struct segment {
	dma_addr_t iova;
	phys_addr_t phys;
	size_t size;
};

#define MAX_SEGMENTS	512

/* What a domain is expected to translate: segments in ascending order. */
struct layout {
	unsigned int nr;
	struct segment segments[MAX_SEGMENTS];
};

/* A driver with nothing but the required operation. It counts its calls. */
struct mock_domain {
	struct iommu_domain domain;
	const struct layout *layout;
	unsigned int walks;
};

static int cmp_segment(const void *key, const void *elt)
{
	const dma_addr_t *iova = key;
	const struct segment *segment = elt;

	if (*iova < segment->iova)
		return -1;
	return *iova - segment->iova >= segment->size;
}

static const struct segment *find_segment(const struct layout *layout,
					  dma_addr_t iova)
{
	return bsearch(&iova, layout->segments, layout->nr,
		       sizeof(*layout->segments), cmp_segment);
}

static phys_addr_t mock_iova_to_phys(struct iommu_domain *domain,
				     dma_addr_t iova)
{
	struct mock_domain *mock = container_of(domain, struct mock_domain,
						domain);
	const struct segment *segment;

	mock->walks++;
	segment = find_segment(mock->layout, iova);
	return segment ? segment->phys + (iova - segment->iova) : 0;
}

static const struct iommu_domain_ops mock_ops = {
	.iova_to_phys = mock_iova_to_phys,
};

static phys_addr_t greedy_iova_to_phys_len(struct iommu_domain *domain,
					   dma_addr_t iova, size_t max,
					   size_t *len)
{
	*len = SZ_1G;
	return iova;
}

static const struct iommu_domain_ops greedy_ops = {
	.iova_to_phys_len = greedy_iova_to_phys_len,
};

static void mock_init(struct mock_domain *mock, const struct layout *layout)
{
	*mock = (struct mock_domain) {
		.domain = {
			.type = IOMMU_DOMAIN_UNMANAGED,
			.ops = &mock_ops,
			.pgsize_bitmap = SZ_4K | SZ_2M | SZ_1G,
		},
		.layout = layout,
	};
}

/* Three pages, a break, two pages, a hole, a page; one that ends at 2^64. */
static const struct layout small_layout = {
	.nr = 4,
	.segments = {
		{ 0x10000, 0x500000, 3 * SZ_4K },
		{ 0x13000, 0x600000, 2 * SZ_4K },
		{ 0x16000, 0x602000, SZ_4K },
		{ (dma_addr_t)0 - SZ_4K, 0x700000, SZ_4K },
	},
};

struct call {
	const char *what;
	dma_addr_t iova;
	size_t max;
	phys_addr_t phys;
	size_t len;
};

static const struct call small_calls[] = {
	{ "up to the break", 0x10000, SZ_1M, 0x500000, 0x3000 },
	{ "from the middle", 0x11000, SZ_1M, 0x501000, 0x2000 },
	{ "up to max", 0x10000, 0x2000, 0x500000, 0x2000 },
	{ "max within a page", 0x10000, 0x1001, 0x500000, 0x1001 },
	{ "iova within a page", 0x10ffe, SZ_1M, 0x500ffe, 0x2002 },
	{ "both within the same page", 0x10ffe, 1, 0x500ffe, 1 },
	{ "up to the hole", 0x13000, SZ_1M, 0x600000, 0x2000 },
	{ "the hole", 0x15000, SZ_1M, 0, 0 },
	{ "after the hole", 0x16000, SZ_1M, 0x602000, 0x1000 },
	{ "nothing asked for", 0x10000, 0, 0, 0 },
	{ "up to 2^64", (dma_addr_t)0 - SZ_4K, SIZE_MAX, 0x700000, SZ_4K },
	{ "last byte", (dma_addr_t)~0, SIZE_MAX, 0x700fff, 1 },
};

static void test_small(struct kunit *test)
{
	const struct call *call;
	struct mock_domain mock;
	phys_addr_t phys;
	size_t len;

	mock_init(&mock, &small_layout);
	for (call = small_calls;
	     call < small_calls + ARRAY_SIZE(small_calls); call++) {
		len = 4711;
		phys = iommu_iova_to_phys_len(&mock.domain, call->iova,
					      call->max, &len);
		KUNIT_EXPECT_EQ_MSG(test, phys, call->phys, "%s", call->what);
		KUNIT_EXPECT_EQ_MSG(test, len, call->len, "%s", call->what);
	}
}

/* The work of a call is bounded, however far the run goes. */
static void test_bounded(struct kunit *test)
{
	static const struct layout layout = {
		.nr = 1,
		.segments = { { SZ_1G, SZ_2G, SZ_1G } },
	};
	struct mock_domain mock;
	size_t len;

	mock_init(&mock, &layout);
	KUNIT_EXPECT_EQ(test, SZ_2G, iommu_iova_to_phys_len(&mock.domain, SZ_1G,
							    SZ_1G, &len));
	KUNIT_EXPECT_EQ(test, len, 512 * SZ_4K);
	KUNIT_EXPECT_EQ(test, mock.walks, 512);
}

/* A piece ends where a table of the smallest pages would. */
static void test_piece_ends_at_table(struct kunit *test)
{
	static const struct layout layout = {
		.nr = 1,
		.segments = { { SZ_1G, SZ_2G, SZ_1G } },
	};
	struct mock_domain mock;
	size_t len;

	mock_init(&mock, &layout);
	KUNIT_EXPECT_EQ(test, SZ_2G + 3 * SZ_4K + 1,
			iommu_iova_to_phys_len(&mock.domain,
					       SZ_1G + 3 * SZ_4K + 1, SZ_1G / 2,
					       &len));
	KUNIT_EXPECT_EQ(test, len, 509 * SZ_4K - 1);
	KUNIT_EXPECT_EQ(test, mock.walks, 509);
}

/* No address beyond max is looked at: somebody else may be mapping it. */
static void test_not_beyond_max(struct kunit *test)
{
	struct mock_domain mock;
	size_t len;

	mock_init(&mock, &small_layout);
	iommu_iova_to_phys_len(&mock.domain, 0x10000, 2 * SZ_4K, &len);
	KUNIT_EXPECT_EQ(test, mock.walks, 2);
}

/* The steps are of the smallest page that the domain maps. */
static void test_granule(struct kunit *test)
{
	static const struct layout layout = {
		.nr = 1,
		.segments = { { SZ_1M, SZ_2M, SZ_1M } },
	};
	struct mock_domain mock;
	size_t len;

	mock_init(&mock, &layout);
	mock.domain.pgsize_bitmap = SZ_64K | SZ_512M;
	iommu_iova_to_phys_len(&mock.domain, SZ_1M + SZ_4K, SZ_1M, &len);
	KUNIT_EXPECT_EQ(test, len, SZ_1M - SZ_4K);
	KUNIT_EXPECT_EQ(test, mock.walks, 17);
}

static void test_other_domains(struct kunit *test)
{
	struct mock_domain mock;
	size_t len;

	mock_init(&mock, &small_layout);

	mock.domain.type = IOMMU_DOMAIN_IDENTITY;
	KUNIT_EXPECT_EQ(test, SZ_1M, iommu_iova_to_phys_len(&mock.domain, SZ_1M,
							    SZ_2G, &len));
	KUNIT_EXPECT_EQ(test, len, SZ_2G);
	iommu_iova_to_phys_len(&mock.domain, (dma_addr_t)0 - SZ_1M, SZ_2G, &len);
	KUNIT_EXPECT_EQ(test, len, SZ_1M);

	mock.domain.type = IOMMU_DOMAIN_BLOCKED;
	KUNIT_EXPECT_EQ(test, 0, iommu_iova_to_phys_len(&mock.domain, 0x10000,
							SZ_1M, &len));
	KUNIT_EXPECT_EQ(test, len, 0);
	KUNIT_EXPECT_EQ(test, mock.walks, 0);
}

/* What a driver says is cut to what was asked for. */
static void test_driver_is_cut(struct kunit *test)
{
	struct mock_domain mock;
	size_t len;

	mock_init(&mock, &small_layout);
	mock.domain.ops = &greedy_ops;
	KUNIT_EXPECT_EQ(test, SZ_1M, iommu_iova_to_phys_len(&mock.domain, SZ_1M,
							    SZ_4K, &len));
	KUNIT_EXPECT_EQ(test, len, SZ_4K);
}

/*
 * Random layouts: segments of a page to some 2 MiB pages, with and without a
 * hole between them, some of which continue the one before, physically, and
 * some of which are aligned so that larger pages can map them.
 */
#define LAYOUT_IOVA	((dma_addr_t)SZ_1G)
#define LAYOUT_SPACE	SZ_1G

static size_t random_size(struct rnd_state *rnd)
{
	switch (prandom_u32_state(rnd) % 4) {
	case 0:
		return SZ_4K;
	case 1:
		return SZ_4K * (1 + prandom_u32_state(rnd) % 64);
	case 2:
		return SZ_4K * (1 + prandom_u32_state(rnd) % 2048);
	default:
		return SZ_2M * (1 + prandom_u32_state(rnd) % 4);
	}
}

static phys_addr_t random_phys(struct rnd_state *rnd,
			       const struct segment *before, dma_addr_t iova)
{
	phys_addr_t base = SZ_1G + (phys_addr_t)SZ_2M *
		(prandom_u32_state(rnd) % 1024);

	switch (prandom_u32_state(rnd) % 3) {
	case 0:
		return before ? before->phys + before->size : base;
	case 1:		/* at the same offset into 2 MiB */
		return base + (iova & (SZ_2M - 1));
	default:
		return base + SZ_4K * (prandom_u32_state(rnd) % 512);
	}
}

static void random_layout(struct rnd_state *rnd, struct layout *layout)
{
	dma_addr_t iova = LAYOUT_IOVA;
	struct segment *segment = NULL;

	layout->nr = 0;
	while (layout->nr < MAX_SEGMENTS) {
		if (prandom_u32_state(rnd) % 4 == 0)
			iova += SZ_4K * (prandom_u32_state(rnd) % 512);
		if (prandom_u32_state(rnd) % 4 == 0)
			iova = ALIGN(iova, SZ_2M);
		layout->segments[layout->nr] = (struct segment) {
			.iova = iova,
			.phys = random_phys(rnd, segment, iova),
			.size = random_size(rnd),
		};
		segment = &layout->segments[layout->nr];
		iova += segment->size;
		if (iova > LAYOUT_IOVA + LAYOUT_SPACE)
			return;
		layout->nr++;
	}
}

/* What the run at @iova must be. */
static phys_addr_t expect_run(const struct layout *layout, dma_addr_t iova,
			      size_t max, size_t *len)
{
	const struct segment *segment = find_segment(layout, iova), *next;
	phys_addr_t phys;

	*len = 0;
	if (!segment)
		return 0;
	phys = segment->phys + (iova - segment->iova);
	*len = segment->size - (iova - segment->iova);
	while (*len < max) {
		next = find_segment(layout, iova + *len);
		if (!next || next->phys != phys + *len)
			break;
		*len += next->size;
	}
	*len = min(*len, max);
	return phys;
}

/* Ask until the run ends. Return: whether the pieces make up the run. */
static bool run_matches(struct kunit *test, struct iommu_domain *domain,
			const struct layout *layout, dma_addr_t iova,
			size_t max)
{
	size_t want, len, done = 0;
	phys_addr_t phys, at;

	phys = expect_run(layout, iova, max, &want);
	do {
		at = iommu_iova_to_phys_len(domain, iova + done, max - done,
					    &len);
		if (len > max - done) {
			KUNIT_FAIL(test, "longer than asked for");
			return false;
		}
		if (!len || at != phys + done)
			break;
		done += len;
	} while (done < max);

	KUNIT_EXPECT_EQ_MSG(test, done, want, "at %pad, max %zu", &iova, max);
	return done == want;
}

static void check_layout(struct kunit *test, struct rnd_state *rnd,
			 struct iommu_domain *domain,
			 const struct layout *layout)
{
	dma_addr_t iova;
	size_t max;
	int i;

	for (i = 0; i < 2000; i++) {
		iova = LAYOUT_IOVA + prandom_u32_state(rnd) % LAYOUT_SPACE;
		if (i % 2)
			iova = layout->segments[i % layout->nr].iova;
		max = 1 + prandom_u32_state(rnd) % (i % 3 ? SZ_64K : SZ_64M);
		if (!run_matches(test, domain, layout, iova, max))
			return;
	}
}

static void test_random_fallback(struct kunit *test)
{
	struct rnd_state rnd;
	struct mock_domain mock;
	struct layout *layout;

	layout = kunit_kzalloc(test, sizeof(*layout), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, layout);
	prandom_seed_state(&rnd, 1);
	random_layout(&rnd, layout);
	mock_init(&mock, layout);
	check_layout(test, &rnd, &mock.domain, layout);
}

/* A device that nothing drives, so that its domain can be replaced. */
static int idle_device(struct device *dev, const void *data)
{
	return device_iommu_mapped(dev) && !dev->driver &&
		!pci_is_enabled(to_pci_dev(dev)) && !pci_is_bridge(to_pci_dev(dev));
}

static int map_layout(struct iommu_domain *domain, const struct layout *layout)
{
	const struct segment *segment;
	int ret = 0;

	for (segment = layout->segments;
	     !ret && segment < layout->segments + layout->nr; segment++)
		ret = iommu_map(domain, segment->iova, segment->phys,
				segment->size, IOMMU_READ, GFP_KERNEL);
	return ret;
}

static void unmap_layout(struct iommu_domain *domain,
			 const struct layout *layout)
{
	unsigned int i;

	for (i = 0; i < layout->nr; i++)
		iommu_unmap(domain, layout->segments[i].iova,
			    layout->segments[i].size);
}

static void check_driver(struct kunit *test, struct iommu_domain *domain,
			 struct layout *layout)
{
	struct rnd_state rnd;
	int ret;

	prandom_seed_state(&rnd, 2);
	random_layout(&rnd, layout);
	ret = map_layout(domain, layout);
	KUNIT_EXPECT_EQ(test, ret, 0);
	if (ret)
		return;

	check_layout(test, &rnd, domain, layout);
	unmap_layout(domain, layout);
	layout->nr = 0;
	run_matches(test, domain, layout, LAYOUT_IOVA, LAYOUT_SPACE);
}

static void test_random_driver(struct kunit *test)
{
	struct iommu_domain *domain;
	struct layout *layout;
	struct device *dev;

	dev = bus_find_device(&pci_bus_type, NULL, NULL, idle_device);
	if (!dev)
		kunit_skip(test, "no idle PCI device behind an IOMMU");
	layout = kunit_kzalloc(test, sizeof(*layout), GFP_KERNEL);
	domain = iommu_paging_domain_alloc(dev);
	if (!layout || IS_ERR(domain))
		goto no_domain;
	if (iommu_attach_device(domain, dev))
		goto no_attach;

	kunit_info(test, "%s, page sizes 0x%lx, %s\n", dev_name(dev),
		   domain->pgsize_bitmap,
		   domain->ops->iova_to_phys_len ? "driver" : "fallback");
	check_driver(test, domain, layout);

	iommu_detach_device(domain, dev);
	iommu_domain_free(domain);
	put_device(dev);
	return;

no_attach:
	iommu_domain_free(domain);
no_domain:
	put_device(dev);
	kunit_skip(test, "no domain of its own for the idle device");
}

static struct kunit_case phys_len_cases[] = {
	KUNIT_CASE(test_small),
	KUNIT_CASE(test_bounded),
	KUNIT_CASE(test_piece_ends_at_table),
	KUNIT_CASE(test_not_beyond_max),
	KUNIT_CASE(test_granule),
	KUNIT_CASE(test_other_domains),
	KUNIT_CASE(test_driver_is_cut),
	KUNIT_CASE_SLOW(test_random_fallback),
	KUNIT_CASE_SLOW(test_random_driver),
	{}
};

static struct kunit_suite phys_len_suite = {
	.name = "iommu_phys_len",
	.test_cases = phys_len_cases,
};

kunit_test_suite(phys_len_suite);

MODULE_DESCRIPTION("KUnit tests of iommu_iova_to_phys_len()");
MODULE_LICENSE("GPL");
