// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/watches.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blklat/parts.h"
#include "core/cgroup.h"
#include "util/array.h"
#include "util/cleanup.h"
#include "util/parse.h"

#define LAYERS_MAX 16
#define MAX_PARTS 64	/* unless --max-parts says otherwise */

void stages_text(u32 stages, char *ret, size_t size)
{
	size_t used = 0;

	ret[0] = '\0';
	for (u32 s = 0; s < BLKLAT_STAGES && used < size; s++)
		if (stages >> s & 1)
			used += snprintf(ret + used, size - used, "%s%s", used ? "," : "", stage_names[s]);
}

int wanted_take_by(void *wanted, const char *value, struct problem *p)
{
	struct wanted *w = wanted;
	u32 chosen;
	int err = parse_name("--by", value, by_names + 1, BLKLAT_BYS - 1, &chosen, p);

	if (!err)
		w->by = chosen + 1;	/* the first is nothing */
	return err;
}

int wanted_take_max_parts(void *wanted, const char *value, struct problem *p)
{
	struct wanted *w = wanted;
	u64 n;
	int err = parse_count("--max-parts", value, &n, p);

	if (err)
		return err;
	if (n > BLKLAT_CGROUPS_MAX)
		return problem_set(p, -EINVAL, "--max-parts '%s': must be at most %d", value, BLKLAT_CGROUPS_MAX);
	w->max_parts = n;
	return 0;
}

int wanted_check(const struct wanted *w, struct problem *p)
{
	if (!w->max_parts || blklat_has_owners(w->by))
		return 0;
	return problem_set(p, -EINVAL, "--max-parts is only for --by cgroup and --by process, as all other divisions are "
		"fixed: leave it out");
}

void wanted_tell_uncharged(const struct wanted *w, const char *root)
{
	char file[PATH_MAX];

	if (w->by != BLKLAT_BY_CGROUP || cgroups_charged(root, file, sizeof(file)))
		return;
	fprintf(stderr, "blklat: IO is not charged to cgroups below the root, so all of it will be under '/': write "
		"+io to %s, and to the same file of each cgroup whose children are to be shown separately\n", file);
}

u32 wanted_cgroups(const struct wanted *w)
{
	if (!blklat_has_owners(w->by))
		return 0;
	return w->max_parts ? w->max_parts : MAX_PARTS;
}

static u32 default_stage(const struct device *d)
{
	bool requests = d->stages >> BLKLAT_STAGE_DEVICE & 1;

	return 1u << (requests ? BLKLAT_STAGE_DEVICE : BLKLAT_STAGE_TOTAL);
}

static int check_stages(const struct device *d, u32 stages, struct problem *p)
{
	char lacks[64], has[64];

	/* A request refers to its partition only for the partition's statistics. */
	if (device_is_partition(d) && !d->iostats && stages & ~(1u << BLKLAT_STAGE_TOTAL | 1u << BLKLAT_STAGE_WAIT))
		return problem_set(p, -EINVAL, "IOs of '%s' can't be told apart from those of its disk while the disk's "
				   "queue/iostats is 0: write 1 to it, or use --stage total", d->name);
	if (!(stages & ~d->stages))
		return 0;
	stages_text(stages & ~d->stages, lacks, sizeof(lacks));
	stages_text(d->stages, has, sizeof(has));
	return problem_set(p, -EINVAL, "--stage '%s': not available on '%s', which has %s%s", lacks, d->name,
			   has, d->hw_queues ? "" : " (it passes bios on and has no requests of its own)");
}

/* Adds the devices that @name stands for to the set, except those without a size, on which nothing can happen. */
static int add_devices(const struct device_table *t, const char *name, u32 *set, u32 *n, struct problem *p)
{
	u32 found = *n, kept = *n;
	int err = device_find(t, name, set, &found, p);

	if (err)
		return err;
	for (u32 i = *n; i < found; i++)
		if (t->d[set[i]].size_bytes)
			set[kept++] = set[i];
	if (kept == *n && found > *n)
		return problem_set(p, -ENODEV, "'%s' has no size: attach or configure it first", name);
	*n = kept;
	return 0;
}

/* The same for name @i of @wanted. */
static int add_wanted(const struct device_table *t, const struct wanted *wanted, u32 i, u32 *set, u32 *n,
		      struct problem *p)
{
	int err = add_devices(t, wanted->devices[i], set, n, p);
	bool absent = err == -ENOENT || err == -ENODEV || err == -ENOTBLK;

	return absent && (wanted->lenient || (wanted->optional && wanted->optional[i])) ? 0 : err;
}

int watches_of(const struct watch *wholes, u32 n, const struct wanted *wanted, struct watches *ret, struct problem *p)
{
	bool by = wanted->by;
	u32 each;

	if (watches_divide(wholes, n, wanted->by, wanted_cgroups(wanted), &ret->w, &ret->n))
		return problem_set(p, -ENOMEM, "out of memory");
	if (ret->n <= BLKLAT_MAX_WATCHES)
		return 0;
	each = ret->n / n;
	watches_free(ret);
	return problem_set(p, -E2BIG, "%u pairs of device and stage%s are too many: at most %u can be watched: watch fewer devices%s", n,
			   by ? ", each with its parts," : "", BLKLAT_MAX_WATCHES / each, wanted_cgroups(wanted) ? ", or lower --max-parts" :
			   by ? ", or leave --by out" : "");
}

/*
 * Marks as @member the nearest named devices below @device. A partition that is not named stands for
 * its disk. The depth is limited, as a device may lie on itself.
 */
static void find_members(const struct device_table *t, u32 device, const bool *named, bool *member, u32 depth)
{
	const struct device *d = &t->d[device];

	for (u32 i = 0; i < d->n_lower && depth; i++) {
		u32 lower = d->lower[i];

		if (!named[lower])
			lower = t->d[lower].parent;
		if (named[lower])
			member[lower] = true;
		else
			find_members(t, d->lower[i], named, member, depth - 1);
	}
}

static bool is_all(const char *name)
{
	return !strcmp(name, "all") || !strcmp(name, "*");
}

bool names_many(const char *name)
{
	return !strcmp(name, "all") || strpbrk(name, "*?[");
}

bool wanted_many(const struct wanted *w)
{
	for (u32 i = 0; i < w->n; i++)
		if (names_many(w->devices[i]))
			return true;
	return false;
}

/* Fills @member, an element for each device: whether it is below an array that is named, too. */
static int mark_members(const struct device_table *t, const struct wanted *wanted, bool *member, struct problem *p)
{
	CLEANUP(cleanup_free) u32 *set = calloc(t->n + 1, sizeof(*set));
	CLEANUP(cleanup_free) bool *named = calloc(t->n + 1, sizeof(*named));
	u32 n = 0;
	int err = set && named ? 0 : problem_set(p, -ENOMEM, "out of memory");

	for (u32 i = 0; i < wanted->n && !err; i++)
		if (!is_all(wanted->devices[i]))
			err = add_wanted(t, wanted, i, set, &n, p);
	for (u32 i = 0; i < n && !err; i++)
		named[set[i]] = true;
	for (u32 i = 0; i < n && !err; i++)
		if (!t->d[set[i]].hw_queues)
			find_members(t, set[i], named, member, LAYERS_MAX);
	return err;
}

int wanted_add(struct wanted *w, const char *value)
{
	bool one = strchr(value, '/') && !access(value, F_OK);
	size_t len;

	do {
		len = one ? strlen(value) : strcspn(value, ",");
		if (array_grow(&w->devices, sizeof(*w->devices), w->n + 1))
			return -ENOMEM;
		w->devices[w->n] = strndup(value, len);
		if (!w->devices[w->n])
			return -ENOMEM;
		w->n++;
		value += len;
	} while (*value++);
	return 0;
}

void wanted_uninit(struct wanted *w)
{
	while (w->n)
		free((char *)w->devices[--w->n]);
	free(w->devices);
	w->devices = NULL;
}

bool means_devices(const char *word)
{
	static const char *const folders[] = { "/sys/class/block", "/dev/mapper" };
	char path[128];

	if (strchr(word, '/') || names_many(word))
		return true;
	for (u32 i = 0; *word && i < ARRAY_SIZE(folders); i++)
		if (snprintf(path, sizeof(path), "%s/%.*s", folders[i], (int)strcspn(word, ","), word) < (int)sizeof(path) && !access(path, F_OK))
			return true;
	return false;
}

int watches_make(const struct device_table *t, const struct wanted *wanted, struct watches *ret, struct problem *p)
{
	CLEANUP(cleanup_free) u32 *set = calloc(t->n + 1, sizeof(*set));
	CLEANUP(cleanup_free) struct watch *w = calloc(t->n + 1, BLKLAT_STAGES * sizeof(*w));
	CLEANUP(cleanup_free) bool *member = calloc(t->n + 1, sizeof(*member));
	CLEANUP(cleanup_free) bool *matched = calloc(t->n + 1, sizeof(*matched));
	u32 n_set = 0, n = 0;
	bool assumed = false;
	int err = 0;

	if (!set || !w || !member || !matched)
		return problem_set(p, -ENOMEM, "out of memory");
	for (u32 i = 0; i < wanted->n && !err; i++) {
		u32 before = n_set;

		err = add_wanted(t, wanted, i, set, &n_set, p);
		for (; before < n_set; before++)
			matched[set[before]] = wanted->lenient || names_many(wanted->devices[i]);
	}
	if (!err && wanted->members_at_total && !wanted->stages)
		err = mark_members(t, wanted, member, p);
	for (u32 i = 0; i < n_set && !err; i++) {
		const struct device *d = &t->d[set[i]];
		u32 stages = wanted->stages ? wanted->stages : default_stage(d);

		if (stages >> BLKLAT_STAGE_WAIT & 1)
			stages |= 1u << BLKLAT_STAGE_TOTAL;
		if (member[set[i]] && !(device_is_partition(d) && wanted->partitions_lack_total)) {
			stages |= 1u << BLKLAT_STAGE_TOTAL;
			assumed |= device_is_partition(d);
		}
		err = check_stages(d, stages, p);
		/* It may have been read while it went away. */
		if (err && (wanted->lenient || (matched[set[i]] && device_is_gone(t, d))))
			stages = err = 0;
		for (u32 s = 0; s < BLKLAT_STAGES; s++)
			if (stages >> s & 1)
				w[n++] = (struct watch){ .device = d, .stage = s, .matched = matched[set[i]] };
	}
	if (!err && n_set && !n && !wanted->lenient && !wanted->optional)
		err = problem_set(p, -ENOENT, "all devices went away before they could be watched");
	err = err ?: watches_of(w, n, wanted, ret, p);
	ret->partitions_at_total = !err && assumed;
	return err;
}

void watches_free(struct watches *w)
{
	free(w->w);
	*w = (struct watches){ 0 };
}
