// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests hist.c against a plain copy of the counters that the tests keep themselves. CPUs are plain
 * numbers: the sessions here are made by hand and have more CPUs than the machine. CPU 0 counts in the shared
 * series, which are the first, the others in their own. All of the memory is compared, so a count in a wrong row is
 * found, and so is a write around the counters.
 */
#include <linux/limits.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "hist.h"
#include "kunit_session.h"

enum { CPUS = 3, WATCHES = 2, ROUND = 8, SCALE_MAX = 6 };
enum { BELOW = -1, ABOVE = -2 };

/*
 * @bin is at the finest scale, counted from 0. The ns are bounds and their neighbours (as in
 * bins_vectors.h).
 */
static const struct latency {
	u64 ns;
	int bin;
} latencies[] = {
	{ 0, BELOW }, { 14, BELOW }, { 15, 0 }, { 29, 61 }, { 30, 64 },
	{ 59727, 765 }, { 60000, 766 }, { 60377, 766 }, { 60378, 767 },
	{ 1000000000, 1663 }, { 1000000001, 1664 }, { 128000000000, 2111 },
	{ 128000000001, ABOVE }, { U64_MAX >> 1, ABOVE },
};

struct counters {
	struct blklat_session s;
	u32 words;		/* in a series */
	size_t n, n_accounts;	/* in total, with ROUND unused ones on each side */
	u64 *series, *accounts;
	u64 *wanted, *wanted_accounts;
};

static struct counters *counters_new(struct kunit *test, u32 scale)
{
	struct counters *c = fake_alloc(test, sizeof(*c));
	u32 i, op;

	c->words = fake_series_words(scale);
	c->n = CPUS * WATCHES * BLKLAT_OPS * c->words + 2 * ROUND;
	c->n_accounts = CPUS * WATCHES * BLKLAT_ACCOUNTS + 2 * ROUND;
	c->series = fake_alloc(test, c->n * sizeof(u64));
	c->wanted = fake_alloc(test, c->n * sizeof(u64));
	c->accounts = fake_alloc(test, c->n_accounts * sizeof(u64));
	c->wanted_accounts = fake_alloc(test, c->n_accounts * sizeof(u64));
	c->s = (struct blklat_session){
		.cpus = CPUS, .watches = WATCHES, .wholes = WATCHES, .scale = scale, .series_bytes = c->words * sizeof(u64),
		.merged = 6 - scale, .n_series = CPUS * WATCHES * BLKLAT_OPS,
		.header = fake_alloc(test, sizeof(*c->s.header)),
		.series = c->series + ROUND, .accounts = c->accounts + ROUND,
		.own = fake_alloc(test, CPUS * WATCHES * sizeof(*c->s.own)),
	};
	for (i = WATCHES; i < CPUS * WATCHES; i++)
		for (op = 0; op < BLKLAT_OPS; op++)
			c->s.own[i].series[op] = i * BLKLAT_OPS + op;
	return c;
}

static u64 *wanted_series(const struct counters *c, u32 cpu, u32 watch, u32 op)
{
	return c->wanted + ROUND + ((cpu * WATCHES + watch) * BLKLAT_OPS + op) * c->words;
}

static struct blklat_series *series(const struct counters *c, u32 cpu, u32 watch, u32 op)
{
	bool shared;

	return blklat_series_of(&c->s, cpu, watch + 1, op, &shared);
}

static u32 cell_of(const struct latency *l, u32 scale)
{
	if (l->bin == BELOW)
		return 0;
	return l->bin == ABOVE ? fake_cells(scale) - 1 : 1 + (l->bin >> (6 - scale));
}

static u32 octave_of(const struct latency *l)
{
	if (l->bin == BELOW)
		return 34;
	return l->bin == ABOVE ? 33 : l->bin / 64;
}

static void want_io(struct counters *c, u64 *row, const struct latency *l)
{
	u32 parity = c->s.header->epoch % 2;

	row[AT_SUM] += l->ns;
	row[AT_MAX + parity] = max(row[AT_MAX + parity], l->ns);
	row[AT_NOT_MIN + parity] = max(row[AT_NOT_MIN + parity], ~l->ns);
	row[AT_OCTAVES] |= 1ULL << octave_of(l);
	row[AT_BINS + cell_of(l, c->s.scale)]++;
}

static void count(struct counters *c, u32 cpu, u32 watch, u32 op, const struct latency *l)
{
	blklat_hist_add(blklat_hist_begin(&c->s, series(c, cpu, watch, op), l->ns, !cpu), 1, !cpu);
	want_io(c, wanted_series(c, cpu, watch, op), l);
}

/* Reports the first wrong cell by its row and place, and stops there. */
static void expect_wanted(struct kunit *test, const struct counters *c, const char *what)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		if (c->series[i] != c->wanted[i]) {
			EXPECT_U64_MSG(test, c->series[i], c->wanted[i], "%s, scale %u: row %zd, cell %zu", what,
				       c->s.scale, ((ssize_t)i - ROUND) / (ssize_t)c->words,
				       (i - ROUND) % c->words);
			return;
		}
	for (i = 0; i < c->n_accounts; i++)
		if (c->accounts[i] != c->wanted_accounts[i]) {
			EXPECT_U64_MSG(test, c->accounts[i], c->wanted_accounts[i], "%s: account %zd", what,
				       (ssize_t)i - ROUND);
			return;
		}
}

static void random_io(struct counters *c, u64 *seed)
{
	u64 r = fake_random(seed);
	u32 cpu = r % CPUS, watch = (r >> 8) % WATCHES, op = (r >> 16) % BLKLAT_OPS, bytes = r >> 40;
	u64 *wanted = wanted_series(c, cpu, watch, op);

	blklat_hist_add(&series(c, cpu, watch, op)->bytes, bytes, !cpu);
	wanted[AT_BYTES] += bytes;
	if (!(r >> 24 & 7)) {
		blklat_hist_add(&series(c, cpu, watch, op)->errors, 1, !cpu);
		wanted[AT_ERRORS]++;
	}
	count(c, cpu, watch, op, &latencies[(r >> 32) % ARRAY_SIZE(latencies)]);
}

/* Ten intervals of IOs on every CPU, watch and op. */
static void blklat_hist_test_random_ios(struct kunit *test)
{
	u64 seed = 1;
	u32 scale, i;

	for (scale = 0; scale <= SCALE_MAX; scale++) {
		struct counters *c = counters_new(test, scale);

		for (i = 0; i < 3000; i++) {
			c->s.header->epoch = i / 300;
			random_io(c, &seed);
		}
		expect_wanted(test, c, "random IOs");
	}
}

/* The result is the same if the IOs are counted backwards, and all bins after everything else. */
static void blklat_hist_test_any_order(struct kunit *test)
{
	struct counters *forward = counters_new(test, 3), *split = counters_new(test, 3);
	enum { N = 10 * ARRAY_SIZE(latencies) };
	static u64 *bin[N];
	u32 i;

	for (i = 0; i < N; i++)
		count(forward, i % CPUS, 0, BLKLAT_OP_WRITE, &latencies[i % ARRAY_SIZE(latencies)]);
	for (i = N; i-- > 0;)
		bin[i] = blklat_hist_begin(&split->s, series(split, i % CPUS, 0, BLKLAT_OP_WRITE),
					   latencies[i % ARRAY_SIZE(latencies)].ns, !(i % CPUS));
	for (i = 0; i < N; i++)
		blklat_hist_add(bin[i], 1, !(i % CPUS));
	expect_wanted(test, forward, "forward");
	memcpy(split->wanted, forward->wanted, forward->n * sizeof(u64));
	expect_wanted(test, split, "split");
}

/* An interval uses the cells of its parity for the extremes, and leaves the others alone. */
static void blklat_hist_test_extremes(struct kunit *test)
{
	static const u32 epochs[] = { 0, 1, 2, 41, 0xfffffffe, 0xffffffff };
	u32 i;

	for (i = 0; i < 2 * ARRAY_SIZE(epochs); i++) {
		struct counters *c = counters_new(test, 6);
		u32 cpu = i % 2, epoch = epochs[i / 2], parity = epoch % 2;
		u64 *row = (u64 *)series(c, cpu, 1, BLKLAT_OP_READ);

		c->s.header->epoch = epoch;
		count(c, cpu, 1, BLKLAT_OP_READ, &latencies[6]);
		count(c, cpu, 1, BLKLAT_OP_READ, &latencies[4]);
		count(c, cpu, 1, BLKLAT_OP_READ, &latencies[9]);
		count(c, cpu, 1, BLKLAT_OP_READ, &latencies[5]);
		EXPECT_U64_MSG(test, row[AT_MAX + parity], 1000000000, "max, epoch %u", epoch);
		EXPECT_U64_MSG(test, ~row[AT_NOT_MIN + parity], 30, "min, epoch %u", epoch);
		EXPECT_U64_MSG(test, row[AT_MAX + !parity], 0, "other max, epoch %u", epoch);
		EXPECT_U64_MSG(test, row[AT_NOT_MIN + !parity], 0, "other min, epoch %u", epoch);
		EXPECT_U64(test, row[AT_SUM], 1000000000 + 60000 + 59727 + 30);
		expect_wanted(test, c, "extremes");
	}
}

/* Whatever userspace has left in these cells, the IOs are counted. */
static void blklat_hist_test_spoiled_extremes(struct kunit *test)
{
	struct counters *c = counters_new(test, 0);
	u64 *row = (u64 *)series(c, 0, 0, BLKLAT_OP_READ), *wanted = wanted_series(c, 0, 0, BLKLAT_OP_READ);
	u32 at;

	for (at = AT_OCTAVES; at < AT_BINS; at++)
		row[at] = wanted[at] = at % 2 ? U64_MAX : 12345678;
	for (at = 0; at < ARRAY_SIZE(latencies); at++)
		count(c, 0, 0, BLKLAT_OP_READ, &latencies[at]);
	expect_wanted(test, c, "spoiled");
}

/* 2^(o - 25) s is the last latency of octave o. One IO sets one bit, and a second one sets no other. */
static void blklat_hist_test_octaves(struct kunit *test)
{
	u32 scale, o, i;

	for (scale = 0; scale <= SCALE_MAX; scale += 3)
		for (o = 0; o <= 34; o++) {
			struct counters *c = counters_new(test, scale);
			u64 ns = o == 33 ? U64_MAX : o == 34 ? 14 : (1000000000ULL << o) >> 25;
			u64 *row = (u64 *)series(c, 2, 0, BLKLAT_OP_FLUSH);

			for (i = 0; i < 2; i++) {
				blklat_hist_begin(&c->s, (void *)row, ns, false);
				EXPECT_U64_MSG(test, row[AT_OCTAVES], 1ULL << o, "scale %u, octave %u", scale, o);
			}
		}
}

/* The function returns the cell but does not count in it: that is the last step. */
static void blklat_hist_test_cells(struct kunit *test)
{
	u32 scale, i;

	for (scale = 0; scale <= SCALE_MAX; scale++) {
		struct counters *c = counters_new(test, scale);
		u64 *row = (u64 *)series(c, 0, 1, BLKLAT_OP_OTHER);

		for (i = 0; i < ARRAY_SIZE(latencies); i++) {
			u64 *bin = blklat_hist_begin(&c->s, (void *)row, latencies[i].ns, true);

			KUNIT_EXPECT_PTR_EQ_MSG(test, bin, row + AT_BINS + cell_of(&latencies[i], scale),
						"scale %u, %llu ns", scale, latencies[i].ns);
		}
		for (i = 0; i < fake_cells(scale); i++)
			EXPECT_U64_MSG(test, row[AT_BINS + i], 0, "scale %u, cell %u", scale, i);
	}
}

/* IOs end in interrupts while others are being counted, in the same series and bin and in others. */
static void blklat_hist_test_interrupt(struct kunit *test)
{
	struct counters *c = counters_new(test, 6);
	const struct latency *outer = &latencies[6];
	u32 depth, i;

	for (i = 0; i < 2 * ARRAY_SIZE(latencies); i++) {
		u32 cpu = i % 2;
		u64 *bin[3];

		for (depth = 0; depth < 3; depth++) {
			bin[depth] =
				blklat_hist_begin(&c->s, series(c, cpu, 0, BLKLAT_OP_READ), outer->ns + depth, !cpu);
			count(c, cpu, 0, BLKLAT_OP_READ, &latencies[i / 2]);
			count(c, cpu, 0, BLKLAT_OP_READ, outer);
			count(c, cpu, 1, BLKLAT_OP_READ, &latencies[i / 2]);
			c->s.header->epoch++;	/* as userspace does in the meantime */
			c->s.header->epoch--;
		}
		while (depth-- > 0) {
			struct latency l = { outer->ns + depth, outer->bin };

			blklat_hist_add(bin[depth], 1, !cpu);
			want_io(c, wanted_series(c, cpu, 0, BLKLAT_OP_READ), &l);
		}
	}
	expect_wanted(test, c, "interrupts");
}

/* Each cell of one series gets a different number, and its neighbours stay unchanged. */
static void blklat_hist_test_rows_apart(struct kunit *test)
{
	u32 scale, at, row;

	for (scale = 0; scale <= SCALE_MAX; scale++) {
		struct counters *c = counters_new(test, scale);

		for (row = 0; row < CPUS * WATCHES * BLKLAT_OPS; row += 7) {
			u32 cpu = row / BLKLAT_OPS / WATCHES, watch = row / BLKLAT_OPS % WATCHES;
			struct blklat_series *of = series(c, cpu, watch, row % BLKLAT_OPS);
			u64 *wanted = wanted_series(c, cpu, watch, row % BLKLAT_OPS);

			for (at = 0; at < fake_cells(scale); at++) {
				blklat_hist_add(&of->bins[at], (row + 1) * 10000 + at, !cpu);
				wanted[AT_BINS + at] = (row + 1) * 10000 + at;
			}
			blklat_hist_add(&of->sum_ns, U64_MAX - row, !cpu);
			wanted[AT_SUM] = U64_MAX - row;
			expect_wanted(test, c, "rows");
		}
	}
}

enum { EACH = 1 << 20, LEAST_NS = 1000 };

static void count_longer_and_longer(void *counters)
{
	struct counters *c = counters;
	struct blklat_series *shared = series(c, 0, 0, BLKLAT_OP_READ);
	u32 i;

	for (i = 0; i < EACH; i++) {
		blklat_hist_add(&shared->bytes, 1, true);
		blklat_hist_add(blklat_hist_begin(&c->s, shared, LEAST_NS + i, true), 1, true);
	}
}

/* All CPUs of the machine count in one series at once, for so long that additions that are not atomic are found. */
static void blklat_hist_test_crowd(struct kunit *test)
{
	struct counters *c = counters_new(test, 0);
	u64 *row = (u64 *)series(c, 0, 0, BLKLAT_OP_READ), ios = 0, n = num_online_cpus();
	u32 cell;

	on_each_cpu(count_longer_and_longer, c, true);
	for (cell = 0; cell < fake_cells(0); cell++)
		ios += row[AT_BINS + cell];
	EXPECT_U64(test, ios, n * EACH);
	EXPECT_U64(test, row[AT_BYTES], n * EACH);
	EXPECT_U64(test, row[AT_SUM], n * (EACH * LEAST_NS + EACH * (EACH - 1ULL) / 2));
	EXPECT_U64(test, row[AT_MAX], LEAST_NS + EACH - 1);
	EXPECT_U64(test, ~row[AT_NOT_MIN], LEAST_NS);
}

/*
 * Any number that exists leads to its series. With any other, the CPU counts in the shared one, and counts how often.
 */
static void blklat_hist_test_whose_series(struct kunit *test)
{
	enum { ROWS = CPUS * WATCHES, LAST = ROWS * BLKLAT_OPS - 1 };
	static const u32 numbers[] = { 0, 1, LAST, LAST + 1, 1U << 31, U32_MAX };
	struct counters *c = counters_new(test, 3);
	struct blklat_own wanted[ROWS];
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		for (k = 0; k <= LAST; k++) {
			u32 row = k / BLKLAT_OPS, op = k % BLKLAT_OPS;
			bool none = !numbers[i] || numbers[i] > LAST, shared;
			u32 number = none ? row % WATCHES * BLKLAT_OPS + op : numbers[i];
			struct blklat_series *got;

			c->s.own[row].series[op] = numbers[i];
			memcpy(wanted, c->s.own, sizeof(wanted));
			wanted[row].shared[op] += none;
			got = blklat_series_of(&c->s, row / WATCHES, row % WATCHES + 1, op, &shared);
			KUNIT_EXPECT_PTR_EQ_MSG(test, (u64 *)got, c->series + ROUND + number * c->words, "number %u, %u",
						numbers[i], k);
			EXPECT_U64_MSG(test, shared, none, "number %u, %u", numbers[i], k);
			KUNIT_EXPECT_TRUE_MSG(test, !memcmp(wanted, c->s.own, sizeof(wanted)), "number %u, %u", numbers[i], k);
		}
}

/* A different number in each cell of each row. */
static void blklat_hist_test_accounts(struct kunit *test)
{
	struct counters *c = counters_new(test, 0);
	u32 cpu, watch, cell, i, n = 0;

	for (cpu = 0; cpu < CPUS; cpu++)
		for (watch = 0; watch < WATCHES; watch++)
			for (cell = 0; cell < BLKLAT_ACCOUNTS; cell++) {
				for (i = 0; i <= n; i++)
					blklat_account(&c->s, cpu, watch + 1, cell);
				c->wanted_accounts[ROUND + n] = n + 1;
				n++;
			}
	expect_wanted(test, c, "accounts");
	/* That of a part is its whole's. */
	c->s.parts = WATCHES - 1;
	c->s.wholes = 1;
	blklat_account(&c->s, 1, WATCHES, 0);
	c->wanted_accounts[ROUND + BLKLAT_ACCOUNTS]++;
	expect_wanted(test, c, "the account of a part");
}

static struct kunit_case blklat_hist_test_cases[] = {
	KUNIT_CASE(blklat_hist_test_random_ios),
	KUNIT_CASE(blklat_hist_test_any_order),
	KUNIT_CASE(blklat_hist_test_extremes),
	KUNIT_CASE(blklat_hist_test_spoiled_extremes),
	KUNIT_CASE(blklat_hist_test_octaves),
	KUNIT_CASE(blklat_hist_test_cells),
	KUNIT_CASE(blklat_hist_test_interrupt),
	KUNIT_CASE(blklat_hist_test_rows_apart),
	KUNIT_CASE(blklat_hist_test_crowd),
	KUNIT_CASE(blklat_hist_test_whose_series),
	KUNIT_CASE(blklat_hist_test_accounts),
	{}
};

static struct kunit_suite blklat_hist_test_suite = {
	.name = "blklat_hist",
	.test_cases = blklat_hist_test_cases,
};
kunit_test_suite(blklat_hist_test_suite);
