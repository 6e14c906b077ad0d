// SPDX-License-Identifier: GPL-2.0-only
/* Days of a service's recorder, until it is killed: the bounds are kept, and no interval is missing. */
#include "recording_feed.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "cmd/serve_recorder.h"

#define HOUR_NS (3600 * (s64)NSEC_PER_SEC)
#define HOUR 20			/* intervals of a second, one in three minutes */
#define EVERY_NS (HOUR_NS / HOUR)
#define THREE_DAYS (72 * HOUR)
#define MAX_BYTES (8u << 20)

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
		.who = "blklat serve", .folder = at.dir, .keep_ns = keep_ns, .max_bytes = max_bytes, .state = &state,
		.origin = &recording_origin,
	};
	struct archiver r;

	archiver_init(&r, &cfg, ARCHIVER_HOURS);
	EXPECT(!archiver_run(&r, &f.info));
	for (u32 n = 1;; n++) {
		feed_make();
		f.now.wall_ns = f.origin.start_wall_ns + n * EVERY_NS;
		for (u32 i = 0; i < f.is.n; i++)
			f.is.f[i].number = i;
		EXPECT(!archiver_add(&r, &f.is));
		EXPECT(state.last_ns == f.now.wall_ns && !state.failures);
		EXPECT(bytes_in(at.dir) <= max_bytes);
		EXPECT(write(tell, &n, sizeof(n)) == sizeof(n));
	}
}

/* Kills it when it has recorded so many intervals. Returns the last one that it has reported. */
static u32 record_until(u64 keep_ns, u64 max_bytes, u32 intervals)
{
	u32 told = 0;
	int tell[2];
	pid_t pid;

	feed_begin(2);
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
	return (file->begins_ns - f.origin.start_wall_ns + EVERY_NS - 1) / EVERY_NS;
}

/* How many a file has; 0: the recorder was killed as it began. */
static u32 read_one(const struct archive_file *file, bool last)
{
	char path[sizeof(at.dir) + ARCHIVE_NAME];
	u32 n;

	snprintf(path, sizeof(path), "%s/%s", at.dir, file->name);
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

	assert_int_equal(archive_read(&a, at.dir, &p), 0);
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

	assert_int_equal(archive_read(&a, at.dir, &p), 0);
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
	assert_in_range(bytes_in(at.dir), MAX_BYTES / 2, MAX_BYTES);
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
