// SPDX-License-Identifier: GPL-2.0-only
/*
 * The order of writes in a slot (abi.h) and of the reads there. Goes through all executions on a memory whose weakness
 * weak_memory.h defines. The writers are those of the programs (bpf/slots.bpf.h) and of the module (kmod/slots.h), the
 * reader is region_read().
 */
#include "unit.h"

#include <stdatomic.h>

#include "blklat/abi.h"
#include "core/accounting.h"
#include "weak_memory.h"

/* The reader. */
#define __atomic_load_n(at, order) ((typeof(+*(at)))(weak_is_cell(at) ? weak_load(at, order) : *(at)))
#define __atomic_thread_fence(order) weak_fence()
#include "engine/scan.c"
#include "engine/region.c"
#undef __atomic_load_n
#undef __atomic_thread_fence

/* The writers. */
#define order_writes() weak_barrier()
#define smp_wmb() weak_barrier()
#define KMOD_KERNEL_H
#define KMOD_SESSION_H
#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile typeof(x) *)&(x) = (value))

/* As much of the kernel's and the module's structs as the code looks at. */
struct blk_mq_hw_ctx { u32 queue_num; };
struct request { int tag, internal_tag; struct blk_mq_hw_ctx *mq_hctx; };
struct blklat_target { u32 stride, distance, queues, first_slot; };
struct blklat_session { struct blklat_slots *slots; };
#include "../../bpf/slots.bpf.h"
#include "../../kmod/slots.h"

#include "fake_region.h"

enum kind { START, END };

/* The barriers of both, by what they keep apart. */
#define TIME_THEN_STARTS WEAK_BARRIER(START, 0)
#define ENDS_THEN_FREE WEAK_BARRIER(END, 0)
#define FREE_THEN_BIN WEAK_BARRIER(END, 1)

enum { IOS = 2, SLOTS = 2 };

struct writer {
	void (*start)(struct blklat_slots *in, u32 i, u64 now);
	void (*end)(struct blklat_slots *in, u32 i);
	bool queue;		/* stage queue, where the test counts the starts */
};

static struct slot slot_in(struct blklat_slots *in, u32 i)
{
	return (struct slot){ &in->ns[i], &in->started[i] };
}

static void start_bpf(struct blklat_slots *in, u32 i, u64 now)
{
	start_slot(slot_in(in, i), now);
}

static void end_bpf(struct blklat_slots *in, u32 i)
{
	count_end(slot_in(in, i));
	free_slot(&in->ns[i], BLKLAT_SLOT_FREE);
}

static void start_kmod(struct blklat_slots *in, u32 i, u64 now)
{
	blklat_slot_start((struct blklat_slot){ in, i }, now);
}

static void end_kmod(struct blklat_slots *in, u32 i)
{
	blklat_slot_end((struct blklat_slot){ in, i });
}

static void queue_bpf(struct blklat_slots *in, u32 i, u64 now)
{
	queue_in_slot(slot_in(in, i), now);
}

static void unqueue_bpf(struct blklat_slots *in, u32 i)
{
	free_slot(&in->ns[i], BLKLAT_SLOT_UNUSED);
}

static void queue_kmod(struct blklat_slots *in, u32 i, u64 now)
{
	blklat_slot_queue((struct blklat_slot){ in, i }, now);
}

static void unqueue_kmod(struct blklat_slots *in, u32 i)
{
	blklat_slot_unqueue((struct blklat_slot){ in, i }, BLKLAT_SLOT_UNUSED);
}

static const struct writer bpf = { start_bpf, end_bpf, false }, kmod = { start_kmod, end_kmod, false };
static const struct writer bpf_queue = { queue_bpf, unqueue_bpf, true }, kmod_queue = { queue_kmod, unqueue_kmod, true };

/* In the same bin, each longer than the one before. */
static u64 latency_ns(u32 io)
{
	return 1000000 + io;
}

static u64 *bin_of(const struct fake *f)
{
	return &fake_series(f, 0, 0, BLKLAT_OP_READ)[AT_BINS + blklat_cell(latency_ns(0), 0)];
}

static u64 *max_of(const struct fake *f)
{
	return &fake_series(f, 0, 0, BLKLAT_OP_READ)[AT_MAX];
}

static void start(struct fake *f, const struct writer *w, u32 slot, u64 now)
{
	weak_begin(START, slot);
	w->start(&f->slots[1], slot, now);
	*fake_account(f, 0, 0, BLKLAT_STARTED) += w->queue;
	weak_end();
}

/* The maximum stands for all else that an end writes. */
static void end(struct fake *f, const struct writer *w, u32 slot, u32 io)
{
	weak_begin(END, slot);
	*max_of(f) = latency_ns(io);
	w->end(&f->slots[1], slot);
	++*bin_of(f);
	weak_end();
}

/* All on one CPU: an IO in each of two slots; when both have ended another one starts in the first. */
static void write_ios(struct fake *f, const struct writer *w)
{
	fake_series(f, 0, 0, BLKLAT_OP_READ)[AT_OCTAVES] = 1ULL << (blklat_cell(latency_ns(0), 0) - 1);
	for (u32 slot = 0; slot < SLOTS; slot++) {
		weak_watch(&f->slots[1].ns[slot]);
		weak_watch(&f->slots[1].started[slot]);
		weak_watch(&f->slots[1].ended[slot]);
	}
	weak_watch(fake_account(f, 0, 0, BLKLAT_STARTED));
	weak_watch(max_of(f));
	weak_watch(bin_of(f));
	start(f, w, 0, 1000);
	start(f, w, 1, 1001);
	end(f, w, 0, 0);
	end(f, w, 1, 1);
	start(f, w, 0, 1002);
}

/* What is claimed, and may turn out to be false. */
enum claim { HOLDS, FALSE_MISSED_END, NO_MAXIMUM, FALSE_LOSS };

static const char *const claims[] = {
	"all holds", "an IO on its way is taken for a missed end", "an IO in the bins without its maximum",
	"a loss that is none",
};

static enum claim broken(const struct fake *f)
{
	const struct watch_counts *w = &f->now.w[0];
	u64 completed = hist_count(&w->ops[BLKLAT_OP_READ].hist);
	u64 max_ns = completed ? fake_extremes(f, 0, BLKLAT_OP_READ).max_ns : 0;

	if (w->accounts[BLKLAT_OVERWRITTEN])
		return FALSE_MISSED_END;
	if (completed && (max_ns < latency_ns(completed - 1) || max_ns > latency_ns(IOS - 1)))
		return NO_MAXIMUM;
	return HOLDS;
}

/*
 * started = completed + in flight + lost up to what moved, and nothing is lost. The slack allows for one CPU, which may
 * be held up between slot and bin, and for a gap that is seen for the first time (struct watch_counts).
 */
static enum claim unaccounted(struct fake *f)
{
	struct snapshot s = { .n = 1, .w = f->now.w };
	struct accounting a;
	u64 skipped = 0;
	s64 off;

	f->now.w[0].unsettled = accounting_gap(&f->now.w[0]) != 0;
	accounting_make(&s, 0, 1, &skipped, &a);
	off = a.started - a.completed - a.in_flight - a.lost;
	return a.lost || (u64)llabs(off) > a.moved ? FALSE_LOSS : HOLDS;
}

static enum claim read_and_check(struct fake *f)
{
	region_read(&f->r, 0, 1000000, &f->now.w[0]);
	return broken(f) ?: unaccounted(f);
}

/*
 * Whatever a read saw wrong, the next one corrects, even if it only reads the starts: in the end the stores have the same effect
 * in any order. At stage queue, if a barrier is missing, it may be the one after that.
 */
static void assert_right_at_rest(struct fake *f)
{
	weak_settle();
	if (f->ranges[0].queue && weak.missing)
		read_and_check(f);
	assert_int_equal(read_and_check(f), HOLDS);
	assert_int_equal(f->now.w[0].started, IOS + 1);
	assert_int_equal(f->now.w[0].in_flight, 1);
	assert_int_equal(accounting_gap(&f->now.w[0]), 0);
}

static struct fake *write_in(const struct weak_memory *how, const struct writer *w)
{
	struct fake *f = fake_new(0);

	weak = *how;
	f->epoch = 1;		/* so that the cells of parity 0 are those of the interval that ends */
	f->ranges[0] = (struct region_slots){ .first = 32, .n = 32, .queue = w->queue };
	f->r.rows = 1;
	write_ios(f, w);
	return f;
}

/* Goes through all executions, or until one breaks the claim @wanted. Returns the last claim that was broken. */
static enum claim explore(struct fake *f, enum claim wanted)
{
	enum claim worst = HOLDS;

	do {
		enum claim now;

		memset(f->r.starts, 0, FAKE_BLOCKS * sizeof(*f->r.starts));
		f->ranges[0].rested_at = 0;
		weak_begin_execution();
		now = read_and_check(f);
		assert_right_at_rest(f);
		worst = now ?: worst;
	} while ((wanted == HOLDS ? worst == HOLDS : worst != wanted) && weak_next_execution());
	return worst;
}

/* As on x86: the processor keeps stores in order, and loads; order_writes() restrains the compiler. */
static const struct weak_memory x86 = { .x86 = true };

/* As on arm64, if the barriers in the writers were real. */
static const struct weak_memory arm64_ordered;

static void assert_holds(const struct writer *w, const struct weak_memory *how)
{
	struct fake *f = write_in(how, w);
	enum claim found = explore(f, HOLDS);

	print_message("%s, in %llu executions\n", claims[found], weak.executions);
	assert_int_equal(found, HOLDS);
	assert_true(weak.executions > 1000);
}

/* Some execution breaks @claim. */
static void assert_breaks(struct fake *f, enum claim claim)
{
	enum claim found = explore(f, claim);

	print_message("%s, in execution %llu\n", claims[found], weak.executions);
	assert_int_equal(found, claim);
}

/* The programs and the module write alike, and have their barriers in the same places: what holds for one holds for both. */
TEST(test_engines_are_alike)
{
	for (u32 queue = 0; queue < 2; queue++) {
		struct weak_memory by_bpf;

		write_in(&x86, queue ? &bpf_queue : &bpf);
		by_bpf = weak;
		write_in(&x86, queue ? &kmod_queue : &kmod);
		assert_int_equal(weak.n_stores, queue ? 2 + 2 + 3 + 3 + 2 : 2 + 2 + 4 + 4 + 2);
		assert_int_equal(by_bpf.n_stores, weak.n_stores);
		assert_memory_equal(by_bpf.stores, weak.stores, sizeof(weak.stores));
		assert_memory_equal(by_bpf.barriers, weak.barriers, sizeof(weak.barriers));
	}
}

TEST(test_x86)
{
	assert_holds(&bpf, &x86);
	assert_holds(&bpf_queue, &x86);
}

/* With the barriers, the module's smp_wmb() and the programs' order_writes(), nothing breaks on arm64 either. */
TEST(test_weak_with_barriers)
{
	assert_holds(&kmod, &arm64_ordered);
	assert_holds(&kmod_queue, &arm64_ordered);
}

/* None of them can be left out. */
TEST(test_each_barrier_is_needed)
{
	static const struct {
		const struct writer *writer;
		u32 missing;
		enum claim breaks;
	} cases[] = {
		{ &bpf, TIME_THEN_STARTS, FALSE_MISSED_END },
		{ &bpf, ENDS_THEN_FREE, FALSE_MISSED_END },
		{ &bpf, FREE_THEN_BIN, FALSE_LOSS },
		{ &bpf, WEAK_ALL_BARRIERS, FALSE_MISSED_END },
		{ &bpf, WEAK_ALL_BARRIERS, NO_MAXIMUM },
		{ &bpf_queue, TIME_THEN_STARTS, FALSE_LOSS },
		{ &bpf_queue, ENDS_THEN_FREE, FALSE_LOSS },
		{ &bpf_queue, FREE_THEN_BIN, FALSE_LOSS },
		{ &bpf_queue, WEAK_ALL_BARRIERS, NO_MAXIMUM },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++)
		assert_breaks(write_in(&(struct weak_memory){ .missing = cases[i].missing }, cases[i].writer), cases[i].breaks);
}

/* The same goes for the reader's acquires. */
TEST(test_each_acquire_is_needed)
{
	struct fake *f = write_in(&arm64_ordered, &kmod);

	weak.relaxed = &f->slots[1].started[0];
	assert_breaks(f, FALSE_MISSED_END);
	f = write_in(&arm64_ordered, &kmod);
	weak.relaxed = &f->slots[1].ns[0];
	assert_breaks(f, FALSE_MISSED_END);
	f = write_in(&arm64_ordered, &kmod);
	weak.no_fences = true;
	assert_breaks(f, NO_MAXIMUM);
}
