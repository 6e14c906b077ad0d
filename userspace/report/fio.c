// SPDX-License-Identifier: GPL-2.0-only
#include "report/fio.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/cleanup.h"
#include "util/json.h"

#define FILE_MAX (64 << 20)
#define HEAD_BYTES 4096		/* of a file, with messages of fio before the object */
#define NUMBER_MAX 1e15		/* 12 days in ns; more is not believed */
#define DEVICE "fio"		/* where it does not say which one */

bool fio_is(const char *file)
{
	struct stat st;
	FILE *f CLEANUP(cleanup_fclose) = !stat(file, &st) && S_ISREG(st.st_mode) ? fopen(file, "re") : NULL;
	char head[HEAD_BYTES + 1] = "";

	if (f)
		head[fread(head, 1, HEAD_BYTES, f)] = '\0';
	return strstr(head, "\"fio version\"");
}

static struct json_object *read_object(const char *file, struct problem *p)
{
	FILE *f CLEANUP(cleanup_fclose) = fopen(file, "re");
	char *text CLEANUP(cleanup_free) = NULL, *begin;
	struct json_object *o;
	struct stat st;
	size_t size = 0;

	if (!f || fstat(fileno(f), &st) || (st.st_size <= FILE_MAX && getdelim(&text, &size, '\0', f) < 0)) {
		problem_set(p, 0, "%s: can't be read: %s", file, strerror(errno));
		return NULL;
	}
	begin = text ? strchr(text, '{') : NULL;
	o = begin ? json_tokener_parse(begin) : NULL;
	if (!o)
		problem_set(p, 0, "%s: is no valid output of fio --output-format=json+", file);
	return o;
}

static struct json_object *member(struct json_object *o, const char *key)
{
	struct json_object *value = NULL;

	return json_object_object_get_ex(o, key, &value) ? value : NULL;
}

static double number(struct json_object *o, const char *key)
{
	double value = json_object_get_double(member(o, key));

	return value > 0 && value < NUMBER_MAX ? value : 0;
}

/* Adds what a job did of an op, with its latencies if it has bins of them. Returns whether it has. */
static bool add_bins(struct op_frame *o, struct json_object *latencies)
{
	struct json_object *bins = member(latencies, "bins");
	u64 ios = 0, min_ns = number(latencies, "min"), max_ns = number(latencies, "max");

	if (!json_object_is_type(bins, json_type_object))
		return false;
	json_object_object_foreach(bins, ns, n) {
		s64 count = json_object_get_int64(n);

		if (count > 0 && count < NUMBER_MAX) {
			hist_put(&o->hist, blklat_cell(strtoull(ns, NULL, 10), o->hist.scale), count);
			ios += count;
		}
	}
	if (!ios)
		return false;
	o->min_ns = !o->ios || min_ns < o->min_ns ? min_ns : o->min_ns;
	o->max_ns = max_ns > o->max_ns ? max_ns : o->max_ns;
	o->sum_ns += llround(number(latencies, "mean") * ios);
	o->ios += ios;
	return true;
}

static int add_job(struct frame *f, struct json_object *job, const char *file, struct problem *p)
{
	static const struct {
		const char *name;
		u32 op;
	} ops[] = { { "read", BLKLAT_OP_READ }, { "write", BLKLAT_OP_WRITE }, { "trim", BLKLAT_OP_DISCARD } };

	for (u32 i = 0; i < ARRAY_SIZE(ops); i++) {
		struct json_object *did = member(job, ops[i].name);

		if (!number(did, "total_ios"))
			continue;
		if (!add_bins(&f->ops[ops[i].op], member(did, "clat_ns")) && !add_bins(&f->ops[ops[i].op], member(did, "lat_ns")))
			return problem_set(p, -EINVAL, "%s: has no bins of latencies: run fio with --output-format=json+", file);
		f->ops[ops[i].op].bytes += number(did, "io_bytes");
		f->interval_s = fmax(f->interval_s, number(did, "runtime") / 1000);
	}
	return 0;
}

static int add_jobs(struct frame *f, struct json_object *jobs, const char *file, struct problem *p)
{
	size_t n = json_object_is_type(jobs, json_type_array) ? json_object_array_length(jobs) : 0;
	int err = 0;

	for (size_t i = 0; !err && i < n; i++)
		err = add_job(f, json_object_array_get_idx(jobs, i), file, p);
	if (!err && (!frame_has_ios(f) || !f->interval_s))
		err = problem_set(p, -ENODATA, "%s: has no IOs of fio", file);
	for (u32 op = 0; op < BLKLAT_OPS; op++) {
		f->accounting.completed += f->ops[op].ios;
		f->queue_depth += f->ops[op].sum_ns / 1e9 / f->interval_s;
	}
	f->accounting.started = f->accounting.completed;
	return err;
}

/* The only disk whose statistics are there, without those below it. */
static void name_device(struct device *d, struct json_object *disks)
{
	const char *name = NULL;

	if (json_object_is_type(disks, json_type_array) && json_object_array_length(disks) == 1)
		name = json_object_get_string(member(json_object_array_get_idx(disks, 0), "name"));
	snprintf(d->name, sizeof(d->name), "%s", name ?: DEVICE);
}

static int collect(const struct frames *interval, const struct run_info *info, struct run *ret)
{
	const struct collect_how how = { 0 };
	struct sink *sink = NULL;
	int err = collect_open(info, &how, ret, &sink);

	err = err ?: sink->ops->interval(sink, interval) ?: sink->ops->summary(sink, NULL);
	sink_close(sink);
	return err;
}

int fio_load(const char *file, struct run *ret, struct problem *p)
{
	CLEANUP(cleanup_json) struct json_object *o = read_object(file, p);
	CLEANUP(frames_uninit) struct frames frames = { 0 };
	struct device device = { .kind = "disk" };
	const struct device_table devices = { .n = 1, .d = &device };
	const struct watch watch = { .device = &device, .stage = BLKLAT_STAGE_DEVICE };
	struct origin origin = { .file = (char *)file, .finished = true };
	struct run_info info = {
		.engine = DEVICE, .watches = &watch, .n_watches = 1, .devices = &devices, .origin = &origin, .scale = BLKLAT_SCALE_MAX,
	};
	int err;

	if (!o)
		return -EINVAL;
	if (frames_init(&frames, &watch, 1, info.scale))
		return problem_set(p, -ENOMEM, "out of memory");
	name_device(&device, member(o, "disk_util"));
	err = add_jobs(frames.f, member(o, "jobs"), file, p);
	if (err)
		return err;
	origin.start_wall_ns = llround(number(o, "timestamp_ms") * 1e6 - frames.f->interval_s * 1e9);
	info.interval_s = frames.interval_s = frames.f->interval_s;
	return collect(&frames, &info, ret) ? problem_set(p, -ENOMEM, "out of memory") : 0;
}
