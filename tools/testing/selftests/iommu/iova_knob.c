// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ABI of /sys/kernel/iommu_groups/<grp_id>/max_opt_dma_size: what reads and
 * writes of it do, in every group that there is. Values are put back. Nothing
 * here depends on what the groups' devices are doing.
 *
 * debug: always
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"

#define GROUPS		"/sys/kernel/iommu_groups/"
#define DEBUGFS		"/sys/kernel/debug/iommu/groups/"
#define KNOB		"max_opt_dma_size"
#define MAX_GROUPS	256
#define KIB		1024UL
#define MIB		(1024UL * KIB)

/* Returns 0 or the error of the open or the write. */
static int knob_write_len(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY), err = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, len) < 0)
		err = errno;
	close(fd);
	return err;
}

static int knob_write(const char *path, const char *text)
{
	return knob_write_len(path, text, strlen(text));
}

static int knob_write_bytes(const char *path, unsigned long bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu\n", bytes);
	return knob_write(path, text);
}

/* Returns the value; 0, which is never one, for anything but "digits\n". */
static unsigned long knob_read(const char *path)
{
	char text[64] = "", *end;
	int fd = open(path, O_RDONLY);
	unsigned long value;
	ssize_t len;

	if (fd < 0)
		return 0;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len < 2)
		return 0;
	value = strtoul(text, &end, 10);
	return strcmp(end, "\n") ? 0 : value;
}

FIXTURE(knob)
{
	glob_t groups;
	unsigned long page, saved[MAX_GROUPS];
	size_t nr;
};

FIXTURE_SETUP(knob)
{
	size_t i;

	self->page = sysconf(_SC_PAGESIZE);
	if (glob(GROUPS "*/" KNOB, 0, NULL, &self->groups))
		SKIP(return, "no IOMMU group has " KNOB);
	if (geteuid())
		SKIP(return, "must be root");

	self->nr = self->groups.gl_pathc;
	if (self->nr > MAX_GROUPS)
		self->nr = MAX_GROUPS;
	for (i = 0; i < self->nr; i++)
		self->saved[i] = knob_read(self->groups.gl_pathv[i]);
}

FIXTURE_TEARDOWN(knob)
{
	size_t i;

	for (i = 0; i < self->nr; i++)
		knob_write_bytes(self->groups.gl_pathv[i], self->saved[i]);
	globfree(&self->groups);
}

#define for_each_group(path) \
	for (size_t _i = 0; _i < self->nr && \
	     ((path) = self->groups.gl_pathv[_i]); _i++)

/* Rounded up to a power of two of pages. */
static unsigned long rounded(unsigned long page, unsigned long bytes)
{
	unsigned long size = page;

	while (size < bytes)
		size *= 2;
	return size;
}

TEST_F(knob, every_group_has_a_sane_value)
{
	unsigned long value;
	const char *path;
	struct stat st;

	for_each_group(path) {
		ASSERT_EQ(0, stat(path, &st));
		EXPECT_EQ(0644, st.st_mode & 07777);
		value = knob_read(path);
		EXPECT_EQ(rounded(self->page, value), value) {
			TH_LOG("%s: %lu", path, value);
		}
		EXPECT_GE(value, self->page);
	}
}

TEST_F(knob, accepts_and_rounds)
{
	static const struct {
		const char *text;
		unsigned long bytes;
	} cases[] = {
		{ "1", 1 }, { "4096\n", 4096 }, { "4097", 4097 },
		{ "65536\n", 64 * KIB }, { "0x40000\n", 256 * KIB },
		{ "8K", 8 * KIB }, { "96K\n", 96 * KIB }, { "100k", 100 * KIB },
		{ "128K\n", 128 * KIB }, { "1M\n", MIB }, { "1m", MIB },
		{ "3M\n", 3 * MIB }, { "4M\n", 4 * MIB }, { "4096K", 4 * MIB },
	};
	const char *path;

	for_each_group(path) {
		for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
			unsigned long want = rounded(self->page, cases[c].bytes);

			EXPECT_EQ(0, knob_write(path, cases[c].text));
			EXPECT_EQ(want, knob_read(path)) {
				TH_LOG("%s: wrote '%s'", path, cases[c].text);
			}
		}
	}
}

TEST_F(knob, refuses_and_keeps)
{
	static const char *const junk[] = {
		"\n", " ", "K", "M\n", "-1", "-4096\n", "-0", "4096\x20\n",
		" 4096", "4096\n\n", "128 K", "128KB", "128KiB", "1.5M", "1G",
		"128K,", "auto", "DMA", "0x", "0xg", "12M\n",
		"18446744073709551615\n", "18446744073709551616\n",
		"18446744073709555712\n", "18014398509481984K\n",
		"18014398509482016K\n", "17592186044416M\n",
		"340282366920938463463374607431768211456\n",
	};
	const char *path;

	for_each_group(path) {
		ASSERT_EQ(0, knob_write(path, "512K\n"));
		for (size_t c = 0; c < ARRAY_SIZE(junk); c++) {
			EXPECT_EQ(EINVAL, knob_write(path, junk[c])) {
				TH_LOG("%s: wrote '%s'", path, junk[c]);
			}
			EXPECT_EQ(512 * KIB, knob_read(path)) {
				TH_LOG("%s: wrote '%s'", path, junk[c]);
			}
		}
	}
}

/* Tools write strings with their terminator; sysfs takes what stands before. */
TEST_F(knob, accepts_a_terminator)
{
	const char *path;

	for_each_group(path) {
		EXPECT_EQ(0, knob_write_len(path, "256K", 5));
		EXPECT_EQ(256 * KIB, knob_read(path));
	}
}

TEST_F(knob, ceiling_is_exact)
{
	const char *path;

	for_each_group(path) {
		unsigned long top = self->page;

		while (!knob_write_bytes(path, 2 * top))
			top *= 2;
		EXPECT_GE(top, 4 * MIB);
		EXPECT_EQ(EINVAL, knob_write_bytes(path, top + 1));
		EXPECT_EQ(top, knob_read(path));
		EXPECT_EQ(0, knob_write_bytes(path, top - 1));
		EXPECT_EQ(top, knob_read(path));
	}
}

TEST_F(knob, zero_restores_the_default)
{
	static const char *const zero[] = { "0", "0\n", "0K\n", "0x0\n" };
	const char *path;

	for_each_group(path) {
		for (size_t c = 0; c < ARRAY_SIZE(zero); c++) {
			ASSERT_EQ(0, knob_write(path, "1M\n"));
			EXPECT_EQ(0, knob_write(path, zero[c]));
			EXPECT_EQ(32 * self->page, knob_read(path)) {
				TH_LOG("%s: wrote '%s'", path, zero[c]);
			}
		}
	}
}

TEST_F(knob, groups_are_independent)
{
	const char *path;
	unsigned long n;

	n = 0;
	for_each_group(path)
		EXPECT_EQ(0, knob_write_bytes(path, self->page << n++ % 8));
	n = 0;
	for_each_group(path)
		EXPECT_EQ(self->page << n++ % 8, knob_read(path));
}

static bool cap_drop(unsigned int cap)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, data))
		return false;
	data[cap / 32].effective &= ~(1U << cap % 32);
	data[cap / 32].permitted &= ~(1U << cap % 32);
	return !syscall(SYS_capset, &head, data);
}

/* The error that a root without one capability gets. */
static int write_without(const char *path, unsigned int cap)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(cap_drop(cap) ? knob_write(path, "1M\n") : 255);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

TEST_F(knob, needs_both_capabilities)
{
	const char *path;

	for_each_group(path) {
		ASSERT_EQ(0, knob_write(path, "64K\n"));
		EXPECT_EQ(EPERM, write_without(path, CAP_SYS_ADMIN));
		EXPECT_EQ(EPERM, write_without(path, CAP_SYS_RAWIO));
		EXPECT_EQ(64 * KIB, knob_read(path));
		/* One that has nothing to do with it is not missed. */
		EXPECT_EQ(0, write_without(path, CAP_NET_ADMIN));
		EXPECT_EQ(MIB, knob_read(path));
	}
}

TEST_F(knob, others_may_only_read)
{
	const char *path = self->groups.gl_pathv[0];
	unsigned long value = knob_read(path);
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(255);
		if (knob_read(path) != value)
			_exit(254);
		_exit(knob_write(path, "1M\n"));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(EACCES, WEXITSTATUS(status));
	EXPECT_EQ(value, knob_read(path));
}

struct writer {
	const char *path;
	unsigned long page;
	unsigned int seed;
	int errors;
};

/* Every value that can be read must be one that somebody has written. */
static void *write_and_read(void *data)
{
	struct writer *w = data;

	for (int i = 0; i < 500; i++) {
		unsigned long value;

		if (knob_write_bytes(w->path, w->page << rand_r(&w->seed) % 11))
			w->errors++;
		value = knob_read(w->path);
		if (!value || value != rounded(w->page, value) ||
		    value > w->page << 10)
			w->errors++;
	}
	return NULL;
}

TEST_F_TIMEOUT(knob, many_writers, 300)
{
	struct writer writers[4];
	pthread_t threads[4];
	size_t i;

	if (self->page > 4096)
		SKIP(return, "values are for pages of 4096 bytes");
	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		writers[i] = (struct writer) {
			.path = self->groups.gl_pathv[i % 2 % self->nr],
			.page = self->page,
			.seed = i,
		};
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, write_and_read,
					    &writers[i]));
	}
	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
		EXPECT_EQ(0, writers[i].errors);
	}
}

/* The value of a key in a group's counters; 0 if the group has none. */
static unsigned long counter(const char *path, const char *want)
{
	unsigned long value, found = 0;
	char name[128], key[64];
	FILE *file;

	snprintf(name, sizeof(name), DEBUGFS "%ld/iova",
		 strtol(path + strlen(GROUPS), NULL, 10));
	file = fopen(name, "r");
	if (!file)
		return 0;
	while (fscanf(file, "%63s %lu\n", key, &value) == 2) {
		if (!strcmp(key, want))
			found = value;
	}
	fclose(file);
	return found;
}

TEST_F(knob, debugfs_agrees)
{
	unsigned int seen = 0;
	const char *path;

	if (access(DEBUGFS, R_OK))
		SKIP(return, "no " DEBUGFS);
	for_each_group(path) {
		if (!counter(path, "granule"))
			continue;	/* no DMA domain */
		seen++;
		for (unsigned long n = 0; n < 11; n++) {
			ASSERT_EQ(0, knob_write_bytes(path, self->page << n));
			EXPECT_EQ(knob_read(path), counter(path, KNOB));
		}
		/* Classes above the range are left with nothing. */
		ASSERT_EQ(0, knob_write_bytes(path, self->page));
		EXPECT_EQ(0, counter(path, "class6_depot"));
		EXPECT_EQ(0, counter(path, "class6_cpu"));
	}
	if (!seen)
		SKIP(return, "no group has a DMA domain");
}

TEST_HARNESS_MAIN
