// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/serve_devices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

static bool is_pattern(const char *name)
{
	return !strcmp(name, "all") || strpbrk(name, "*?[");
}

void serve_devices_init(struct serve_devices *s, const struct wanted *wanted)
{
	*s = (struct serve_devices){ .wanted = wanted };
	for (u32 i = 0; i < wanted->n; i++)
		s->follow |= is_pattern(wanted->devices[i]);
}

static bool has(const struct watch *list, u32 n, const struct watch *w)
{
	for (u32 i = 0; i < n; i++)
		if (list[i].device == w->device && list[i].stage == w->stage)
			return true;
	return false;
}

/* Nothing there to watch, or it can't be told or watched as wanted. */
static bool absent(int err)
{
	return err == -ENOENT || err == -ENODEV || err == -ENOTBLK;
}

struct found {
	struct watch *list;
	u32 n;
};

/* Adds what @name stands for. */
static int add(struct found *f, const struct serve_devices *s, const struct device_table *t, const char *name,
	       struct problem *p)
{
	const struct wanted one = { .n = 1, .devices = &name, .stages = s->wanted->stages };
	struct watches CLEANUP(watches_free) made = { 0 };
	int err = watches_make(t, &one, &made, p);

	for (u32 i = 0; !err && i < made.n; i++)
		if (!has(f->list, f->n, &made.w[i]))
			f->list[f->n++] = made.w[i];
	return err;
}

/* The same device by device, so that none is missed for another's sake. */
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

	if (!list)
		return problem_set(p, -ENOMEM, "out of memory");
	for (u32 i = 0; i < s->wanted->n; i++) {
		const char *name = s->wanted->devices[i];
		int err = s->begun ? add_each(&found, s, t, name, p) : add(&found, s, t, name, p);

		if (err && !(absent(err) && (s->begun || is_pattern(name))))
			return err;
	}
	s->begun = true;
	*ret = TAKE(list);
	*ret_n = found.n;
	return 0;
}

bool serve_devices_fault(int err)
{
	return absent(err);
}
