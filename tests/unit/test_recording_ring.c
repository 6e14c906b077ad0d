// SPDX-License-Identifier: GPL-2.0-only
/* A recording of limited size: what it keeps, that its counts add up, and that it stays below its limit. */
/* First, as the other has the names of its arguments. For its ring, see begin_limited(). */
#include "recording/recorder.c"

#include "recording_feed.h"

#include <sys/stat.h>

#include "core/accounting.h"
#include "recording/schema.h"

#define INTERVALS 2400
#define LIMIT (1ULL << 19)
#define DROPPED_BEFORE 5	/* as if it were recorded again */

/* The largest size of the files so far, all together. */
static u64 most;

static u64 size_on_disk(void)
{
	static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
	struct stat st;
	u64 size = 0;

	for (u32 i = 0; i < ARRAY_SIZE(ends); i++)
		size += stat(beside(ends[i]), &st) ? 0 : st.st_size;
	most = max_u64(most, size);
	return size;
}

static void measured_interval(void)
{
	feed_interval();
	size_on_disk();
}

static void begin_measured(u64 limit)
{
	most = 0;
	assert_int_equal(feed_open(limit), 0);
}

/* With a limit below the least one, so that a test needs fewer intervals. A step may be larger than the log's share then. */
static void begin_limited(u64 limit)
{
	struct recorder *r;

	begin_measured(0);
	r = (struct recorder *)f.sink;
	assert_int_equal(ring_init(&r->ring, r->file.db, limit, r->run), SQLITE_OK);
	r->ring.levels.dropped = f.origin.dropped;
}

/* One mark at the start, and one in the far future. */
static struct mark marks[] = { { 8000000000, 1, "begin" }, { 1ULL << 60, 2, "end" } };

/* Records @n intervals of one device. */
static void record(u64 limit, u32 n)
{
	feed_begin(1);
	f.origin.marks = marks;
	f.origin.n_marks = ARRAY_SIZE(marks);
	f.origin.dropped = DROPPED_BEFORE;
	begin_limited(limit);
	while (n--)
		measured_interval();
	feed_close();
}

/* Whole original intervals lie between @before and the sum, which has the counts of that time. Returns how many. */
static u32 check_interval(const struct snapshot *before, struct frames *is)
{
	struct percentiles none = { 0 };
	u64 bytes[FEED_OPS] = { 0 };
	u32 merged = feed_again(sum.mono_ns, bytes);

	same_snapshot(&f.now, &sum, MERGED_IS_KNOWN);
	frames_between(is, before, &sum, &none, f.info.cpus);
	assert_memory_equal(&is->f[0].accounting, &f.is.f[0].accounting, sizeof(struct accounting));
	assert_int_equal(is->f[0].busy_ns, merged * NSEC_PER_SEC / 4);
	for (u32 op = 0; op < FEED_OPS; op++) {
		assert_int_equal(hist_count(&sum.w[0].ops[op].after_idle), hist_count(&f.now.w[0].ops[op].after_idle));
		assert_int_equal(is->f[0].ops[op].bytes, bytes[op]);
		if (merged == 1)	/* else it is with the interval behind, as it will be with its IO */
			assert_int_equal(is->f[0].ops[op].partial.bytes, f.is.f[0].ops[op].partial.bytes);
	}
	return merged;
}

/*
 * Reads @n intervals back, the first of which were dropped or not. Returns how many they have become; @ret_lengths counts
 * those of 1, 2, 4 ... originals.
 */
static u32 check_all(u32 n, bool dropped, u32 ret_lengths[8])
{
	u32 from, intervals = 0, last = 64;
	u64 bytes[FEED_OPS] = { 0 };
	struct snapshot before;
	struct frames is;
	int err;

	feed_begin(1);
	replay_summed(at.file);
	assert_int_equal(frames_init(&is, f.info.watches, f.info.n_watches, SCALE), 0);
	snapshot_make(&before, c->n_watches, SCALE);
	from = feed_again(sum.mono_ns, bytes);
	assert_int_equal(from > 0, dropped);
	assert_int_equal(c->origin->dropped, from + DROPPED_BEFORE);
	assert_int_equal(c->origin->n_marks, dropped ? 1 : 2);
	assert_string_equal(c->origin->marks[c->origin->n_marks - 1].text, "end");
	for (;; intervals++) {
		u32 merged;

		snapshot_copy(&before, &sum);
		err = read_summed();
		if (err)
			break;
		merged = check_interval(&before, &is);
		assert_true(merged <= last);		/* newer ones are shorter */
		last = merged;
		assert_int_equal(__builtin_popcount(merged), 1);
		ret_lengths[__builtin_ctz(merged)]++;
		from += merged;
	}
	assert_int_equal(err, -ENODATA);
	assert_int_equal(from, n);
	same_snapshot(&f.now, &sum, ALL_IS_KNOWN);
	frames_uninit(&is);
	snapshot_uninit(&before);
	return intervals;
}

TEST(oldest_give_way)
{
	u32 lengths[8] = { 0 }, intervals;

	record(LIMIT, INTERVALS);
	assert_in_range(size_on_disk(), LIMIT * 3 / 4, LIMIT);	/* the room is used */
	intervals = check_all(INTERVALS, true, lengths);
	print_message("%u intervals of %u: %u of 1, %u of 2, %u of 4, %u of 8, %u of 16, %u of 32, %u of 64\n", intervals,
		      INTERVALS, lengths[0], lengths[1], lengths[2], lengths[3], lengths[4], lengths[5], lengths[6]);
	/* Half of them, and about a twelfth of each other length. */
	assert_in_range(lengths[0], intervals * 45 / 100, intervals * 55 / 100);
	for (u32 i = 1; i <= 6; i++)
		assert_in_range(lengths[i], intervals * 6 / 100, intervals * 11 / 100);
}

TEST(below_the_limit_nothing_is_merged)
{
	u32 lengths[8] = { 0 };

	record(LIMIT, 200);
	assert_int_equal(check_all(200, false, lengths), 200);
}

/* Six watches, and intervals that suddenly grow to many times their size. */
TEST(growing_intervals_find_room)
{
	u64 limit = ring_least_bytes(6);

	feed_begin(6);
	begin_measured(limit);
	for (u32 i = 0; i < 600; i++) {
		f.cells = i < 300 ? 20 : 5000;
		measured_interval();
	}
	feed_close();
	print_message("most %llu of %llu bytes\n", most, limit);
	assert_in_range(most, limit * 3 / 4, limit);
	replay(at.file, -1);
}

static char long_text[1001];

/* @n intervals with many bins, so that they fill the file: its size, and how many marks it has. */
static void check_room_beside_marks(u32 n, void (*mark)(u32 i))
{
	u64 limit = ring_least_bytes(1);

	f.cells = 2000;
	begin_measured(limit);
	for (u32 i = 0; i < n; i++) {
		mark(i);
		measured_interval();
	}
	feed_close();
	size_on_disk();
	print_message("most %llu of %llu bytes\n", most, limit);
	assert_in_range(most, limit * 3 / 4, limit);
	replay(at.file, -1);
	assert_in_range(c->origin->n_marks, limit / 16 / sizeof(long_text), limit / 8 / sizeof(long_text));
}

static void mark_until_it_is_full(void)
{
	int err = 0;

	while (!err)
		err = recording_mark(at.file, long_text, &p);
	EXPECT(err == -EAGAIN);
}

static void mark_at_times(u32 i)
{
	if (i % 200 > 195)
		in_child(mark_until_it_is_full);
}

/* As many marks as can wait until an interval ends: more than the file has room for. */
TEST(marks_find_room)
{
	memset(long_text, 'm', sizeof(long_text) - 1);
	feed_begin(1);
	check_room_beside_marks(800, mark_at_times);
}

static void mark_nothing(u32 i)
{
	(void)i;
}

/* The marks of a replay come with its intervals, and those of later times at the end; the last ones are kept. */
TEST(marks_of_a_replay_find_room)
{
	enum { INTERVALS_OF_IT = 800, A_SECOND = 8, N = A_SECOND * INTERVALS_OF_IT + 200 };
	static struct mark many[N];

	memset(long_text, 'm', sizeof(long_text) - 1);
	feed_begin(1);
	for (u32 i = 0; i < N; i++)
		many[i] = (struct mark){ f.origin.start_mono_ns + i * NSEC_PER_SEC / A_SECOND, i, long_text };
	f.origin.marks = many;
	f.origin.n_marks = N;
	check_room_beside_marks(INTERVALS_OF_IT, mark_nothing);
	for (u32 i = 1; i <= c->origin->n_marks; i++)
		assert_int_equal(c->origin->marks[c->origin->n_marks - i].wall_ns, N - i);
}

/* A ring in memory, half full. */
static void make_ring(struct recording_ring *r)
{
	struct recording_rows rows;
	struct recorded_ids ids;
	sqlite3 *db;
	int rc;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	for (u32 i = 0; recording_tables[i].name; i++)
		assert_int_equal(sqlite_run(db, recording_tables[i].sql), SQLITE_OK);
	assert_int_equal(sqlite_run(db, "CREATE TABLE other(bytes)"), SQLITE_OK);
	feed_begin(1);
	assert_int_equal(ring_init(r, db, 2 * LIMIT, &(struct run_info){ .scale = SCALE }), SQLITE_OK);
	assert_int_equal(recorded_ids_init(&ids, &f.info), 0);
	assert_int_equal(recorder_write_watches(db, &f.info, &ids), SQLITE_OK);
	assert_int_equal(recording_rows_init(&rows, db, &f.info, &ids), SQLITE_OK);
	for (s64 id = 1; sqlite_number(db, "PRAGMA page_count", &rc) < (s64)r->most / 2; id++) {
		feed_make();
		if (id == 1)
			assert_int_equal(recording_rows_start(&rows, &f.info, &f.is), SQLITE_OK);
		assert_int_equal(recording_rows_interval(&rows, id, &f.info, &f.is), SQLITE_OK);
		ring_add(r, id);
	}
	recording_rows_uninit(&rows);
	recorded_ids_uninit(&ids);
}

/* Whether room can be made for an interval. Undoes what was done for it. */
static bool room_can_be_made(struct recording_ring *r, u32 tries)
{
	const struct ring_levels before = r->levels;
	int rc;

	assert_int_equal(sqlite_run(r->db, "BEGIN"), SQLITE_OK);
	rc = ring_make_room(r, tries);
	if (!sqlite3_get_autocommit(r->db))
		sqlite_run(r->db, "ROLLBACK");
	r->levels = before;
	return !rc;
}

static u64 pages_left(const struct recording_ring *r)
{
	int rc;

	return r->most - (sqlite_number(r->db, "PRAGMA page_count", &rc) - sqlite_number(r->db, "PRAGMA freelist_count", &rc));
}

enum { SELDOM = 8 };

/*
 * Something takes the room, page by page. As long as an interval may stay, the next step is still possible. None may
 * stay that leaves less than a quarter of the reserve: without a free page some rings can't give anything up, since
 * even a row that shrinks may need a page first.
 */
TEST(an_interval_leaves_room_for_the_next_step)
{
	struct recording_ring r;
	u32 stayed = 0, left_too_little = 0;
	sqlite3 *db;

	make_ring(&r);
	db = r.db;
	do {
		u64 left = pages_left(&r);

		assert_int_equal(ring_check_room(&r), left < r.reserve / 4 ? SQLITE_FULL : SQLITE_OK);
		if (left < r.reserve / 4) {
			left_too_little++;
			continue;
		}
		stayed++;
		/* Each time takes as long as hundreds of intervals: with much room now and then, with little always. */
		if (left > r.reserve || (left % SELDOM && left > r.reserve / 4 + SELDOM))
			continue;
		/* The steps of the last try are those of the others, and more; only the first one merges. */
		assert_true(room_can_be_made(&r, 0) && room_can_be_made(&r, RING_TRIES));
	} while (!sqlite_run(db, "INSERT INTO other VALUES(zeroblob(4000))"));
	assert_true(r.reserve / 4 > 1);
	assert_int_equal(left_too_little, r.reserve / 4);
	assert_true(stayed > r.reserve);
	sqlite3_close(db);
}

enum { DIVIDED = 10, DIVIDED_INTERVALS = 1000 };	/* a whole and its parts */

static void begin_divided(void)
{
	feed_begin_by(1, BLKLAT_BY_SIZE);
	f.cells = 250;
}

/*
 * A watch with parts: a merged interval has what there was at its later end, for each part and in all, whatever was in
 * flight before.
 */
TEST(parts_give_way)
{
	u64 limit = ring_least_bytes(DIVIDED) / 2, bytes[FEED_OPS] = { 0 };
	u32 from, intervals = 0;

	begin_divided();
	begin_limited(limit);
	for (u32 i = 0; i < DIVIDED_INTERVALS; i++)
		measured_interval();
	feed_close();
	assert_in_range(most, limit / 2, limit);
	begin_divided();
	replay_summed(at.file);
	from = feed_again(sum.mono_ns, bytes);
	for (; !read_summed(); intervals++) {
		from += feed_again(sum.mono_ns, bytes);
		same_snapshot(&f.now, &sum, MERGED_IS_KNOWN);
	}
	assert_int_equal(from, DIVIDED_INTERVALS);
	same_snapshot(&f.now, &sum, ALL_IS_KNOWN);
	print_message("%u intervals of %u, most %llu of %llu bytes\n", intervals, DIVIDED_INTERVALS, most, limit);
	assert_in_range(intervals, 100, DIVIDED_INTERVALS * 3 / 4);
}
