/* SPDX-License-Identifier: GPL-2.0-only */
/* A replay script in a file of its own, opened by the replay engine. */
#ifndef TEST_REPLAYED_SCRIPT_H
#define TEST_REPLAYED_SCRIPT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <errno.h>

#include "core/capture.h"

#define START "blklat-replay 1\ndevice d\nwatch d device\n"

struct script {
	char file[32];
	struct capture *capture;
	struct problem problem;
	struct snapshot now;
};

/* The caller removes the file. */
static inline int script_open(struct script *s, const char *text, size_t len, int scale)
{
	struct capture_config cfg = { .scale = scale, .replay_file = s->file };
	int fd;

	*s = (struct script){ .file = "/tmp/blklat-replay-XXXXXX" };
	fd = mkstemp(s->file);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
	return capture_replay.open(&cfg, &s->capture, &s->problem);
}

#endif
