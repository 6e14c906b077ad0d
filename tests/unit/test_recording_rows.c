// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rows in memory: each owner of a part has its own id, until none is left; long paths are cut; and a limited file has room for the
 * step that makes room for the next interval.
 */
#include "unit.h"

#include "blklat/bins.h"
#include "blklat/parts.h"
#include "core/origin.h"
#include "core/slow.h"
#include "recording/ring.h"
#include "recording/rows.h"
#include "recording/schema.h"
#include "recording/sqlite.h"

enum { SCALE = 3, CGROUPS = 2, FIRST = BLKLAT_CGROUP_FIRST, REST = BLKLAT_CGROUP_REST };

static struct {
	sqlite3 *db;
	struct watch *watches;
	struct run_info run;
	struct snapshot before, now;
	struct frames is;
	struct recorded_ids ids;
	struct recording_rows rows;
	s64 id;
	const char *by;
} w;

static u32 slow_most;

static void begin(enum blklat_by by)
{
	static struct device device = { .name = "sda" };
	static const struct device_table table = { .n = 1, .d = &device };
	static const struct watch whole = { .device = &device };
	u32 n;

	w.id = 0;
	w.by = by_names[by];
	assert_int_equal(sqlite3_open(":memory:", &w.db), SQLITE_OK);
	for (u32 i = 0; recording_tables[i].name; i++)
		assert_int_equal(sqlite_run(w.db, recording_tables[i].sql), SQLITE_OK);
	assert_int_equal(watches_divide(&whole, 1, by, CGROUPS, &w.watches, &n), 0);
	w.run = (struct run_info){ .watches = w.watches, .n_watches = n, .devices = &table, .scale = SCALE, .slow_most = slow_most };
	assert_int_equal(snapshot_init(&w.before, n, SCALE), 0);
	assert_int_equal(snapshot_init(&w.now, n, SCALE), 0);
	assert_int_equal(frames_init(&w.is, w.watches, n, SCALE), 0);
	assert_int_equal(recorded_ids_init(&w.ids, &w.run), 0);
	assert_int_equal(recorder_write_watches(w.db, &w.run, &w.ids), SQLITE_OK);
	assert_int_equal(recording_rows_init(&w.rows, w.db, &w.run, &w.ids), SQLITE_OK);
}

void set_up(void)
{
	begin(BLKLAT_BY_CGROUP);
}

void tear_down(void)
{
	recording_rows_uninit(&w.rows);
	recorded_ids_uninit(&w.ids);
	sqlite3_close(w.db);
	snapshot_uninit(&w.before);
	snapshot_uninit(&w.now);
	frames_uninit(&w.is);
	free(w.watches);
}

/* In the next interval the part belongs to @label, does @n reads of @ns, and has as many in flight at the end. */
static void count(u32 part, const char *label, u32 n, u64 ns)
{
	struct op_counts *o = &w.now.w[part].ops[BLKLAT_OP_READ];

	w.watches[part].part = part_find(w.by, label);
	hist_put(&o->hist, blklat_cell(ns, SCALE), n);
	o->sum_ns += n * ns;
	o->bytes += n * 512;
	o->min_ns = o->max_ns = ns;
	w.now.w[part].in_flight = n;
}

static void end_interval(void)
{
	w.now.mono_ns = w.before.mono_ns + NSEC_PER_SEC;
	frames_between(&w.is, &w.before, &w.now, &percentiles_default, 1);
	assert_int_equal(recording_rows_interval(&w.rows, ++w.id, &w.run, &w.is), SQLITE_OK);
	snapshot_copy(&w.before, &w.now);
	for (u32 i = 0; i < w.now.n; i++)
		w.now.w[i].in_flight = 0;
}

static s64 number(const char *sql)
{
	int rc;

	return sqlite_number(w.db, sql, &rc);
}

TEST(test_ids)
{
	const s64 behind = w.run.n_watches;

	count(FIRST, "/a", 1, 1000);
	end_interval();
	count(FIRST, "/b", 2, 1000);
	count(FIRST + 1, "/c", 4, 1000);
	end_interval();
	count(FIRST + 1, "/a", 8, 1000);
	end_interval();
	count(FIRST, "/a", 16, 1000);
	count(FIRST + 1, "/b", 32, 1000);
	end_interval();
	/* /a and /c have the numbers of their parts, /b the next free one. A returning owner keeps its id, even in another part. */
	assert_int_equal(number("SELECT id FROM watch WHERE part = '/c'"), FIRST + 1);
	assert_int_equal(number("SELECT count(*) FROM watch WHERE part_of = 0"), 5);
	assert_int_equal(number("SELECT id FROM watch WHERE part = '/b'"), behind);
	assert_int_equal(number("SELECT sum(ios) FROM series s JOIN watch w ON w.id = s.watch WHERE part = '/a'"), 1 + 8 + 16);
	assert_int_equal(number("SELECT sum(ios) FROM series s JOIN watch w ON w.id = s.watch WHERE part = '/b'"), 2 + 32);
	assert_int_equal(number("SELECT sum(ios) FROM series s JOIN watch w ON w.id = s.watch WHERE part = '/c'"), 4);
	assert_int_equal(number("SELECT in_flight FROM state WHERE interval = 4 AND watch = (SELECT id FROM watch WHERE part = '/b')"), 32);
}

/* An owner that comes when all ids are taken is counted in the rest, beside the rest's own IOs. */
TEST(test_no_more_ids)
{
	w.run.most_watches = BLKLAT_MAX_WATCHES;	/* all are kept for devices that may come */
	count(FIRST, "/a", 1, 1000);
	end_interval();
	count(REST, "rest", 3, 2000);
	count(FIRST, "/b", 5, 1000);
	count(FIRST + 1, "/c", 7, 9000);
	end_interval();
	assert_int_equal(number("SELECT ios FROM series WHERE interval = 2 AND watch = 2"), 3 + 5);
	assert_int_equal(number("SELECT bytes FROM series WHERE interval = 2 AND watch = 2"), 8 * 512);
	assert_int_equal(number("SELECT sum_ns FROM series WHERE interval = 2 AND watch = 2"), 3 * 2000 + 5 * 1000);
	assert_int_equal(number("SELECT min_ns FROM series WHERE interval = 2 AND watch = 2"), 1000);
	assert_int_equal(number("SELECT max_ns FROM series WHERE interval = 2 AND watch = 2"), 2000);
	assert_int_equal(number("SELECT in_flight FROM state WHERE interval = 2 AND watch = 2"), 3 + 5);
	assert_int_equal(number("SELECT ios FROM series s JOIN watch w ON w.id = s.watch WHERE part = '/c'"), 7);
	assert_int_equal(number("SELECT count(*) FROM watch WHERE part = '/b'"), 0);
	/* The rest has no IOs of its own. */
	count(FIRST, "/b", 9, 1000);
	end_interval();
	assert_int_equal(number("SELECT ios FROM series WHERE interval = 3 AND watch = 2"), 9);
}

/* They come without end, and a reader needs memory for each. */
TEST(test_no_more_processes)
{
	enum { MORE = 30 };

	tear_down();
	begin(BLKLAT_BY_PROCESS);
	for (u32 i = 0; i < 1 + RECORDING_PROCESSES_MAX + MORE; i++) {
		char label[32];

		snprintf(label, sizeof(label), "dd (%u)", i);
		count(FIRST, label, 1, 1000);
		end_interval();
	}
	assert_int_equal(number("SELECT count(*) FROM watch WHERE part LIKE 'dd (%'"), 1 + RECORDING_PROCESSES_MAX);
	assert_int_equal(number("SELECT sum(ios) FROM series s JOIN watch w ON w.id = s.watch WHERE part = 'rest'"), MORE);
	assert_int_equal(number("SELECT sum(ios) FROM series"), 1 + RECORDING_PROCESSES_MAX + MORE);
}

/* Of a path that is too long the end is kept, which says most, from a whole character on. */
TEST(test_long_path)
{
	char path[3001] = "";
	struct slow_io io = { .told.latency_ns = 1, .cgroup = path };
	struct slow_ios slow;

	tear_down();
	slow_most = 1;
	set_up();
	for (u32 i = 0; i < 1498; i++)
		strcat(path, "ü");
	strcat(path, "/end");
	assert_int_equal(slow_ios_init(&slow, w.run.n_watches, slow_most), 0);
	assert_int_equal(slow_ios_add(&slow, &io), 0);
	slow_ios_sort(&slow);
	frames_set_slow(&w.is, &slow);
	end_interval();
	assert_int_equal(number("SELECT cgroup LIKE 'ü%ü/end' AND length(CAST(cgroup AS BLOB)) = 1022 FROM slow"), 1);
	slow_ios_uninit(&slow);
	slow_most = 0;
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
	return r->most - (number("PRAGMA page_count") - number("PRAGMA freelist_count"));
}

enum { SELDOM = 8 };

/*
 * Something takes the room, page by page. As long as an interval may stay, the next step is still possible. None may
 * stay that leaves less than a quarter of the reserve: without a free page some rings can't give anything up, since
 * even a row that shrinks may need a page first.
 */
TEST(test_an_interval_leaves_room_for_the_next_step)
{
	u32 stayed = 0, left_too_little = 0;
	struct recording_ring r;
	u64 seed = 1;

	assert_int_equal(ring_init(&r, w.db, 1 << 20, &w.run), SQLITE_OK);
	while (pages_left(&r) > r.most / 2) {
		for (u32 i = 0; i < 300; i++)
			count(FIRST, "/a", 1 + next_random(&seed) % 200, 50000 + next_random(&seed) % (1ULL << (10 + next_random(&seed) % 16)));
		end_interval();
		ring_add(&r, w.id);
	}
	assert_int_equal(sqlite_run(w.db, "CREATE TABLE other(bytes)"), SQLITE_OK);
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
	} while (!sqlite_run(w.db, "INSERT INTO other VALUES(zeroblob(4000))"));
	assert_true(r.reserve / 4 > 1);
	assert_int_equal(left_too_little, r.reserve / 4);
	assert_true(stayed > r.reserve);
}
