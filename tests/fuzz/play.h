/* SPDX-License-Identifier: GPL-2.0-only */
/* Plays a file's bytes to the end, as 'blklat live --replay' does, but prints nothing. */
#ifndef FUZZ_PLAY_H
#define FUZZ_PLAY_H

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/capture.h"
#include "core/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static inline void check(bool holds)
{
	if (!holds)
		abort();
}

/* The figures of an interval are in range, whatever it was made of. */
static inline void check_frame(const struct frame *f, const struct percentiles *ps)
{
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		const struct op_frame *o = &f->ops[op];

		if (!o->ios)
			continue;
		check(o->min_ns <= o->max_ns && isfinite(o->mean_ns) && isfinite(o->iops));
		for (u32 i = 0; i < ps->n; i++)
			check(o->percentile_ns[i] >= o->min_ns && o->percentile_ns[i] <= o->max_ns);
	}
}

/* A whole is the sum of its parts. */
static inline void check_parts(const struct frames *fs, u32 i)
{
	for (u32 op = 0; op < BLKLAT_OPS && frames_parts(fs, i); op++) {
		struct op_sums sums = { 0 };
		u64 ios = 0;

		for (u32 p = i + 1; p <= i + frames_parts(fs, i); p++) {
			const struct op_frame *o = &fs->f[p].ops[op];

			ios += o->ios;
			sums.bytes += o->counted.bytes;
			sums.errors += o->counted.errors;
			sums.sum_ns += o->counted.sum_ns;
		}
		check(ios == fs->f[i].ops[op].ios && !memcmp(&sums, &fs->f[i].ops[op].counted, sizeof(sums)));
	}
}

static inline void play_intervals(struct capture *c)
{
	const struct percentiles *ps = &percentiles_default;
	struct snapshot s[2];
	struct frames is, run;
	struct problem p = { "" };
	int err;

	if (c->n_watches > 20)
		return;		/* more of the same, only slower */
	check(!snapshot_init(&s[0], c->n_watches, c->scale) && !snapshot_init(&s[1], c->n_watches, c->scale));
	check(!frames_init(&is, c->watches, c->n_watches, c->scale));
	check(!frames_init(&run, c->watches, c->n_watches, c->scale));
	err = c->ops->read(c, &s[0], &p);
	for (u32 n = 0; !err && n < 64; n++) {
		err = c->ops->read(c, &s[(n + 1) % 2], &p);
		if (err)
			break;
		frames_between(&is, &s[n % 2], &s[(n + 1) % 2], ps, c->cpus);
		frames_accumulate(&run, &is, ps);
		for (u32 i = 0; i < is.n; i++) {
			check_frame(&is.f[i], ps);
			check_frame(&run.f[i], ps);
			if (!is.f[i].watch->part)
				check_parts(&is, i);
		}
	}
	check(!err || p.text[0]);
	check(!err || err == -ENODATA || err == -EBADMSG || err == -ENOMEM || err == -EIO);
	snapshot_uninit(&s[0]);
	snapshot_uninit(&s[1]);
	frames_uninit(&is);
	frames_uninit(&run);
}

/* A file in memory, one per process. */
static inline const char *file_of(const uint8_t *data, size_t len)
{
	static char file[64];
	FILE *f;

	if (!file[0])
		snprintf(file, sizeof(file), "%s/blklat-fuzz-%d", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", getpid());
	f = fopen(file, "we");
	check(f && fwrite(data, 1, len, f) == len && !fclose(f));
	return file;
}

static inline void play_bytes(const uint8_t *data, size_t len)
{
	const struct capture_config cfg = { .scale = -1, .replay_file = file_of(data, len) };
	struct capture *c = NULL;
	struct problem p = { "" };
	int err = capture_replay.open(&cfg, &c, &p);

	check(err ? p.text[0] && !strchr(p.text, '\n') : !!c);
	if (!err) {
		play_intervals(c);
		c->ops->close(c);
	}
	unlink(cfg.replay_file);
}

#endif
