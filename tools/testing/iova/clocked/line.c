// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory, and who has its cache lines.
 *
 * The code under test is compiled with -fsanitize=thread and linked without that
 * sanitizer: the calls that the compiler puts before each access to memory come
 * here. Each costs its instructions' time; one that needs a line which another
 * CPU has changed costs the move of that line as well, after those that asked
 * for it before. A store does not wait for its line: it stands in the CPU's store
 * buffer until the next atomic, or until what it is to be seen with. Loads do wait,
 * one after the other. A CPU's cache never runs full, and what lies outside
 * clock_memory(), such as stacks, is the CPU's own.
 */
#include <sys/mman.h>

#include "clock.h"

#define MEMORY_SIZE	(2UL << 30)
#define LINE_SHIFT	6
#define DEVICE		(SIM_CPUS_MAX + 1)

/**
 * struct line - a cache line
 * @free_at: when the last move of it ended
 * @owner: number of the CPU that has changed it last, plus 1; 0 for none, DEVICE
 *	   for a device
 * @shared: @readers counts; the owner is one of them
 * @readers: a bit for each CPU that has a copy
 */
struct line {
	u64		free_at;
	unsigned short	owner;
	bool		shared;
	u64		readers[SIM_CPUS_MAX / 64];
};

static char *memory;
static size_t used;
static struct line *lines;

static void *reserve(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	BUG_ON(at == MAP_FAILED);
	return at;
}

void *clock_memory(size_t size)
{
	void *start;

	if (!memory) {
		memory = reserve(MEMORY_SIZE);
		lines = reserve((MEMORY_SIZE >> LINE_SHIFT) * sizeof(*lines));
	}
	start = memory + used;
	used += (size + 63) & ~63UL;
	sim_check(used <= MEMORY_SIZE, "%zu bytes", used);
	return start;
}

static struct line *line_of(const void *addr)
{
	size_t offset = (const char *)addr - memory;

	return offset < used ? &lines[offset >> LINE_SHIFT] : NULL;
}

static bool is_own(const struct line *line)
{
	return !line || (!line->shared &&
			 (!line->owner || line->owner == clock_cpu->id + 1));
}

static bool is_reader(const struct line *line)
{
	unsigned int id = clock_cpu->id;

	return line->shared && line->readers[id / 64] >> id % 64 & 1;
}

static void add_reader(struct line *line, unsigned int id)
{
	line->readers[id / 64] |= 1ull << id % 64;
}

static void set_owner(struct line *line, struct clock_cpu *cpu)
{
	line->owner = cpu->id + 1;
	if (line->shared) {
		line->shared = false;
		memset(line->readers, 0, sizeof(line->readers));
	}
}

void clock_own(void *addr, struct clock_cpu *cpu)
{
	struct line *line = line_of(addr);

	if (line)
		set_owner(line, cpu);
}

void clock_device_wrote(void *addr)
{
	struct line *line = line_of(addr);

	if (line) {
		line->owner = DEVICE;
		line->shared = false;
		memset(line->readers, 0, sizeof(line->readers));
	}
}

/* After those before, which it keeps busy for @busy; returns when it has come. */
static u64 move(struct line *line, u64 time, u64 busy)
{
	u64 begin = max(line->free_at, clock_cpu->now);

	line->free_at = begin + busy;
	clock_cpu->stats.moves++;
	return begin + time;
}

void clock_drain(void)
{
	if (clock_cpu)
		clock_spend_until(CLOCK_MOVE, clock_cpu->stored);
}

static void load(struct line *line)
{
	u64 there;

	if (!line->shared) {
		line->shared = true;
		if (line->owner != DEVICE)
			add_reader(line, line->owner - 1);
		there = move(line, cost[COST_MOVE], cost[COST_MOVE]);
	} else {
		there = move(line, cost[COST_SHARE], cost[COST_SERVE]);
	}
	add_reader(line, clock_cpu->id);
	clock_spend_until(CLOCK_MOVE, there);
}

static void store(struct line *line)
{
	clock_cpu->stored = max(clock_cpu->stored,
				move(line, cost[COST_MOVE], cost[COST_MOVE]));
}

/* The line need not come from anywhere for this. */
static bool is_there(const struct line *line, bool write)
{
	return is_own(line) || (!write && is_reader(line));
}

/* Any access costs @time where the line is there. */
static void use(const void *addr, bool write, bool in_turn, u64 time)
{
	struct line *line;

	if (!clock_cpu)
		return;
	line = line_of(addr);
	clock_cpu->stats.accesses++;
	if (in_turn || !is_there(line, write))
		clock_sync();
	if (!is_there(line, write)) {
		if (write)
			store(line);
		else
			load(line);
	}
	if (in_turn)
		clock_drain();
	if (write && line)
		set_owner(line, clock_cpu);
	clock_spend(CLOCK_WORK, time);
}

void clock_read(const void *addr)
{
	use(addr, false, false, cost[COST_ACCESS]);
}

void clock_write(void *addr)
{
	use(addr, true, false, cost[COST_ACCESS]);
}

void clock_atomic(void *addr)
{
	use(addr, true, true, cost[COST_ATOMIC]);
}

void clock_write_range(void *addr, size_t size)
{
	unsigned long at = (unsigned long)addr & ~63UL;

	for (; at < (unsigned long)addr + size; at += 64)
		clock_write((void *)at);
}

/* What the compiler calls. It wants no declarations of these. */

void __tsan_init(void)
{
}

static bool straddles(const void *addr, size_t size)
{
	return ((unsigned long)addr & 63) + size > 64;
}

static void read_any(const void *addr, size_t size)
{
	clock_read(addr);
	if (straddles(addr, size))
		clock_read(addr + size - 1);
}

static void write_any(void *addr, size_t size)
{
	clock_write(addr);
	if (straddles(addr, size))
		clock_write(addr + size - 1);
}

#define ACCESS(size)							\
void __tsan_read##size(void *addr)					\
{									\
	clock_read(addr);						\
}									\
void __tsan_write##size(void *addr)					\
{									\
	clock_write(addr);						\
}									\
void __tsan_unaligned_read##size(void *addr)				\
{									\
	read_any(addr, size);						\
}									\
void __tsan_unaligned_write##size(void *addr)				\
{									\
	write_any(addr, size);						\
}

ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void __tsan_read_range(void *addr, size_t size)
{
	unsigned long at = (unsigned long)addr & ~63UL;

	for (; at < (unsigned long)addr + size; at += 64)
		clock_read((void *)at);
}

void __tsan_write_range(void *addr, size_t size)
{
	clock_write_range(addr, size);
}

void __tsan_atomic_thread_fence(int order)
{
	clock_drain();
	if (clock_cpu)
		clock_spend(CLOCK_WORK, cost[COST_ATOMIC]);
}

#define RMW(type, name, expression)					\
type __tsan_atomic##name(type *at, type value, int order)		\
{									\
	type old;							\
									\
	clock_atomic(at);						\
	old = *at;							\
	*at = expression;						\
	return old;							\
}

/* Stores that are no more than that cost no more than that. */
#define ATOMIC(type, bits)						\
type __tsan_atomic##bits##_load(type *at, int order)			\
{									\
	clock_read(at);							\
	return *at;							\
}									\
void __tsan_atomic##bits##_store(type *at, type value, int order)	\
{									\
	clock_write(at);						\
	*at = value;							\
}									\
int __tsan_atomic##bits##_compare_exchange_strong(type *at,		\
						  type *expected,	\
						  type value, int order, \
						  int fail)		\
{									\
	clock_atomic(at);						\
	if (*at != *expected) {						\
		*expected = *at;					\
		return 0;						\
	}								\
	*at = value;							\
	return 1;							\
}									\
RMW(type, bits##_exchange, value)					\
RMW(type, bits##_fetch_add, old + value)				\
RMW(type, bits##_fetch_sub, old - value)				\
RMW(type, bits##_fetch_or, old | value)					\
RMW(type, bits##_fetch_and, old & value)

ATOMIC(u8, 8)
ATOMIC(u16, 16)
ATOMIC(u32, 32)
ATOMIC(u64, 64)
