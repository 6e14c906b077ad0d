// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/run_capture.h"
#include "util/cleanup.h"

static void expect(struct serve_devices *s, const struct device_table *t, void (*tell)(const struct problem *why))
{
	for (u32 i = 0; i < s->wanted->n; i++) {
		const struct wanted one = { .n = 1, .devices = &s->wanted->devices[i], .stages = s->wanted->stages };
		struct watches made CLEANUP(watches_free) = { 0 };
		struct problem why;

		/* There is no device of this name, or it has no size yet. */
		if (names_many(*one.devices) || watches_make(t, &one, &made, &why) != -ENODEV)
			continue;
		tell(&why);
		s->waits[i] = s->follow = true;
		s->n_waits++;
	}
}

int serve_devices_init(struct serve_devices *s, const struct wanted *wanted, void (*tell)(const struct problem *why),
		       struct problem *p)
{
	struct device_table t CLEANUP(device_table_free) = { 0 };
	int err;

	*s = (struct serve_devices){ .wanted = wanted, .waits = calloc(wanted->n + 1, sizeof(*s->waits)) };
	if (!s->waits)
		return problem_set(p, -ENOMEM, "out of memory");
	for (u32 i = 0; i < wanted->n; i++) {
		if (!wanted->devices[i][0])
			return problem_set(p, -EINVAL, "a device's name can't be empty; 'blklat list' shows all");
		s->follow |= names_many(wanted->devices[i]);
	}
	err = tell ? device_table_read(&t, "", p) : 0;
	if (!err && tell)
		expect(s, &t, tell);
	return err;
}

void serve_devices_uninit(struct serve_devices *s)
{
	free(s->waits);
}

static bool has(const struct watch *list, u32 n, const struct watch *w)
{
	for (u32 i = 0; i < n; i++)
		if (list[i].device == w->device && list[i].stage == w->stage)
			return true;
	return false;
}

/*
 * Whether the error means that there is nothing to watch, or that the device can't be identified or watched as wanted.
 */
static bool absent(int err)
{
	return err == -ENOENT || err == -ENODEV || err == -ENOTBLK;
}

/* Pairs of device and stage. */
struct found {
	struct watch *list;
	u32 n;
};

/* Adds the devices that @name stands for. */
static int add(struct found *f, const struct serve_devices *s, const struct device_table *t, const char *name,
	       struct problem *p)
{
	const struct wanted one = { .n = 1, .devices = &name, .stages = s->wanted->stages };
	struct watches CLEANUP(watches_free) made = { 0 };
	int err = watches_make(t, &one, &made, p);

	for (u32 i = 0; !err && i < made.n; i++)
		if (!has(f->list, f->n, &made.w[i])) {
			made.w[i].matched |= s->begun;
			f->list[f->n++] = made.w[i];
		}
	return err;
}

/* The same device by device, so that one that fails does not hide the others. */
static int add_each(struct found *f, const struct serve_devices *s, const struct device_table *t, const char *name,
		    struct problem *p)
{
	u32 *set CLEANUP(cleanup_free) = calloc(t->n + 1, sizeof(*set));
	u32 n = 0;
	int err = set ? device_find(t, name, set, &n, p) : -ENOMEM;

	for (u32 i = 0; !err && i < n; i++) {
		err = add(f, s, t, t->d[set[i]].name, p);
		if (absent(err) || err == -EINVAL)
			err = 0;
	}
	return err;
}

int serve_devices_find(struct serve_devices *s, const struct device_table *t, struct watch **ret, u32 *ret_n,
		       struct problem *p)
{
	struct watch *list CLEANUP(cleanup_free) = calloc(t->n + 1, BLKLAT_STAGES * sizeof(*list));
	struct found found = { .list = list };
	struct watches made = { 0 };
	int err;

	if (!list)
		return problem_set(p, -ENOMEM, "out of memory");
	for (u32 i = 0; i < s->wanted->n; i++) {
		const char *name = s->wanted->devices[i];

		err = s->begun ? add_each(&found, s, t, name, p) : add(&found, s, t, name, p);
		if (!err && s->waits[i]) {
			s->waits[i] = false;
			s->n_waits--;
		}
		if (err && !(absent(err) && (s->begun || s->waits[i] || names_many(name))))
			return err;
	}
	s->begun = true;
	err = watches_of(found.list, found.n, s->wanted, &made, p);
	*ret = made.w;
	*ret_n = made.n;
	return err;
}

void serve_devices_status(const struct serve_devices *s, char *ret, size_t size)
{
	bool all = s->wanted->n && s->n_waits == s->wanted->n;
	size_t len = all ? 0 : snprintf(ret, size, "Watching");
	const char *before = all ? "Waiting for " : ", waiting for ";

	for (u32 i = 0; i < s->wanted->n && len < size; i++) {
		if (!s->waits[i])
			continue;
		len += snprintf(ret + len, size - len, "%s%s", before, s->wanted->devices[i]);
		before = ", ";
	}
}

int serve_devices_exit(const struct capture_ops *engine, int err)
{
	if (err == -ENOTBLK)
		return STATUS_USAGE;
	return err == -E2BIG ? STATUS_FAILED : run_capture_status_of(engine, err);
}
