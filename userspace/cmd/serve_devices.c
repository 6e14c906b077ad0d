// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/run_capture.h"
#include "util/cleanup.h"

/* Whether there is something to watch for name @i; else returns the error and a sentence. */
static int look_for(const struct serve_devices *s, const struct device_table *t, u32 i, struct problem *why)
{
	const struct wanted one = { .n = 1, .devices = &s->wanted->devices[i], .stages = s->wanted->stages };
	struct watches made CLEANUP(watches_free) = { 0 };

	return watches_make(t, &one, &made, why);
}

static void expect(struct serve_devices *s, const struct device_table *t)
{
	for (u32 i = 0; i < s->wanted->n; i++) {
		struct problem why;

		/* There is no device of this name, or it has no size yet. */
		if (s->optional[i] || look_for(s, t, i, &why) != -ENODEV)
			continue;
		fprintf(stderr, "blklat: waiting: %s\n", why.text);
		s->optional[i] = s->waits[i] = s->follow = true;
		s->n_waits++;
	}
}

int serve_devices_init(struct serve_devices *s, const struct wanted *wanted, bool replay, struct problem *p)
{
	struct device_table t CLEANUP(device_table_free) = { 0 };
	u32 n = wanted->n + 1;
	int err;

	*s = (struct serve_devices){
		.wanted = wanted, .waits = calloc(n, sizeof(*s->waits)), .optional = calloc(n, sizeof(*s->optional)),
	};
	if (!s->waits || !s->optional)
		return problem_set(p, -ENOMEM, "out of memory");
	for (u32 i = 0; i < wanted->n; i++) {
		if (!wanted->devices[i][0])
			return problem_set(p, -EINVAL, "a device's name can't be empty; 'blklat list' shows all");
		s->optional[i] = names_many(wanted->devices[i]);
		s->follow |= s->optional[i];
	}
	err = replay ? 0 : device_table_read(&t, "", p);
	if (!err && !replay)
		expect(s, &t);
	return err;
}

void serve_devices_uninit(struct serve_devices *s)
{
	free(s->waits);
	free(s->optional);
}

int serve_devices_find(struct serve_devices *s, const struct device_table *t, struct watch **ret, u32 *ret_n,
		       struct problem *p)
{
	struct wanted wanted = *s->wanted;
	struct watches made = { 0 };
	struct problem why;
	int err;

	wanted.lenient = s->begun;
	wanted.optional = s->optional;
	err = watches_make(t, &wanted, &made, p);
	if (err)
		return err;
	for (u32 i = 0; i < wanted.n; i++) {
		if (!s->waits[i] || look_for(s, t, i, &why))
			continue;
		s->waits[i] = false;
		s->n_waits--;
	}
	s->begun = true;
	*ret = made.w;
	*ret_n = made.n;
	return 0;
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
