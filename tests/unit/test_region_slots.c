// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_region.h"

/* Slot @n of watch 0, whose slots begin at number 16. */
static struct blklat_slots *block_of(struct fake *f, u32 n)
{
	return &f->slots[(16 + n) / 16];
}

/* The two writes of a start and of an end, in the order of abi.h; the bin comes after them. */
static void start_write(struct fake *f, u32 n, int step, u64 ns)
{
	struct blklat_slots *s = block_of(f, n);

	if (step == 0)
		__atomic_store_n(&s->ns[n % 16], ns, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&s->started[n % 16], s->started[n % 16] + 1, __ATOMIC_RELEASE);
}

static void end_write(struct fake *f, u32 n, int step)
{
	struct blklat_slots *s = block_of(f, n);

	if (step == 0)
		__atomic_store_n(&s->ended[n % 16], s->ended[n % 16] + 1, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&s->ns[n % 16], BLKLAT_SLOT_FREE, __ATOMIC_RELEASE);
}

static void start(struct fake *f, u32 n, u64 ns)
{
	start_write(f, n, 0, ns);
	start_write(f, n, 1, ns);
}

static void end(struct fake *f, u32 n)
{
	end_write(f, n, 0);
	end_write(f, n, 1);
}

static void complete(struct fake *f, u32 n, u64 bin)
{
	end(f, n);
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

static void test_layout(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct blklat_slots), 3 * 128);
	assert_int_equal(offsetof(struct blklat_slots, ns), 0);
	assert_int_equal(offsetof(struct blklat_slots, started), 128);
	assert_int_equal(offsetof(struct blklat_slots, ended), 256);
}

static void test_in_flight_and_age(void **state)
{
	struct fake *f = fake_new(0);
	const struct watch_counts *w;

	(void)state;
	check(fake_drain(f, 0), 0, 0, 0);
	assert_int_equal(f->now.w[0].oldest_ns, 0);
	assert_int_equal(f->now.w[0].waited_ns, 0);
	start(f, 0, 400000);
	start(f, 7, 300000);
	start(f, 8, 350000);
	start(f, 15, 999999);
	w = fake_drain(f, 0);		/* at 1000000 */
	check(w, 4, 4, 0);
	assert_int_equal(w->oldest_ns, 700000);
	assert_int_equal(w->waited_ns, 600000 + 700000 + 650000 + 1);
	complete(f, 7, 1000);
	w = fake_drain(f, 0);
	check(w, 4, 3, 0);
	assert_int_equal(w->oldest_ns, 650000);
	assert_int_equal(w->waited_ns, 600000 + 650000 + 1);
	assert_int_equal(completed(w), 1);
	fake_free(f);
}

/* The mark of an IO after a pause is not part of its time: bit 63, as abi.h says. */
static void test_marked_starts(void **state)
{
	struct fake *f = fake_new(0);

	(void)state;
	start(f, 3, 300000 | 1ULL << 63);
	check(fake_drain(f, 0), 1, 1, 0);
	assert_int_equal(f->now.w[0].oldest_ns, 700000);
	start(f, 4, 200000);
	check(fake_drain(f, 0), 2, 2, 0);
	assert_int_equal(f->now.w[0].oldest_ns, 800000);
	start(f, 5, 100000 | 1ULL << 63);
	check(fake_drain(f, 0), 3, 3, 0);
	assert_int_equal(f->now.w[0].oldest_ns, 900000);
	complete(f, 5, 1000);
	check(fake_drain(f, 0), 3, 2, 0);
	assert_int_equal(f->now.w[0].oldest_ns, 800000);
	fake_free(f);
}

/* An IO that started after the clock was read has age 0. */
static void test_age_is_never_negative(void **state)
{
	struct fake *f = fake_new(0);

	(void)state;
	start(f, 3, 1000001);
	check(fake_drain(f, 0), 1, 1, 0);
	assert_int_equal(f->now.w[0].oldest_ns, 0);
	fake_free(f);
}

/* Slots before the range and after it belong to others. */
static void test_ranges(void **state)
{
	struct fake *f = fake_new(0);

	(void)state;
	f->slots[0].ns[15] = 5;
	f->slots[0].started[15] = 10;
	start(f, 2, 10);
	start(f, 32, 20);		/* the first of watch 1 */
	start(f, 47, 30);
	check(fake_drain(f, 0), 1, 1, 0);
	check(&f->now.w[1], 2, 2, 0);
	assert_int_equal(f->now.w[1].oldest_ns, 1000000 - 20);
	fake_free(f);
}

/* Where there are no slots the engine supplies these figures. */
static void test_total_has_no_slots(void **state)
{
	struct fake *f = fake_new(0);
	struct watch_counts *w = &f->now.w[2];

	(void)state;
	w->started = 11;
	w->started_after = 12;
	w->in_flight = 13;
	w->in_flight_after = 14;
	w->oldest_ns = 15;
	*fake_account(f, 0, 2, BLKLAT_OVERWRITTEN) = 16;
	region_read(&f->r, 2, &f->rested_at[2], 1000000, w);
	assert_int_equal(w->started, 11);
	assert_int_equal(w->started_after, 12);
	assert_int_equal(w->in_flight, 13);
	assert_int_equal(w->in_flight_after, 14);
	assert_int_equal(w->oldest_ns, 15);
	assert_int_equal(w->accounts[BLKLAT_OVERWRITTEN], 16);
	fake_free(f);
}

/* A read after each single write of three IOs in one slot: an IO on its way is not a missed end. */
static void test_half_written_is_not_overwritten(void **state)
{
	struct fake *f = fake_new(0);

	(void)state;
	for (u64 io = 0; io < 3; io++) {
		start_write(f, 5, 0, 100 + io);
		/* The time is there already, but a watch at rest is only checked for starts. */
		check(fake_drain(f, 0), io, 0, 0);
		start_write(f, 5, 1, 0);
		check(fake_drain(f, 0), io + 1, 1, 0);
		end_write(f, 5, 0);
		check(fake_drain(f, 0), io + 1, 1, 0);
		end_write(f, 5, 1);
		check(fake_drain(f, 0), io + 1, 0, 0);
		fake_io(f, 0, 0, BLKLAT_OP_READ, latency_of(1000));
		check(fake_drain(f, 0), io + 1, 0, 0);
	}
	assert_int_equal(completed(&f->now.w[0]), 3);
	fake_free(f);
}

/* A watch at rest is checked once, by its starts alone; one not at rest, or with a gap, is read as always. */
static void test_at_rest(void **state)
{
	struct fake *f = fake_new(0);

	(void)state;
	start(f, 4, 100);
	complete(f, 4, 1000);
	check(fake_drain(f, 0), 1, 0, 0);
	/* None of this is possible, and none of it is looked at. */
	block_of(f, 9)->ns[(16 + 9) % 16] = 77;
	block_of(f, 9)->ended[(16 + 9) % 16] = 5;
	check(fake_drain(f, 0), 1, 0, 0);
	/* An IO in the bins without a start: not at rest. */
	fake_io(f, 0, 0, BLKLAT_OP_READ, latency_of(1000));
	assert_int_equal(fake_drain(f, 0)->in_flight_after, 1);
	assert_int_equal(f->now.w[0].in_flight, 0);
	/* One more start, and everything is counted. */
	start(f, 3, 200);
	check(fake_drain(f, 0), 2, 2, 0);
	/* An IO whose end was missed: not at rest. */
	start(f, 3, 300);
	block_of(f, 9)->ns[(16 + 9) % 16] = BLKLAT_SLOT_FREE;
	end(f, 3);
	check(fake_drain(f, 0), 3, 0, 1);
	block_of(f, 9)->ns[(16 + 9) % 16] = 77;
	check(fake_drain(f, 0), 3, 1, 1);
	fake_free(f);
}

/* A slot starts again before its end was seen: once and twice, in flight and after the last IO ended. */
static void test_overwritten(void **state)
{
	struct fake *f = fake_new(0);

	(void)state;
	start(f, 4, 100);
	start(f, 4, 200);
	check(fake_drain(f, 0), 2, 1, 1);
	assert_int_equal(f->now.w[0].oldest_ns, 1000000 - 200);
	complete(f, 4, 1000);
	check(fake_drain(f, 0), 2, 0, 1);
	start(f, 12, 300);
	start(f, 12, 300);
	start(f, 12, 300);
	complete(f, 12, 1000);
	start(f, 12, 400);
	check(fake_drain(f, 0), 6, 1, 3);
	assert_int_equal(f->now.w[0].started, completed(&f->now.w[0]) + 1 + 3);
	fake_free(f);
}

/* A requeue takes a start back, which is no loss. */
static void test_requeued(void **state)
{
	struct fake *f = fake_new(0);

	(void)state;
	start(f, 4, 100);
	end(f, 4);
	*fake_account(f, 2, 0, BLKLAT_REQUEUED) += 1;
	start(f, 4, 300);
	check(fake_drain(f, 0), 2, 1, 0);
	assert_int_equal(f->now.w[0].accounts[BLKLAT_REQUEUED], 1);
	fake_free(f);
}

/* An IO that began before the capture leaves a mark in its slot, which is not an IO in flight. */
static void test_freed_without_a_start(void **state)
{
	struct fake *f = fake_new(0);

	(void)state;
	block_of(f, 6)->ns[6] = BLKLAT_SLOT_FREE;
	check(fake_drain(f, 0), 0, 0, 0);
	start(f, 6, 100);
	complete(f, 6, 1000);
	check(fake_drain(f, 0), 1, 0, 0);
	fake_free(f);
}

struct writer {
	struct fake *f;
	atomic_bool stop;
	u64 ios;
};

static void *write_ios(void *into)
{
	struct writer *w = into;

	for (; !atomic_load(&w->stop) || w->ios < 1000; w->ios++) {
		u32 slot = w->ios % 16;
		u64 *s = fake_series(w->f, 0, 0, BLKLAT_OP_READ);

		start(w->f, slot, 500 + w->ios % 7);
		end(w->f, slot);
		__atomic_store_n(&s[AT_BINS + 20], s[AT_BINS + 20] + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Read while a thread really starts and ends IOs: never a false loss, and the sums close up to what moved. */
static void test_reading_while_ios_move(void **state)
{
	struct writer w = { .f = fake_new(0) };
	pthread_t thread;
	u64 moved = 0;

	(void)state;
	fake_series(w.f, 0, 0, BLKLAT_OP_READ)[AT_OCTAVES] = 1ULL << 19;
	assert_int_equal(pthread_create(&thread, NULL, write_ios, &w), 0);
	/* Longer if the machine is too busy to run both at once. */
	for (u32 i = 0; i < 20000 || (!moved && i < 4000000); i++) {
		const struct watch_counts *now = &w.f->now.w[0];
		u64 done, rested_at = 0;

		region_read(&w.f->r, 0, &rested_at, 1000000, &w.f->now.w[0]);
		done = completed(now);
		assert_int_equal(now->accounts[BLKLAT_OVERWRITTEN], 0);
		assert_in_range(now->in_flight, 0, 16);
		moved += now->started_after - now->started;
		/* The bins are read between the two looks at the slots; one IO may be between slot and bin. */
		assert_true(done + 1 + now->in_flight >= now->started);
		assert_true(done <= now->started_after);
	}
	atomic_store(&w.stop, true);
	pthread_join(thread, NULL);
	check(fake_drain(w.f, 0), w.ios, 0, 0);
	assert_int_equal(completed(&w.f->now.w[0]), w.ios);
	assert_true(moved > 0);		/* otherwise nothing was tested */
	fake_free(w.f);
}

/*
 * A CPU is held between freeing a slot and counting in the bin, and goes on while the watch is read: the first
 * access to the accounts, which the reader reads after the bins, releases it.
 */
static struct {
	void *page;
	u64 *bin;
	u32 faults;
} held_up;

static void go_on(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	if ((uintptr_t)info->si_addr - (uintptr_t)held_up.page >= (uintptr_t)getpagesize())
		_exit(1);
	mprotect(held_up.page, getpagesize(), PROT_READ);
	++*held_up.bin;
	held_up.faults++;
}

static void test_reads_again_when_the_sums_do_not_close(void **state)
{
	struct fake *f = fake_new(0);
	struct sigaction on_fault = { .sa_sigaction = go_on, .sa_flags = SA_SIGINFO }, before;
	u64 *s = fake_series(f, 1, 0, BLKLAT_OP_READ);

	(void)state;
	held_up.page = mmap(NULL, getpagesize(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(held_up.page, MAP_FAILED);
	held_up.bin = &s[AT_BINS + 16];
	held_up.faults = 0;
	f->r.accounts = held_up.page;
	start(f, 9, 100);
	s[AT_OCTAVES] = 1ULL << 15;
	end(f, 9);
	sigaction(SIGSEGV, &on_fault, &before);
	region_read(&f->r, 0, &f->rested_at[0], 1000000, &f->now.w[0]);
	sigaction(SIGSEGV, &before, NULL);
	assert_int_equal(held_up.faults, 1);
	check(&f->now.w[0], 1, 0, 0);
	assert_int_equal(completed(&f->now.w[0]), 1);
	munmap(held_up.page, getpagesize());
	fake_free(f);
}

/* If the CPU never goes on, the reader stops trying, and leaves what is missing to the accounting. */
static void test_gives_up_when_the_sums_never_close(void **state)
{
	struct fake *f = fake_new(0);

	(void)state;
	start(f, 9, 100);
	end(f, 9);
	check(fake_drain(f, 0), 1, 0, 0);
	assert_int_equal(completed(&f->now.w[0]), 0);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_in_flight_and_age),
		cmocka_unit_test(test_marked_starts),
		cmocka_unit_test(test_age_is_never_negative),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_total_has_no_slots),
		cmocka_unit_test(test_half_written_is_not_overwritten),
		cmocka_unit_test(test_at_rest),
		cmocka_unit_test(test_overwritten),
		cmocka_unit_test(test_requeued),
		cmocka_unit_test(test_freed_without_a_start),
		cmocka_unit_test(test_reading_while_ios_move),
		cmocka_unit_test(test_reads_again_when_the_sums_do_not_close),
		cmocka_unit_test(test_gives_up_when_the_sums_never_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
