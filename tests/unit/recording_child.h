/* SPDX-License-Identifier: GPL-2.0-only */
/* Recordings that a child process writes, marks or reads: the test kills it, or takes its rights away. */
#ifndef TEST_RECORDING_CHILD_H
#define TEST_RECORDING_CHILD_H

#include "recording_feed.h"

#include <sys/wait.h>

/* For a child process, whose exit status is the result: 0 if all is as expected, else a line. */
#define EXPECT(what) do { if (!(what)) _exit(__LINE__ % 256); } while (0)

static inline void must_be(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("a child failed: status %x, line modulo 256: %d", status, WEXITSTATUS(status));
}

/* Counts the intervals of a recording; @last gets the last snapshot, with the counts of all intervals added up. */
static inline u32 count_intervals(const char *file, struct snapshot *last)
{
	struct capture *c = replay(file, -1);
	struct problem p = { "" };
	u32 n = 0;
	int err;

	snapshot_uninit(last);
	assert_int_equal(snapshot_init(last, c->n_watches, c->scale), 0);
	err = read_summed(c, last, &p);
	assert_int_equal(err, 0);
	while (!(err = read_summed(c, last, &p)))
		n++;
	if (err != -ENODATA)
		fail_msg("%s", p.text);
	c->ops->close(c);
	return n;
}

#endif
