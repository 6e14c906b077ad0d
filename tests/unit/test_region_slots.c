// SPDX-License-Identifier: GPL-2.0-only
/* IOs of watch 0 of a fake region, which has slots: what the slots tell, and slots and bins that change while they are read. In any order: test_slots_order.c. */
#include "core/accounting.h"
#include "fake_region.h"

/*
 * What happens at the reader's first access to the bins, or to the accounts, which it reads after the bins and before
 * its second look at the slots.
 */
static struct trap {
	const u64 *at;
	size_t bytes;
	void (*then)(void);
} traps[2];

static void spring(const void *at)
{
	for (struct trap *t = traps; t < traps + 2; t++) {
		void (*then)(void) = t->then;

		if (!then || (uintptr_t)at - (uintptr_t)t->at >= t->bytes)
			continue;
		t->then = NULL;
		then();
	}
}

#define __atomic_load_n(at, order) (spring(at), __atomic_load_n(at, order))
#include "engine/scan.c"
#include "engine/region.c"
#undef __atomic_load_n

static struct fake *f;

void set_up(void)
{
	f = fake_new(0);
}

/* Slot @n of watch 0, whose slots begin at number 32. */
static struct blklat_slots *block_of(u32 n)
{
	return &f->slots[1 + n / 32];
}

static void start(u32 n, u64 ns)
{
	block_of(n)->ns[n % 32] = ns;
	block_of(n)->started[n % 32]++;
}

static void end(u32 n)
{
	block_of(n)->ended[n % 32]++;
	block_of(n)->ns[n % 32] = BLKLAT_SLOT_FREE;
}

static void complete(u32 n, u64 bin)
{
	end(n);
	fake_io(f, n % FAKE_CPUS, 0, BLKLAT_OP_READ, latency_of(bin));
}

static u64 completed(const struct watch_counts *w)
{
	u64 sum = 0;

	for (u32 op = 0; op < BLKLAT_OPS; op++)
		sum += hist_count(&w->ops[op].hist);
	return sum;
}

static void check(const struct watch_counts *w, u64 started, u64 in_flight, u64 overwritten)
{
	assert_int_equal(w->started, started);
	assert_int_equal(w->started_after, started);
	assert_int_equal(w->in_flight, in_flight);
	assert_int_equal(w->in_flight_after, in_flight);
	assert_int_equal(w->accounts[BLKLAT_OVERWRITTEN], overwritten);
}

TEST(test_in_flight_and_age)
{
	const struct watch_counts *w;

	check(fake_drain(f, 0), 0, 0, 0);
	assert_int_equal(f->now.w[0].oldest_ns, 0);
	assert_int_equal(f->now.w[0].waited_ns, 0);
	start(0, 400000);
	start(7, 300000);
	start(8, 350000);
	start(15, 999999);
	w = fake_drain(f, 0);		/* at 1000000 */
	check(w, 4, 4, 0);
	assert_int_equal(w->oldest_ns, 700000);
	assert_int_equal(w->waited_ns, 600000 + 700000 + 650000 + 1);
	complete(7, 1000);
	w = fake_drain(f, 0);
	check(w, 4, 3, 0);
	assert_int_equal(w->oldest_ns, 650000);
	assert_int_equal(w->waited_ns, 600000 + 650000 + 1);
	assert_int_equal(completed(w), 1);
}

/* The mark of an IO after a pause is not part of its time: bit 63, as abi.h says. */
TEST(test_marked_starts)
{
	start(3, 300000 | 1ULL << 63);
	check(fake_drain(f, 0), 1, 1, 0);
	assert_int_equal(f->now.w[0].oldest_ns, 700000);
	start(4, 200000);
	check(fake_drain(f, 0), 2, 2, 0);
	assert_int_equal(f->now.w[0].oldest_ns, 800000);
}

/* An IO that started after the clock was read has age 0. */
TEST(test_age_is_never_negative)
{
	start(3, 1000001);
	check(fake_drain(f, 0), 1, 1, 0);
	assert_int_equal(f->now.w[0].oldest_ns, 0);
}

/* Slots before the range and after it belong to others. */
TEST(test_ranges)
{
	f->slots[0].ns[31] = 5;
	f->slots[0].started[31] = 10;
	start(2, 10);
	start(64, 20);		/* the first of watch 1 */
	start(95, 30);
	check(fake_drain(f, 0), 1, 1, 0);
	check(&f->now.w[1], 2, 2, 0);
	assert_int_equal(f->now.w[1].oldest_ns, 1000000 - 20);
}

/* Where there are no slots the engine supplies these figures. */
TEST(test_total_has_no_slots)
{
	struct watch_counts *w = &f->now.w[2];

	w->started = 11;
	w->started_after = 12;
	w->in_flight = 13;
	w->in_flight_after = 14;
	w->oldest_ns = 15;
	*fake_account(f, 0, 2, BLKLAT_OVERWRITTEN) = 16;
	region_read(&f->r, 2, 1000000, w);
	assert_int_equal(w->started, 11);
	assert_int_equal(w->started_after, 12);
	assert_int_equal(w->in_flight, 13);
	assert_int_equal(w->in_flight_after, 14);
	assert_int_equal(w->oldest_ns, 15);
	assert_int_equal(w->accounts[BLKLAT_OVERWRITTEN], 16);
}

/* A watch at rest is checked once, by its starts alone; one not at rest, or with a gap, is read as always. */
TEST(test_at_rest)
{
	start(4, 100);
	complete(4, 1000);
	check(fake_drain(f, 0), 1, 0, 0);
	/* None of this is possible, and none of it is looked at. */
	block_of(9)->ns[9] = 77;
	block_of(9)->ended[9] = 5;
	check(fake_drain(f, 0), 1, 0, 0);
	block_of(9)->ns[9] = BLKLAT_SLOT_FREE;
	block_of(9)->ended[9] = 0;
	/* Nor is an IO in the bins without a start. */
	fake_io(f, 0, 0, BLKLAT_OP_READ, latency_of(1000));
	check(fake_drain(f, 0), 1, 0, 0);
	assert_int_equal(completed(&f->now.w[0]), 1);
	/* Its extremes are told once, in the interval in which it ended. */
	assert_int_equal(f->now.w[0].ops[BLKLAT_OP_READ].max_ns, 0);
	/* One more start, and everything is counted. */
	start(3, 200);
	check(fake_drain(f, 0), 2, 1, 0);
	assert_int_equal(completed(&f->now.w[0]), 2);
	/* An IO whose end was missed: not at rest. */
	start(3, 300);
	block_of(9)->ns[9] = BLKLAT_SLOT_FREE;
	end(3);
	check(fake_drain(f, 0), 3, 0, 1);
	block_of(9)->ns[9] = 77;
	check(fake_drain(f, 0), 3, 1, 1);
}

/* Each block of slots rests for itself. */
TEST(test_at_rest_beside_others)
{
	start(4, 100);
	complete(4, 1000);
	start(40, 200);
	check(fake_drain(f, 0), 2, 1, 0);
	block_of(9)->ns[9] = 77;
	check(fake_drain(f, 0), 2, 1, 0);
	start(5, 300);
	check(fake_drain(f, 0), 3, 3, 0);
	block_of(9)->ns[9] = BLKLAT_SLOT_FREE;
	complete(5, 1000);
	complete(40, 1000);
	check(fake_drain(f, 0), 3, 0, 0);
	block_of(41)->ns[9] = 77;
	check(fake_drain(f, 0), 3, 0, 0);
}

/* A slot starts again before its end was seen: once and twice, in flight and after the last IO ended. */
TEST(test_overwritten)
{
	start(4, 100);
	start(4, 200);
	check(fake_drain(f, 0), 2, 1, 1);
	assert_int_equal(f->now.w[0].oldest_ns, 1000000 - 200);
	complete(4, 1000);
	check(fake_drain(f, 0), 2, 0, 1);
	start(12, 300);
	start(12, 300);
	start(12, 300);
	complete(12, 1000);
	start(12, 400);
	check(fake_drain(f, 0), 6, 1, 3);
	assert_int_equal(f->now.w[0].started, completed(&f->now.w[0]) + 1 + 3);
}

/* Counts wrap at 2^32, even several times between two reads: missed ends stay, starts go on growing, and the block's rest is seen. */
TEST(test_counts_wrap)
{
	u64 *bin = &fake_series(f, 0, 0, BLKLAT_OP_READ)[AT_BINS + 1], ios = UINT32_MAX - 3;
	struct blklat_slots *s = block_of(4);

	fake_io(f, 0, 0, BLKLAT_OP_READ, latency_of(0));
	*bin = ios;
	s->started[4] = ios + 1;
	s->ended[4] = ios;
	s->ns[4] = BLKLAT_SLOT_FREE;
	check(fake_drain(f, 0), ios + 1, 0, 1);
	for (u32 n = 0; n < 10; n++) {
		start(4, 100);
		check(fake_drain(f, 0), ios + 2, 1, 1);
		end(4);
		*bin = ++ios;
		check(fake_drain(f, 0), ios + 1, 0, 1);
	}
	/* A day, of which nothing remains but the bins. */
	ios += 5ULL << 32;
	*bin = ios;
	start(4, 100);
	check(fake_drain(f, 0), ios + 2, 1, 1);
	/* An IO that began and ended between the two reads of the counts. */
	s->ended[5] = 1;
	s->ns[5] = BLKLAT_SLOT_FREE;
	check(fake_drain(f, 0), ios + 2, 1, 1);
}

/* --- stage queue, in the slots of watch 0: watch 1 is there ------------------------------------- */

static void queue_too(void)
{
	f->ranges[1] = (struct region_slots){ .first = 32, .n = 64, .queue = true };
}

static void enqueue(u32 n, u64 ns)
{
	block_of(n)->ns[n % 32] = ns | 1ULL << 61;
	++*fake_account(f, n % FAKE_CPUS, 1, BLKLAT_STARTED);
}

static void dequeue(u32 n, u64 bin)
{
	block_of(n)->ns[n % 32] = BLKLAT_SLOT_UNUSED;
	fake_io(f, n % FAKE_CPUS, 1, BLKLAT_OP_READ, latency_of(bin));
}

/* A request waits or is in the driver, and each stage sees its own. */
TEST(test_two_stages)
{
	queue_too();
	enqueue(3, 300000);
	enqueue(40, 900000);
	start(5, 400000);
	check(fake_drain(f, 0), 1, 1, 0);
	check(&f->now.w[1], 2, 2, 0);
	assert_int_equal(f->now.w[0].oldest_ns, 600000);
	assert_int_equal(f->now.w[1].oldest_ns, 700000);
	assert_int_equal(f->now.w[1].waited_ns, 700000 + 100000);
	assert_int_equal(region_in_flight(&f->r, 0), 1);
	assert_int_equal(region_in_flight(&f->r, 1), 2);
	dequeue(3, 1000);
	start(3, 990000);
	check(fake_drain(f, 0), 2, 2, 0);
	check(&f->now.w[1], 2, 1, 0);
	assert_int_equal(f->now.w[1].accounts[BLKLAT_STARTED], 0);
	assert_int_equal(accounting_gap(&f->now.w[1]), 0);
	complete(3, 1000);
	complete(5, 1000);
	dequeue(40, 1000);
	check(fake_drain(f, 0), 2, 0, 0);
	check(&f->now.w[1], 2, 0, 0);
}

/* The end of an IO was missed, and the next with its tag waits: the slots tell one loss at stage device, and none at stage queue. */
TEST(test_missed_end_before_the_queue)
{
	queue_too();
	start(3, 100);
	enqueue(3, 200);
	check(fake_drain(f, 0), 1, 0, 1);
	check(&f->now.w[1], 1, 1, 0);
	dequeue(3, 1000);
	*fake_account(f, 0, 1, BLKLAT_OVERWRITTEN) = 4;
	check(fake_drain(f, 0), 1, 0, 1);
	check(&f->now.w[1], 1, 0, 4);
}

/* Where nothing waited and nothing has begun to, the times are not read; a start that is half written is not in flight yet. */
TEST(test_queue_at_rest)
{
	queue_too();
	enqueue(3, 100);
	dequeue(3, 1000);
	check(fake_drain(f, 1), 1, 0, 0);
	block_of(9)->ns[9] = 77 | 1ULL << 61;
	check(fake_drain(f, 1), 1, 0, 0);
	++*fake_account(f, 0, 1, BLKLAT_STARTED);
	check(fake_drain(f, 1), 2, 1, 0);
	dequeue(9, 1000);
	check(fake_drain(f, 1), 2, 0, 0);
}

/* What was in flight when it moved is lost for want of a slot, at both stages; all else goes on. */
TEST(test_move)
{
	queue_too();
	f->ranges[0].n = f->ranges[1].n = 32;
	start(3, 100);
	complete(3, 1000);
	start(3, 200);
	enqueue(4, 300);
	enqueue(5, 300);
	dequeue(5, 1000);
	for (u32 i = 0; i < 2; i++)
		region_move(&f->r, i, 96, 32);
	start(64, 400);
	enqueue(65, 500);
	check(fake_drain(f, 0), 2, 1, 0);
	check(&f->now.w[1], 2, 1, 0);
	for (u32 i = 0; i < 2; i++) {
		assert_int_equal(f->now.w[i].accounts[BLKLAT_TAG_RANGE], 1);
		assert_int_equal(accounting_gap(&f->now.w[i]), 0);
	}
}

/* A requeue takes a start back, which is no loss. */
TEST(test_requeued)
{
	start(4, 100);
	end(4);
	*fake_account(f, 2, 0, BLKLAT_REQUEUED) += 1;
	start(4, 300);
	check(fake_drain(f, 0), 2, 1, 0);
	assert_int_equal(f->now.w[0].accounts[BLKLAT_REQUEUED], 1);
}

/* An IO that began before the capture leaves a mark in its slot, which is not an IO in flight. */
TEST(test_freed_without_a_start)
{
	block_of(6)->ns[6] = BLKLAT_SLOT_FREE;
	check(fake_drain(f, 0), 0, 0, 0);
	start(6, 100);
	complete(6, 1000);
	check(fake_drain(f, 0), 1, 0, 0);
}

/* --- while they change ------------------------------------------------------------------------ */

/* Reads watch 0 at 1000000, once. Both functions have run when it returns. */
static const struct watch_counts *read_with(void (*at_the_bins)(void), void (*at_the_accounts)(void))
{
	traps[0] = (struct trap){ f->series, (size_t)FAKE_SERIES * f->r.series_bytes, at_the_bins };
	traps[1] = (struct trap){ f->accounts, FAKE_CPUS * FAKE_WATCHES * BLKLAT_ACCOUNTS * sizeof(u64), at_the_accounts };
	region_read(&f->r, 0, 1000000, &f->now.w[0]);
	assert_true(!traps[0].then && !traps[1].then);
	return &f->now.w[0];
}

static void count_in_the_bin(void)
{
	++fake_series(f, 1, 0, BLKLAT_OP_READ)[AT_BINS + 16];
}

/* A CPU is held between freeing a slot and counting in the bin, and goes on while the watch is read. */
TEST(test_reads_again_when_the_sums_do_not_close)
{
	fake_series(f, 1, 0, BLKLAT_OP_READ)[AT_OCTAVES] = 1ULL << 15;
	start(9, 100);
	end(9);
	read_with(NULL, count_in_the_bin);
	check(&f->now.w[0], 1, 0, 0);
	assert_int_equal(completed(&f->now.w[0]), 1);
}

/* If the CPU never goes on, the reader stops trying, and leaves what is missing to the accounting. */
TEST(test_gives_up_when_the_sums_never_close)
{
	start(9, 100);
	end(9);
	check(fake_drain(f, 0), 1, 0, 0);
	assert_int_equal(completed(&f->now.w[0]), 0);
}

/* --- IOs in flight that end meanwhile ------------------------------------------------------------- */

enum { HUNG = 14, BEGAN_NS = 100000, BEHIND_NS = 1000007 };

static void hang(void)
{
	for (u32 n = 0; n < HUNG; n++)
		start(n, BEGAN_NS);
}

/* As fio does: one IO ends, and the next takes its place. */
static void replace(u32 from, u32 to)
{
	for (u32 n = from; n < to; n++) {
		complete(n, 1000);
		start(n, BEHIND_NS);
	}
}

static void replace_all(void)
{
	replace(0, HUNG);
}

static void replace_half(void)
{
	replace(0, HUNG / 2);
}

static void replace_the_other_half(void)
{
	replace(HUNG / 2, HUNG);
}

/*
 * The time of those that end before the bins are read is in the bins, and must not be in the ages as well. Those that end
 * after it are in no bin yet: they must be in the ages.
 */
TEST(test_hung_ios_end)
{
	static const struct {
		void (*at_the_bins)(void), (*at_the_accounts)(void);
		u32 completed;
	} cases[] = {
		{ replace_all, NULL, HUNG }, { NULL, replace_all, 0 }, { replace_half, replace_the_other_half, HUNG / 2 },
		{ replace_half, NULL, HUNG / 2 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct watch_counts *w;

		set_up();
		hang();
		assert_int_equal(fake_drain(f, 0)->waited_ns, HUNG * (1000000 - BEGAN_NS));
		w = read_with(cases[i].at_the_bins, cases[i].at_the_accounts);
		assert_int_equal(completed(w), cases[i].completed);
		assert_int_equal(w->in_flight, HUNG);
		assert_int_equal(w->waited_ns, (HUNG - cases[i].completed) * (1000000 - BEGAN_NS));
	}
}
