// SPDX-License-Identifier: GPL-2.0-only
/* The replay engine: snapshots from a file instead of a kernel. */
#include "recording/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "recording/schema.h"
#include "util/cleanup.h"
#include "util/process.h"

#define SCRIPT_MAGIC "blklat-replay"

static int no_recording(const char *file, ssize_t len, struct problem *p)
{
	return problem_set(p, -EBADMSG, "%s: is not a recording%s, nor a replay script, whose first line is "
			   "'blklat-replay 1'", file, len ? "" : " (it is empty)");
}

static int choose_source(const char *file, const struct replay_source **ret, struct problem *p)
{
	int fd CLEANUP(cleanup_close) = -1;
	char head[sizeof(RECORDING_MAGIC)];
	struct stat st;
	ssize_t len;

	*ret = &replay_script_source;
	/*
	 * Reading from a pipe would consume its beginning, so it is not opened here: it can only be a
	 * script.
	 */
	if (!stat(file, &st) && !S_ISREG(st.st_mode))
		return 0;
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return problem_set(p, -errno, "%s: can't be opened: %s", file, strerror(errno));
	len = pread(fd, head, sizeof(head), 0);
	if (len < 0)
		return problem_set(p, -errno, "%s: can't be read: %s", file, strerror(errno));
	if (len == sizeof(head) && !memcmp(head, RECORDING_MAGIC, sizeof(head)))
		*ret = &replay_recording_source;
	else if (len < (ssize_t)strlen(SCRIPT_MAGIC) || memcmp(head, SCRIPT_MAGIC, strlen(SCRIPT_MAGIC)))
		return no_recording(file, len, p);
	return 0;
}

static int replay_open(const struct capture_config *cfg, struct capture **ret, struct problem *p)
{
	const struct replay_source *source;
	struct replay *r;
	int err = choose_source(cfg->replay_file, &source, p);

	if (!err)
		err = source->open(cfg, &r, p);
	if (err)
		return err;
	r->source = source;
	r->capture.ops = &capture_replay;
	*ret = &r->capture;
	return 0;
}

static int replay_read(struct capture *c, struct snapshot *s, struct problem *p)
{
	struct replay *r = (struct replay *)c;

	return r->source->read(r, s, p);
}

static void replay_close(struct capture *c)
{
	struct replay *r = (struct replay *)c;

	if (r)
		r->source->close(r);
}

int replay_scale(const struct capture_config *cfg, u32 captured, struct problem *p)
{
	if (cfg->scale > (int)captured)
		return problem_set(p, -EINVAL, "%s: was captured at scale %u, so a finer one such as %d is not "
				   "possible", cfg->replay_file, captured, cfg->scale);
	return cfg->scale < 0 ? (int)captured : cfg->scale;
}

int replay_fits(const struct capture_config *cfg, u32 n_watches, u32 scale, struct problem *p)
{
	u64 limit = cfg->max_memory ?: limits_memory(), bytes = snapshot_run_bytes(n_watches, scale);

	if (bytes <= limit)
		return 0;
	return problem_set(p, -E2BIG, "%s: the counts of its %u watches need %lluK of memory at scale %u and may take %lluK: "
			   "raise --max-memory", cfg->replay_file, n_watches, (bytes + 1023) / 1024, scale, limit / 1024);
}

static void op_begin(struct op_counts *o)
{
	o->ios_before = op_counts_ios(o);
	o->sum_ns = o->bytes = o->errors = o->after_idle_sum_ns = 0;
	o->min_ns = UINT64_MAX;
	o->max_ns = 0;
	hist_clear(&o->hist);
	hist_clear(&o->after_idle);
}

void replay_begin_interval(struct snapshot *s)
{
	s->replayed = true;
	for (u32 i = 0; i < s->n; i++)
		for (u32 op = 0; op < BLKLAT_OPS; op++)
			op_begin(&s->w[i].ops[op]);
}

const struct capture_ops capture_replay = {
	.name = "replay",
	.open = replay_open,
	.read = replay_read,
	.close = replay_close,
};
