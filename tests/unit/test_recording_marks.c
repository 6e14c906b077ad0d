// SPDX-License-Identifier: GPL-2.0-only
/* Marks that another process sets while the recording goes on. */
#include "recording_child.h"

#include "recording/marks.h"
#include "util/clock.h"

/* By another process, as 'blklat mark' does it: the locks under test are those between processes. */
TEST(marks_are_noted)
{
	s64 wall = clock_ns(CLOCK_REALTIME), mono = clock_ns(CLOCK_MONOTONIC);
	struct capture *c;
	struct place at;
	struct feed f;
	pid_t pid;

	place_make(&at);
	feed_init(&f, 1, 6);
	assert_int_equal(feed_open(&f, at.file, 0), 0);
	for (u32 n = 0; n < 3; n++) {
		feed_make(&f);
		assert_int_equal(feed_write(&f), 0);
		pid = fork();
		if (!pid) {
			struct problem p;

			EXPECT(!recording_mark(at.file, n == 1 ? "  QD \033[1m16\xff starts \n" : "QD 8 starts", &p));
			_exit(0);
		}
		must_be(pid);
	}
	f.sink->ops->close(f.sink);
	c = replay(at.file, -1);
	assert_int_equal(c->origin->n_marks, 3);
	assert_string_equal(c->origin->marks[0].text, "QD 8 starts");
	assert_string_equal(c->origin->marks[1].text, "QD ?[1m16? starts");
	for (u32 i = 0; i < 3; i++) {
		const struct mark *m = &c->origin->marks[i];

		assert_in_range(m->mono_ns, mono, clock_ns(CLOCK_MONOTONIC));
		assert_in_range(m->wall_ns, wall, clock_ns(CLOCK_REALTIME));
		mono = m->mono_ns;
		wall = m->wall_ns;
	}
	c->ops->close(c);
	feed_uninit(&f);
	place_remove(&at);
}

TEST(marks_that_cannot_be)
{
	char *longest CLEANUP(cleanup_free) = calloc(1, 2000);
	struct problem p;
	struct place at;
	struct feed f;

	place_make(&at);
	feed_init(&f, 1, 6);
	assert_int_equal(recording_mark(at.file, "x", &p), -ENOENT);
	assert_int_equal(feed_open(&f, at.file, 0), 0);
	memset(longest, 'x', 1025);
	assert_int_equal(recording_mark(at.file, longest, &p), -EINVAL);
	assert_int_equal(recording_mark(at.file, " \t", &p), -EINVAL);
	assert_string_equal(p.text, "a mark needs a text");
	feed_make(&f);
	assert_int_equal(feed_write(&f), 0);
	f.sink->ops->close(f.sink);
	assert_int_equal(recording_mark(at.file, "x", &p), -ENXIO);
	assert_non_null(strstr(p.text, "is not being recorded"));
	place_script(&at, "SQLite format 4");
	assert_int_equal(recording_mark(at.script, "x", &p), -EBADMSG);
	assert_int_equal(recording_mark(at.dir, "x", &p), -EBADMSG);
	feed_uninit(&f);
	place_remove(&at);
}
