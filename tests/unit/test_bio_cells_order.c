// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of bios (bpf/bio_cells.bpf.h) with programs on two CPUs and the reader (userspace/engine/bpf_bios.c). Goes
 * through all executions on a memory whose weakness weak_memory.h and weak_cpus.h define.
 */
#include "unit.h"

#include "weak_cpus.h"

/* The reader. */
#define __atomic_load_n(at, order)									\
	((typeof(+*(at)))(weak_cell(at) < WEAK_CELLS ? weak_load((const void *)(at), order) : *(at)))
#define __atomic_thread_fence(order) weak_fence()
#include "engine/bpf_bios.c"
#undef __atomic_load_n
#undef __atomic_thread_fence

/* The programs. Each barrier is named by what it keeps apart. */
enum {
	FIELDS_THEN_TIME = 1,
	ALL_THEN_KEY = 2,
	NO_TIME_THEN_FIELDS = 4,
};

#define peek(at) ((typeof(+*(at)))(weak_cell(at) < WEAK_CELLS ? cpu_load(weak_cell(at)) : *(at)))
#define poke(at, to) (weak_cell(at) < WEAK_CELLS ? cpu_store(weak_cell(at), to) : (void)(*(at) = (to)))
#define poke_first(at, value) do { poke(at, value); cpu_barrier(NO_TIME_THEN_FIELDS); } while (0)
#define poke_last(at, value)										\
	do { cpu_barrier(is_key(at) ? ALL_THEN_KEY : FIELDS_THEN_TIME); poke(at, value); } while (0)
#define copy_start(to, from) copy((to), (from))
#define __sync_val_compare_and_swap(at, was, to) cpu_compare_and_swap(weak_cell(at), was, to)
#define __sync_fetch_and_add(at, n) cpu_fetch_and_add(weak_cell(at), n)

#include "bio_table.h"

enum { BUCKETS = ARRAY_SIZE(buckets), BIOS = 2 };

static bool is_key(const u64 *at)
{
	if (at == &notes.cell[0].key)
		return true;
	return ((const char *)at - (const char *)buckets) % sizeof(struct bio_cell) == offsetof(struct bio_cell, key);
}

static void copy(struct bio_start *to, const struct bio_start *from)
{
	*to = (struct bio_start){
		.watch = { cpu_copy(weak_cell(&from->watch[0])) },
		.ns = cpu_copy(weak_cell(&from->ns)),
	};
}

#include "../../bpf/bio_cells.bpf.h"

#undef __sync_val_compare_and_swap
#undef __sync_fetch_and_add

/* --- bios ------------------------------------------------------------------------------------- */

/* Each bio has a watch of its own, and mostly a CPU of its own. The watch stands for all fields before the time. */
struct told {
	u32 remembered, no_room, overwritten;
	bool recalled;
	struct bio_start found;
};

static struct told told[BIOS];

static u64 key_of(u32 bio)
{
	return 100 + bio;
}

static struct bio_start start_of_bio(u32 bio)
{
	return (struct bio_start){ .ns = 1000 + bio, .watch = { 1 + bio } };
}

static u32 whole_watch(u32 watch)
{
	return watch;
}

static void account_missed_bio(const struct bio_start *start, u32 turn)
{
	(void)turn;
	told[peek(&start->watch[0]) - 1].overwritten++;
}

static void remember_as(u64 key, u32 bio, u32 turn)
{
	struct bio_start start = start_of_bio(bio);

	enum remembered what = remember_in_cell(key, &start, turn);

	told[bio].remembered += what == REMEMBERED;
	told[bio].no_room += what == NO_ROOM;
}

/* The kernel hands the bio over from the CPU that queues it to the CPU that ends it. */
static void recall(u32 bio)
{
	cpu_hand_over();
	told[bio].recalled = recall_from_cell(&(u64){ key_of(bio) }, 0, false, &told[bio].found);
	cpu_hand_over();
}

static void forget(u32 bio)
{
	told[bio] = (struct told){};
}

static void queue(u32 bio)
{
	forget(bio);
	remember_as(key_of(bio), bio, TURN_FIRST);
}

static void queue_and_end(u32 bio)
{
	queue(bio);
	if (told[bio].remembered)
		recall(bio);
}

static void queue_behind_first(void)
{
	for (u32 turn = 1; turn <= standbys; turn++)
		remember_as(key_of(0), 0, turn);
	if (told[0].remembered)
		recall(0);
}

/* All standbys come after the first program, which leaves a mark for them; each leaves one for the next. */
static void queue_with_standbys(u32 bio)
{
	queue(bio);
	queue_behind_first();
}

static void queue_first_skipped(u32 bio)
{
	forget(bio);
	queue_behind_first();
}

/* The end of bio 0 is missed; then its memory becomes bio 1. */
static void queue_over_missed(u32 bio)
{
	queue(bio);
	forget(1);
	cpu_hand_over();
	remember_as(key_of(0), 1, TURN_FIRST);
}

/* --- claims ----------------------------------------------------------------------------------- */

/* What is claimed, and may turn out to be false. */
enum claim { HOLDS, LOST, WRONG_START, TORN, COUNTED_TWICE };

static const char *const claims[] = {
	"all holds", "a bio is lost", "a bio ends with a start that is not its own", "a count of what no bio ever was",
	"a bio is counted twice",
};

/* The buckets with a free cell; all other cells are taken for good. */
enum { IN_FIRST = 1, IN_SECOND = 2 };

static u32 room;

static bool is_free(u32 bucket)
{
	return room & 1 << bucket;
}

static void clear_table(void)
{
	for (u32 i = 0; i < BUCKETS * BIO_BUCKET; i++)
		buckets[i / BIO_BUCKET].cell[i % BIO_BUCKET] = (struct bio_cell){ .key = 1 };
	for (u32 i = 0; i < BIO_BUCKET; i++)
		notes.cell[i].key = i > 0;
	for (u32 b = 0; b < BUCKETS; b++)
		if (is_free(b))
			buckets[b].cell[BIO_BUCKET - 1].key = 0;
	memset(told, 0, sizeof(told));
}

static void begin(const struct weak_memory *how, u32 where)
{
	weak = *how;
	cpus.loads_pass = false;
	standbys = 2;
	room = where;
	clear_table();
	for (u32 b = 0; b < BUCKETS; b++) {
		struct bio_cell *c = &buckets[b].cell[BIO_BUCKET - 1];

		if (!is_free(b))
			continue;
		cpu_watch(&c->key, 0);
		cpu_watch(&c->start.ns, 0);
		cpu_watch(&c->start.watch[0], 0);
	}
	cpu_watch(&notes.cell[0].key, 0);
}

static enum claim check_found(u32 bio)
{
	const struct bio_start wanted = start_of_bio(bio), *found = &told[bio].found;

	if (!told[bio].recalled)
		return HOLDS;
	return (found->ns & ~BLKLAT_SLOT_SEEN) == wanted.ns && found->watch[0] == wanted.watch[0] ? HOLDS : WRONG_START;
}

/* One read, at any time. */
static enum claim read_and_check(struct bio_counts counts[BIOS])
{
	bios_count_cells(buckets, BUCKETS, counts, BIOS, 1);
	for (u32 bio = 0; bio < BIOS; bio++) {
		if (counts[bio].in_flight > 1)
			return COUNTED_TWICE;
		if (counts[bio].in_flight && counts[bio].earliest_ns != start_of_bio(bio).ns)
			return TORN;
	}
	return HOLDS;
}

/* At the end, the bios in flight are those that were remembered and not recalled. */
static enum claim check_at_rest(void)
{
	struct bio_counts counts[BIOS];
	enum claim broken;

	weak_settle();
	broken = read_and_check(counts);
	for (u32 bio = 0; bio < BIOS; bio++)
		if (!broken && counts[bio].in_flight + told[bio].recalled + told[bio].overwritten != told[bio].remembered)
			broken = LOST;
	return broken;
}

/* Whether the search can stop. */
static bool is_enough(enum claim worst, enum claim wanted)
{
	return worst && (wanted == HOLDS || worst == wanted);
}

/* Everything that a reader may see of what the programs have done so far. */
static enum claim read_whenever(enum claim wanted)
{
	struct bio_counts counts[BIOS];
	u32 depth = weak.depth;
	enum claim worst = HOLDS, now;

	do {
		weak_begin_reading(depth);
		now = read_and_check(counts) ?: check_at_rest();
		worst = now ?: worst;
	} while (!is_enough(worst, wanted) && weak_next_behind(depth));
	return worst;
}

typedef void (*programs[CPUS])(u32 cpu);

/* Goes through all executions, or until one breaks the claim @wanted. Returns the last claim that was broken. */
static enum claim explore(const programs run, enum claim wanted, void (*check_told)(void))
{
	enum claim worst = HOLDS, now;

	do {
		clear_table();
		cpus_run(run);
		if (check_told)
			check_told();
		now = check_found(0) ?: check_found(1) ?: read_whenever(wanted);
		worst = now ?: worst;
	} while (!is_enough(worst, wanted) && weak_next_execution());
	print_message("%s, in %llu executions\n", claims[worst], weak.executions);
	return worst;
}

static const struct weak_memory x86 = { .x86 = true };
static const struct weak_memory arm64;

static void assert_holds(u32 where, const programs run, void (*check_told)(void))
{
	begin(&x86, where);
	assert_int_equal(explore(run, HOLDS, check_told), HOLDS);
	begin(&arm64, where);
	assert_int_equal(explore(run, HOLDS, check_told), HOLDS);
}

static void both_are_in(void)
{
	assert_int_equal(told[0].remembered, 1);
	assert_int_equal(told[1].remembered, 1);
}

static void one_is_in(void)
{
	assert_int_equal(told[0].remembered + told[1].remembered, 1);
}

static void all_ended(void)
{
	for (u32 bio = 0; bio < BIOS; bio++)
		assert_int_equal(told[bio].recalled, told[bio].remembered);
	assert_true(told[0].recalled || told[1].recalled);
}

static void once(void)
{
	assert_int_equal(told[0].remembered, 1);
	assert_true(told[0].recalled);
	assert_int_equal(told[0].overwritten, 0);
}

/* Whatever the standbys see, each bio is either lost or an IO, never both. */
static void each_is_counted_once(void)
{
	for (u32 bio = 0; bio < BIOS; bio++)
		assert_int_equal(told[bio].remembered + told[bio].no_room, 1);
}

static void first_was_overwritten(void)
{
	assert_int_equal(told[0].overwritten, 1);
	assert_int_equal(told[1].remembered, 1);
}

/* Two bios at the same time get a cell each; of two that want the last cell, one gets it. */
TEST(test_claims)
{
	assert_holds(IN_FIRST | IN_SECOND, (programs){ queue, queue }, both_are_in);
	assert_holds(IN_FIRST, (programs){ queue, queue }, one_is_in);
}

/* A cell goes from one bio to the other. */
static const programs change_hands = { queue_and_end, queue_and_end };

TEST(test_change_of_hands)
{
	assert_holds(IN_FIRST, change_hands, all_ended);
}

TEST(test_standbys)
{
	assert_holds(IN_FIRST | IN_SECOND, (programs){ queue_with_standbys }, once);
	assert_holds(IN_FIRST | IN_SECOND, (programs){ queue_first_skipped }, once);
}

/* From the beginning, in the first bucket. */
static void is_queued(u32 bio)
{
	struct bio_cell *c = &buckets[0].cell[BIO_BUCKET - 1];
	const struct bio_start start = start_of_bio(bio);

	weak.first[weak_cell(&c->key)] = key_of(bio);
	weak.first[weak_cell(&c->start.ns)] = start.ns;
	weak.first[weak_cell(&c->start.watch[0])] = start.watch[0];
}

/* Bio 1 needs the only cell, and ends before, between or after the steps of bio 0. A weaker memory would take minutes. */
static void set_up_full(const struct weak_memory *how)
{
	begin(how, IN_FIRST);
	is_queued(1);
}

static void only_end(u32 bio)
{
	told[bio] = (struct told){ .remembered = 1 };
	recall(bio);
}

TEST(test_standbys_without_room)
{
	static const programs all_come = { queue_with_standbys, only_end }, first_skipped = { queue_first_skipped, only_end };

	set_up_full(&x86);
	assert_int_equal(explore(all_come, HOLDS, each_is_counted_once), HOLDS);
	set_up_full(&x86);
	assert_int_equal(explore(first_skipped, HOLDS, each_is_counted_once), HOLDS);
}

static const programs miss_an_end = { queue_over_missed };

TEST(test_missed_end)
{
	assert_holds(IN_FIRST, miss_an_end, first_was_overwritten);
	assert_holds(IN_SECOND, miss_an_end, first_was_overwritten);
}

/* --- pieces ----------------------------------------------------------------------------------- */

enum { PIECE_KEY = 200 };

/* Bio 0 was split once: the cells of both. */
static void set_up_split(const struct weak_memory *how)
{
	struct bio_cell *bio = &buckets[0].cell[BIO_BUCKET - 1], *piece = &buckets[1].cell[BIO_BUCKET - 1];

	begin(how, IN_FIRST | IN_SECOND);
	is_queued(0);
	weak.first[weak_cell(&piece->key)] = PIECE_KEY;
	weak.first[weak_cell(&piece->start.ns)] = key_of(0);
	cpu_watch(&bio->start.state, BIO_PIECE);
	cpu_watch(&piece->start.state, BIO_PIECE);
}

static struct told ends[2];	/* of what remained of bio 0, and of its piece */

static void end_one(u32 cpu)
{
	ends[cpu].recalled = recall_from_cell(&(u64){ cpu ? PIECE_KEY : key_of(0) }, 0, false, &ends[cpu].found);
	cpu_hand_over();
}

/* Whichever is the last ends the bio, with its own start. */
static void one_ends_it(void)
{
	assert_int_equal(ends[0].recalled + ends[1].recalled, 1);
	told[0] = ends[ends[1].recalled];
	told[0].remembered = 1;
}

TEST(test_pieces)
{
	static const programs both_end = { end_one, end_one };

	set_up_split(&x86);
	assert_int_equal(explore(both_end, HOLDS, one_ends_it), HOLDS);
	set_up_split(&arm64);
	assert_int_equal(explore(both_end, HOLDS, one_ends_it), HOLDS);
}

/* On arm64, none of them can be left out. */
TEST(test_each_barrier_is_needed)
{
	static const struct { u32 missing; enum claim breaks; const programs *run; } cases[] = {
		{ FIELDS_THEN_TIME, TORN, &change_hands }, { ALL_THEN_KEY, TORN, &change_hands },
		{ ALL_THEN_KEY, WRONG_START, &change_hands }, { NO_TIME_THEN_FIELDS, TORN, &miss_an_end },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(&(struct weak_memory){ .missing = cases[i].missing }, IN_FIRST);
		assert_int_equal(explore(*cases[i].run, cases[i].breaks, NULL), cases[i].breaks);
	}
}

/* The key must also be stored after the loads before it: smp_wmb() would not do. */
TEST(test_loads_need_it_too)
{
	begin(&arm64, IN_FIRST);
	cpus.loads_pass = true;
	assert_int_equal(explore(change_hands, WRONG_START, NULL), WRONG_START);
}

TEST(test_each_acquire_is_needed)
{
	begin(&arm64, IN_FIRST);
	weak.relaxed = &buckets[0].cell[BIO_BUCKET - 1].start.ns;
	assert_int_equal(explore(change_hands, TORN, NULL), TORN);
	begin(&arm64, IN_FIRST);
	weak.no_fences = true;
	assert_int_equal(explore(change_hands, TORN, NULL), TORN);
}
