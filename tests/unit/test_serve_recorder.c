// SPDX-License-Identifier: GPL-2.0-only
/* Days of a service's recorder, until it is killed: the bounds are kept, and no interval is missing. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cmd/serve_recorder.h"
#include "core/capture.h"
#include "core/origin.h"
#include "folder.h"

#define HOUR_NS (3600 * (s64)NSEC_PER_SEC)
#define HOUR 20			/* intervals of a second, one in three minutes */
#define EVERY_NS (HOUR_NS / HOUR)
#define THREE_DAYS (72 * HOUR)
#define MAX_BYTES (8u << 20)
#define START_NS (1795246500 * (s64)NSEC_PER_SEC)

static struct {
	char dir[FOLDER_ROOT];
	struct device device[2];
	struct watch watch[2];
	struct device_table table;
	struct origin origin;
	struct run_info run;
	struct snapshot before, now;
	struct frames is;
	u64 seed;
} w;

static struct problem p;

void set_up(void)
{
	memset(&w, 0, sizeof(w));
	folder_make(w.dir);
	w.table = (struct device_table){ .n = 2, .d = w.device };
	w.origin = (struct origin){ .label = "", .host = "a-host", .kernel = "6.1.0", .version = "1.2.3", .command = "", .interval_s = 1,
				    .start_mono_ns = 7 * NSEC_PER_SEC, .start_wall_ns = START_NS };
	w.seed = 1;
	for (u32 i = 0; i < 2; i++) {
		w.device[i] = (struct device){ .name = { 'd', '0' + i }, .parent = i };
		w.watch[i] = (struct watch){ .device = &w.device[i], .stage = BLKLAT_STAGE_DEVICE };
	}
	w.run = (struct run_info){ .version = "1.2.3", .engine = "bpf", .watches = w.watch, .n_watches = 2, .devices = &w.table,
				   .origin = &w.origin, .cpus = 2, .scale = BLKLAT_SCALE_MAX, .interval_s = 1, .percentiles = percentiles_default };
	assert_int_equal(snapshot_init(&w.before, 2, BLKLAT_SCALE_MAX), 0);
	assert_int_equal(snapshot_init(&w.now, 2, BLKLAT_SCALE_MAX), 0);
	assert_int_equal(frames_init(&w.is, w.watch, 2, BLKLAT_SCALE_MAX), 0);
	w.now.mono_ns = w.origin.start_mono_ns;
	w.now.wall_ns = START_NS;
}

void tear_down(void)
{
	snapshot_uninit(&w.before);
	snapshot_uninit(&w.now);
	frames_uninit(&w.is);
	folder_remove(w.dir);
}

/* Interval @n: reads and writes in some 300 bins of each watch. */
static void make_interval(u32 n)
{
	snapshot_copy(&w.before, &w.now);
	w.now.mono_ns += NSEC_PER_SEC;
	w.now.wall_ns = START_NS + n * EVERY_NS;
	for (u32 i = 0; i < 4; i++) {
		struct op_counts *o = &w.now.w[i / 2].ops[i % 2];

		o->min_ns = UINT64_MAX;
		o->max_ns = 0;
		for (u32 k = 0; k < 300; k++) {
			u64 ns = 50000 + next_random(&w.seed) % (1ULL << (10 + next_random(&w.seed) % 16));

			hist_put(&o->hist, blklat_cell(ns, BLKLAT_SCALE_MAX), 1 + next_random(&w.seed) % 200);
			o->min_ns = min_u64(o->min_ns, ns);
			o->max_ns = max_u64(o->max_ns, ns);
		}
	}
	frames_between(&w.is, &w.before, &w.now, &w.run.percentiles, w.run.cpus);
	for (u32 i = 0; i < w.is.n; i++)
		w.is.f[i].number = i;
}

/* Reads @file to its end. Returns the errno that it failed with; -ENODATA is its end. */
static int read_all(const char *file, u32 *ret_intervals)
{
	const struct capture_config cfg = { .scale = -1, .replay_file = file };
	struct snapshot s;
	struct capture *c;
	int err = capture_replay.open(&cfg, &c, &p);

	*ret_intervals = 0;
	if (err)
		return err;
	assert_int_equal(snapshot_init(&s, c->n_watches, c->scale), 0);
	err = c->ops->read(c, &s, &p);
	while (!err && !(err = c->ops->read(c, &s, &p)))
		++*ret_intervals;
	snapshot_uninit(&s);
	c->ops->close(c);
	return err;
}

static u64 bytes_in(const char *folder)
{
	DIR *dir = opendir(folder);
	u64 bytes = 0;
	struct stat st;

	EXPECT(dir);
	for (struct dirent *e; (e = readdir(dir)); )
		if (!fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
			bytes += st.st_blocks * 512;
	closedir(dir);
	return bytes;
}

/* Records for ever, and reports each interval that is recorded. */
static void record_for_ever(u64 keep_ns, u64 max_bytes, int tell)
{
	struct recorder_state state = { 0 };
	const struct serve_recorder_config cfg = {
		.who = "blklat serve", .folder = w.dir, .keep_ns = keep_ns, .max_bytes = max_bytes, .state = &state,
		.origin = &w.origin,
	};
	struct archiver r;

	archiver_init(&r, &cfg, ARCHIVER_HOURS);
	EXPECT(!archiver_run(&r, &w.run));
	for (u32 n = 1;; n++) {
		make_interval(n);
		EXPECT(!archiver_add(&r, &w.is));
		EXPECT(state.last_ns == w.now.wall_ns && !state.failures);
		EXPECT(bytes_in(w.dir) <= max_bytes);
		EXPECT(write(tell, &n, sizeof(n)) == sizeof(n));
	}
}

/* Kills it when it has recorded so many intervals. Returns the last one that it has reported. */
static u32 record_until(u64 keep_ns, u64 max_bytes, u32 intervals)
{
	u32 told = 0;
	int tell[2];
	pid_t pid;

	assert_int_equal(pipe(tell), 0);
	pid = fork();
	if (!pid)
		record_for_ever(keep_ns, max_bytes, tell[1]);
	close(tell[1]);
	while (told < intervals && read(tell[0], &told, sizeof(told)) == sizeof(told))
		;
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	while (read(tell[0], &told, sizeof(told)) == sizeof(told))
		;
	close(tell[0]);
	assert_true(told >= intervals);
	return told;
}

/* The first interval of a file, whose name has the second when that began. */
static u32 first_of(const struct archive_file *file)
{
	return (file->begins_ns - START_NS + EVERY_NS - 1) / EVERY_NS;
}

/* How many a file has; 0: the recorder was killed as it began. */
static u32 read_one(const struct archive_file *file, bool last)
{
	char path[sizeof(w.dir) + ARCHIVE_NAME];
	u32 n;

	snprintf(path, sizeof(path), "%s/%s", w.dir, file->name);
	if (read_all(path, &n) != -ENODATA && !last)
		fail_msg("%s", p.text);
	return n;
}

/*
 * Each file has all until the next one, the last one all that was reported and at most one more. Returns the first
 * interval that is there as it was.
 */
static u32 check_files(u32 told)
{
	struct archive a;
	u32 first = 0;

	assert_int_equal(archive_read(&a, w.dir, &p), 0);
	for (u32 i = 0; i < a.n; i++) {
		u32 next = i + 1, begins = first_of(&a.file[i]);
		u32 n, most;

		while (next < a.n && a.file[next].begins_ns == a.file[i].begins_ns)
			next++;
		n = read_one(&a.file[i], next == a.n);
		most = next < a.n ? first_of(&a.file[next]) - begins : told + 1 - begins;
		if (a.file[i].coarse)
			assert_in_range(n, most / 10, (most + 9) / 10);
		else
			assert_in_range(n, most, most + (next == a.n));
		if (!a.file[i].coarse && !first)
			first = begins;
	}
	archive_free(&a);
	return first;
}

static u32 oldest(void)
{
	struct archive a;
	u32 first;

	assert_int_equal(archive_read(&a, w.dir, &p), 0);
	first = first_of(&a.file[0]);
	archive_free(&a);
	return first;
}

TEST(three_days_in_little_room)
{
	u32 told, first;

	srand(getpid());
	told = record_until(1000 * HOUR_NS, MAX_BYTES, THREE_DAYS - rand() % (10 * HOUR));
	first = check_files(told);
	/* It takes most of what it may, for each interval of the last hours, and for older ones in longer intervals. */
	assert_in_range(bytes_in(w.dir), MAX_BYTES / 2, MAX_BYTES);
	assert_in_range(first, told - 30 * HOUR, told - 4 * HOUR);
	assert_in_range(oldest(), 1, told - 36 * HOUR);
}

TEST(a_day_of_which_half_is_kept)
{
	u32 told;

	srand(getpid());
	told = record_until(12 * HOUR_NS, 1 << 30, 24 * HOUR - rand() % (10 * HOUR));
	assert_int_equal(check_files(told), oldest());
	assert_in_range(oldest(), told - 13 * HOUR, told - 12 * HOUR);
}
