// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slow IOs in a recording: if its size is limited they stay with their intervals, and files that lie about them are
 * refused.
 */
/* First, as another has the names of its arguments. For its ring: with a limit below the least one it takes fewer intervals. */
#include "recording/recorder.c"

#include "core/slow.h"
#include "recording_feed.h"

#define MOST 3
#define FOUND_EACH(i) ((i) % 6)
#define DEPTH(i) ((i) % 2 ? (i) : UINT32_MAX)

/* Interval @i has i % 6 slow IOs, each of them distinguishable; of every other one more is known. */
static void make_slow(struct slow_ios *s, u64 i)
{
	slow_ios_clear(s);
	for (u64 k = 0; k < FOUND_EACH(i); k++) {
		struct slow_io io = { .end_ns = 1795246500 * (s64)NSEC_PER_SEC + i };

		io.told = (struct blklat_slow){ .latency_ns = 10 * i + k, .bytes = 4096, .op = k % BLKLAT_OPS, .end_cpu = k };
		if (k & 1) {
			io.told.known = BLKLAT_SLOW_SUBMITTER | BLKLAT_SLOW_SECTOR;
			io.told.sector = i;
			strcpy(io.told.comm, "fio");
			io.told.depth = DEPTH(i);
			io.told.beside = 1 + i % BLKLAT_BESIDE_PARTS;
			io.told.flags = 1 + i % BLKLAT_FLAGS_PARTS;
			io.told.pages = BLKLAT_PAGES_FILE;
			io.told.file_dev = 254 << 20 | i;
			io.told.inode = 1 + i;
			io.told.known |= i % 2 ? BLKLAT_SLOW_FILE : 0;
			strcpy(io.told.names[0], i % 2 ? "a/b" : "");
			io.cgroup = "/a/b";
		}
		assert_int_equal(slow_ios_add(s, &io), 0);
	}
	slow_ios_sort(s);
}

static void begin_slow(struct slow_ios *slow)
{
	feed_begin(1);
	f.info.slow_most = MOST;
	assert_int_equal(slow_ios_init(slow, 1, MOST), 0);
}

static void record_slow(u64 limit, u32 n)
{
	struct slow_ios slow;
	struct recorder *r;

	begin_slow(&slow);
	assert_int_equal(feed_open(0), 0);
	r = (struct recorder *)f.sink;
	if (limit)
		assert_int_equal(ring_init(&r->ring, r->file.db, limit, r->run), SQLITE_OK);
	for (u32 i = 1; i <= n; i++) {
		make_slow(&slow, i);
		frames_set_slow(&f.is, &slow);
		feed_interval();
	}
	feed_close();
	slow_ios_uninit(&slow);
}

static s64 ask(const char *sql)
{
	sqlite3 *db;
	int rc;
	s64 n;

	assert_int_equal(sqlite3_open_v2(at.file, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	n = sqlite_number(db, sql, &rc);
	assert_int_equal(rc, SQLITE_OK);
	sqlite3_close(db);
	return n;
}

static void check_io(const struct slow_io *io, u64 first, u64 last)
{
	u64 i = io->told.latency_ns / 10, k = io->told.latency_ns % 10;

	assert_in_range(i, first, last);
	assert_int_equal(io->end_ns, 1795246500 * (s64)NSEC_PER_SEC + i);
	assert_int_equal(io->told.op, k % BLKLAT_OPS);
	assert_int_equal(io->told.end_cpu, k);
	assert_int_equal(!!(io->told.known & BLKLAT_SLOW_SUBMITTER), k & 1);
	assert_string_equal(io->told.comm, k & 1 ? "fio" : "");
	assert_int_equal(io->told.depth, k & 1 ? DEPTH(i) : 0);
	assert_int_equal(io->told.beside, k & 1 ? 1 + i % BLKLAT_BESIDE_PARTS : 0);
	assert_int_equal(io->told.flags, k & 1 ? 1 + i % BLKLAT_FLAGS_PARTS : 0);
	assert_int_equal(io->told.pages, k & 1 ? BLKLAT_PAGES_FILE : 0);
	assert_int_equal(io->told.inode, k & 1 ? 1 + i : 0);
	assert_string_equal(io->told.names[0], k & 1 && i % 2 ? "a/b" : "");
	assert_int_equal(!!(io->told.known & BLKLAT_SLOW_FILE), k & 1 && i % 2);
	if (k & 1) {
		char device[32];

		snprintf(device, sizeof(device), "254:%llu", i);
		assert_string_equal(io->file_device, device);
		assert_int_equal(io->told.sector, i);
		assert_string_equal(io->cgroup, "/a/b");
	} else {
		assert_null(io->cgroup);
	}
}

/* Plays the file; @first is the first interval that was not dropped. Returns how many were found in all. */
static u64 check_replay(u64 first)
{
	u64 found = 0;

	replay_summed(at.file);
	assert_non_null(c->slow);
	assert_int_equal(c->slow->most, MOST);
	assert_int_equal(c->slow->of[0].found, 0);
	while (!read_summed()) {
		const struct slow_of *of = &c->slow->of[0];

		assert_int_equal(of->n, min_u64(MOST, of->found));
		for (u32 i = of->first; i < of->first + of->n; i++)
			check_io(&c->slow->io[i], first, UINT32_MAX);
		/* The slowest comes first, and is from the last interval that was merged into this one. */
		if (of->n)
			first = c->slow->io[of->first].told.latency_ns / 10 + 1;
		found += of->found;
	}
	return found;
}

TEST(test_each_interval)
{
	record_slow(0, 60);
	assert_int_equal(ask("SELECT count(*) FROM slow_io"), 10 * (0 + 1 + 2 + 3 + 3 + 3));
	assert_int_equal(ask("SELECT sum(found) FROM slow_found"), 10 * 15);
	/* Of the three of interval 9, one has them: 1 + 9 % 7 is BLKLAT_KIND_OTHER, 1 + 9 % 6 BLKLAT_FLAGS_SYNC. */
	assert_int_equal(ask("SELECT count(*) FROM slow_io WHERE interval = 9 AND depth = 9 AND beside = 'other' AND flags = 'sync'"), 1);
	assert_int_equal(ask("SELECT count(*) FROM slow_io WHERE interval = 9 AND depth IS NULL AND beside IS NULL AND flags IS NULL"), 2);
	assert_int_equal(check_replay(1), 10 * 15);
}

TEST(test_limited)
{
	const u32 n = 3500;
	u64 dropped, found = 0, kept = 0;

	record_slow(1 << 20, n);
	dropped = ask("SELECT value FROM meta WHERE key = 'dropped'");
	assert_in_range(dropped, 1, n - 1);
	assert_true(ask("SELECT count(*) FROM interval") < (s64)(n - dropped));
	for (u64 i = dropped + 1; i <= n; i++) {
		found += FOUND_EACH(i);
		kept += min_u64(FOUND_EACH(i), MOST);
	}
	assert_int_equal(ask("SELECT sum(found) FROM slow_found"), found);
	assert_int_equal(ask("SELECT count(*) FROM slow"), kept);
	assert_int_equal(check_replay(dropped + 1), found);
}

TEST(test_too_little_room)
{
	feed_begin(1);
	f.info.slow_most = MOST;
	assert_int_equal(feed_open(ring_least_bytes(1) + ring_slow_bytes(MOST) - 1), -EINVAL);
}

static void check_refused(const char *sql)
{
	const char *lie = beside("-lie");
	u32 n;
	int err;

	copy_damaged(at.file, lie, sql);
	err = read_all(lie, &n);
	if (err != -EBADMSG || !strstr(p.text, "damaged"))
		fail_msg("%s: %d %s", sql, err, p.text);
}

/* Each is refused with a sentence, whoever reads it. */
TEST(test_lies)
{
	static const char *const of_an_io[] = {
		"watch = 7", "op = 5", "latency_ns = -1", "latency_ns = 'long'", "bytes = 5000000000", "sector = x'00'",
		"hw_queue = 65536", "end_cpu = NULL", "pid = 1, comm = NULL", "kernel_thread = 2",
		"cgroup = printf('%2000s', '/')", "comm = 'a name of more than 15 bytes', pid = 1, kernel_thread = 0",
		"end_wall_ns = 1e300", "depth = 0", "depth = -1", "depth = 4294967296", "depth = 'deep'", "depth = 1.5",
		"beside = 'flood'", "beside = ''", "beside = 1",
		"beside = CAST('flush' AS BLOB)", "beside = printf('%1000s', 'flush')", "flags = 'flush'", "flags = ''",
		"flags = 1", "flags = CAST('sync' AS BLOB)", "flags = printf('%1000s', 'sync')", "interval = interval + 100",
		"interval = -5 WHERE n = 0",
	};
	static const char *const others[] = {
		"UPDATE slow_found SET found = 0", "UPDATE slow_found SET watch = 3",
		"UPDATE slow_found SET interval = 99 WHERE interval = 5", "DROP VIEW slow_io; DROP TABLE slow",
		"DROP TABLE slow_found; CREATE TABLE slow_found(interval, watch, found)",
		"UPDATE slow_file SET pages = 'heap'", "UPDATE slow_file SET file_device = '8:1:'",
		"UPDATE slow_file SET file_device = '4096:1'", "UPDATE slow_file SET inode = 0",
		"UPDATE slow_file SET file = printf('%132s', 'x')", "DROP VIEW slow_io; ALTER TABLE slow_file ADD COLUMN more",
		"UPDATE meta SET value = 10001 WHERE key = 'slow_most'",
		"UPDATE meta SET value = 'many' WHERE key = 'slow_most'",
	};
	char sql[128];

	record_slow(0, 12);
	for (u32 i = 0; i < ARRAY_SIZE(of_an_io); i++) {
		snprintf(sql, sizeof(sql), "UPDATE slow SET %s", of_an_io[i]);
		check_refused(sql);
	}
	for (u32 i = 0; i < ARRAY_SIZE(others); i++)
		check_refused(others[i]);
}

/* Of a path that is too long the end is kept, which says most, from a whole character on. */
TEST(test_long_path)
{
	char path[3001] = "";
	struct slow_io io = { .told = { .latency_ns = 1, .end_cpu = 0 } };
	struct slow_ios slow;

	for (u32 i = 0; i < 1498; i++)
		strcat(path, "ü");
	strcat(path, "/end");
	io.cgroup = path;
	begin_slow(&slow);
	assert_int_equal(slow_ios_add(&slow, &io), 0);
	slow_ios_sort(&slow);
	frames_set_slow(&f.is, &slow);
	feed_record(0, 1);
	replay_summed(at.file);
	assert_int_equal(read_summed(), 0);
	assert_string_equal(c->slow->io[0].cgroup, path + 3000 - 1022);
	slow_ios_uninit(&slow);
}

/* As many as may be, all of whose paths are long, take most of what the last try gives up: half of the file. */
TEST(test_long_paths_find_room)
{
	enum { MANY = 4000, LEN = 900 };
	char path[LEN + 1] = "";
	struct slow_io io = { .told.latency_ns = 1, .cgroup = path };
	struct slow_ios slow;

	feed_begin(1);
	f.info.slow_most = MANY;
	assert_int_equal(slow_ios_init(&slow, 1, MANY), 0);
	memset(path, 'x', LEN);
	for (u32 i = 0; i < MANY; i++)
		assert_int_equal(slow_ios_add(&slow, &io), 0);
	slow_ios_sort(&slow);
	frames_set_slow(&f.is, &slow);
	feed_record(ring_least_bytes(1) + ring_slow_bytes(MANY), 8);
	assert_int_equal(ask("SELECT count(*) FROM slow_io WHERE interval = (SELECT max(id) FROM interval)"), MANY);
	slow_ios_uninit(&slow);
}
