// SPDX-License-Identifier: GPL-2.0-only
/* Slots and bins that change while they are read. */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_slots.h"

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
TEST(test_reading_while_ios_move)
{
	struct writer w = { .f = fake_new(0) };
	pthread_t thread;
	u64 moved = 0;

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
}

/*
 * What happens at the reader's first access to the bins, or to the accounts, which it reads after the bins and before
 * its second look at the slots.
 */
enum { AT_THE_BINS, AT_THE_ACCOUNTS, TRAPS };

static struct trap {
	u64 *page, *was;
	size_t bytes;
	void (*then)(struct fake *f);
} traps[TRAPS];

static struct fake *trapped;

static void spring(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	for (u32 i = 0; i < TRAPS; i++) {
		struct trap *t = &traps[i];

		if (!t->then || (uintptr_t)info->si_addr - (uintptr_t)t->page >= t->bytes)
			continue;
		mprotect(t->page, t->bytes, PROT_READ | PROT_WRITE);
		t->then(trapped);
		t->then = NULL;
		return;
	}
	_exit(1);
}

static void put_on_a_page(struct trap *t, u64 **memory, size_t bytes)
{
	t->was = *memory;
	t->bytes = bytes;
	t->page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(t->page, MAP_FAILED);
	memcpy(t->page, t->was, bytes);
	*memory = t->page;
}

static void take_off_the_page(struct trap *t, u64 **memory)
{
	memcpy(t->was, t->page, t->bytes);
	*memory = t->was;
	munmap(t->page, t->bytes);
}

/* Reads watch 0 at 1000000, once. Both functions have run when it returns. */
static const struct watch_counts *read_with(struct fake *f, void (*at_the_bins)(struct fake *f),
					    void (*at_the_accounts)(struct fake *f))
{
	struct sigaction on_fault = { .sa_sigaction = spring, .sa_flags = SA_SIGINFO }, before;
	struct trap *bins = &traps[AT_THE_BINS], *accounts = &traps[AT_THE_ACCOUNTS];

	put_on_a_page(bins, &f->series, (size_t)FAKE_CPUS * FAKE_WATCHES * FAKE_OPS * f->r.series_bytes);
	put_on_a_page(accounts, &f->accounts, FAKE_CPUS * FAKE_WATCHES * BLKLAT_ACCOUNTS * sizeof(u64));
	f->r.series = f->series;
	f->r.accounts = f->accounts;
	bins->then = at_the_bins;
	accounts->then = at_the_accounts;
	trapped = f;
	for (u32 i = 0; i < TRAPS; i++)
		if (traps[i].then)
			mprotect(traps[i].page, traps[i].bytes, PROT_NONE);
	sigaction(SIGSEGV, &on_fault, &before);
	region_read(&f->r, 0, &f->rested_at[0], 1000000, &f->now.w[0]);
	sigaction(SIGSEGV, &before, NULL);
	assert_true(!bins->then && !accounts->then);
	take_off_the_page(bins, &f->series);
	take_off_the_page(accounts, &f->accounts);
	f->r.series = f->series;
	f->r.accounts = f->accounts;
	return &f->now.w[0];
}

static void count_in_the_bin(struct fake *f)
{
	++fake_series(f, 1, 0, BLKLAT_OP_READ)[AT_BINS + 16];
}

/* A CPU is held between freeing a slot and counting in the bin, and goes on while the watch is read. */
TEST(test_reads_again_when_the_sums_do_not_close)
{
	struct fake *f = fake_new(0);

	fake_series(f, 1, 0, BLKLAT_OP_READ)[AT_OCTAVES] = 1ULL << 15;
	start(f, 9, 100);
	end(f, 9);
	read_with(f, NULL, count_in_the_bin);
	check(&f->now.w[0], 1, 0, 0);
	assert_int_equal(completed(&f->now.w[0]), 1);
}

/* If the CPU never goes on, the reader stops trying, and leaves what is missing to the accounting. */
TEST(test_gives_up_when_the_sums_never_close)
{
	struct fake *f = fake_new(0);

	start(f, 9, 100);
	end(f, 9);
	check(fake_drain(f, 0), 1, 0, 0);
	assert_int_equal(completed(&f->now.w[0]), 0);
}

/* --- IOs in flight that end meanwhile ------------------------------------------------------------- */

enum { HUNG = 14, BEGAN_NS = 100000, BEHIND_NS = 1000007 };

static struct fake *with_hung_ios(void)
{
	struct fake *f = fake_new(0);

	for (u32 n = 0; n < HUNG; n++)
		start(f, n, BEGAN_NS);
	return f;
}

/* As fio does: one IO ends, and the next takes its place. */
static void replace(struct fake *f, u32 from, u32 to)
{
	for (u32 n = from; n < to; n++) {
		complete(f, n, 1000);
		start(f, n, BEHIND_NS);
	}
}

static void replace_all(struct fake *f)
{
	replace(f, 0, HUNG);
}

static void replace_half(struct fake *f)
{
	replace(f, 0, HUNG / 2);
}

static void replace_the_other_half(struct fake *f)
{
	replace(f, HUNG / 2, HUNG);
}

/* Their time is in the bins: it must not be in the ages as well. */
TEST(test_hung_ios_end_before_the_bins_are_read)
{
	struct fake *f = with_hung_ios();
	const struct watch_counts *w;

	assert_int_equal(fake_drain(f, 0)->waited_ns, HUNG * (1000000 - BEGAN_NS));
	w = read_with(f, replace_all, NULL);
	assert_int_equal(completed(w), HUNG);
	assert_int_equal(w->waited_ns, 0);
}

/* It is in no bin yet: it must be in the ages. */
TEST(test_hung_ios_end_after_the_bins_were_read)
{
	struct fake *f = with_hung_ios();
	const struct watch_counts *w;

	w = read_with(f, NULL, replace_all);
	assert_int_equal(completed(w), 0);
	assert_int_equal(w->in_flight, HUNG);
	assert_int_equal(w->waited_ns, HUNG * (1000000 - BEGAN_NS));
}

TEST(test_hung_ios_end_before_and_after)
{
	struct fake *f = with_hung_ios();
	const struct watch_counts *w;

	w = read_with(f, replace_half, replace_the_other_half);
	assert_int_equal(completed(w), HUNG / 2);
	assert_int_equal(w->waited_ns, HUNG / 2 * (1000000 - BEGAN_NS));
}
