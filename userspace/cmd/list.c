// SPDX-License-Identifier: GPL-2.0-only
/* blklat list: shows what can be observed. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "core/json_parts.h"
#include "core/text_draw.h"
#include "core/throttle.h"
#include "util/cleanup.h"
#include "util/table.h"
#include "util/units.h"

enum format { FORMAT_TEXT, FORMAT_JSON };
static const char *const formats[] = { "text", "json" };

struct list {
	u32 format;
	bool all;
	const char *sysroot;
};

#define INTO struct list

static const struct option_row option_list[] = {
	OPTION("format", 'f', "FORMAT", "text (default) or json", TO_NAME(format, formats)),
	OPTION("all", 0, NULL, "In text: also devices without a size and hidden paths", TO(SWITCH, all)),
	OPTION("sysroot", 0, "DIR", "Read the tree recorded in DIR instead of this machine's", TO(WORD, sysroot)),
	{ 0 },
};

static const struct options options = {
	.about = "Shows the block devices of this machine and what can be watched of them."
		 "\v"
		 "MODEL is the mapper name of a dm device, the file behind a loop device and the level of "
		 "an array. QUEUES are hardware queues; a device without any passes bios on, so there is "
		 "only the stage total. STAGES: all are device, queue and total. ON: the devices that it is "
		 "stacked on. All facts are in the JSON.",
	.list = option_list,
};

/* The names of the lower devices, separated by commas. */
static void lower_text(const struct device_table *t, const struct device *d, char *ret, size_t size)
{
	size_t used = 0;

	ret[0] = '\0';
	for (u32 i = 0; i < d->n_lower && used < size; i++)
		used += snprintf(ret + used, size - used, "%s%s", i ? "," : "", t->d[d->lower[i]].name);
}

static const char *kind_text(const struct device *d)
{
	if (device_is_partition(d))
		return "part";
	return d->hidden ? "path" : d->kind;
}

/* A text that tells devices apart in a narrow column; for a mapped file its last component. */
static const char *model_text(const struct device *d)
{
	const char *slash = strcmp(d->kind, "loop") ? NULL : strrchr(d->model, '/');

	if (d->mapper[0])
		return d->mapper;
	return slash ? slash + 1 : d->model;
}

static int add_row(struct table *table, const struct device_table *t, u32 i)
{
	const struct device *d = &t->d[i];
	bool part = device_is_partition(d), requests = d->hw_queues;
	char name[DEVICE_NAME_MAX + 2], size[UNITS_TEXT], queues[16], lower[512];
	const char *const cells[] = {
		name, kind_text(d), size, part ? "" : model_text(d),
		part ? "" : requests ? d->scheduler : "-", part ? "" : queues,
		requests ? "all" : "total", lower,
	};

	snprintf(name, sizeof(name), "%s%s", part ? "  " : "", d->name);
	units_capacity(size, d->size_bytes);
	snprintf(queues, sizeof(queues), "%u", d->hw_queues);
	lower_text(t, d, lower, sizeof(lower));
	return table_add(table, cells);
}

static bool is_shown(const struct device_table *t, u32 i, bool all)
{
	const struct device *disk = &t->d[t->d[i].parent];

	return all || (!disk->hidden && disk->size_bytes);
}

static void print_throttles(const struct device_table *t, const struct throttles *ts, bool all)
{
	char line[PATH_MAX + DEVICE_NAME_MAX + 256];
	bool begun = false;

	for (u32 i = 0; i < ts->n; i++) {
		const struct throttle *h = &ts->t[i];

		if (!is_shown(t, h->device, all))
			continue;
		if (!begun)
			putchar('\n');
		begun = true;
		snprintf(line, sizeof(line), "%s: cgroup %s has %s %s; waits for this limit show only in stage "
			 "total, if at all",
			 t->d[h->device].name, h->cgroup, h->file, h->limits);
		draw_paragraph(stdout, line, 0, 2, terminal_columns(STDOUT_FILENO));
		putchar('\n');
	}
}

static int print_text(const struct device_table *t, const struct throttles *ts, bool all)
{
	static const struct column columns[] = {
		{ "NAME", false, 0 }, { "KIND", false, 0 }, { "SIZE", true, 0 }, { "MODEL", false, 8 },
		{ "SCHEDULER", false, 0 }, { "QUEUES", true, 0 }, { "STAGES", false, 0 },
		{ "ON", false, 6 },
	};
	CLEANUP(table_uninit) struct table table;

	table_init(&table, columns, ARRAY_SIZE(columns));
	for (u32 i = 0; i < t->n; i++) {
		if (!is_shown(t, i, all))
			continue;
		if (add_row(&table, t, i))
			return -ENOMEM;
	}
	table_print(&table, stdout, terminal_columns(STDOUT_FILENO));
	print_throttles(t, ts, all);
	return 0;
}

static struct json_object *json_lower(const struct device_table *t, const struct device *d)
{
	struct json_object *a = json_new_array(d->n_lower);

	for (u32 i = 0; i < d->n_lower; i++)
		json_append(a, json_text(t->d[d->lower[i]].name));
	return a;
}

static struct json_object *json_limits(const struct throttles *ts, u32 device)
{
	struct json_object *a = json_new_array(0);

	for (u32 i = 0; i < ts->n; i++)
		if (ts->t[i].device == device)
			json_append(a, JSON({ "cgroup", json_text(ts->t[i].cgroup) },
					    { "io_max", json_text(ts->t[i].limits) }));
	return a;
}

static struct json_object *described(const struct device_table *t, const struct throttles *ts, u32 i)
{
	const struct device *d = &t->d[i];

	return JSON({ "name", json_text(d->name) }, { "kind", json_text(d->kind) }, { "model", json_name(d->model) },
		    { "mapper", json_name(d->mapper) }, { "identity", json_identity(d) }, { "major", d->hidden ? NULL : json_count(d->major) },
		    { "minor", d->hidden ? NULL : json_count(d->minor) }, { "size_bytes", json_count(d->size_bytes) },
		    { "disk", device_is_partition(d) ? json_text(t->d[d->parent].name) : NULL },
		    { "on", json_lower(t, d) }, { "scheduler", json_name(d->scheduler) },
		    { "hw_queues", json_count(d->hw_queues) }, { "tags", json_count(d->tags) },
		    { "nr_requests", json_count(d->nr_requests) }, { "iostats", json_bool(d->iostats) },
		    { "hidden", json_bool(d->hidden) }, { "stages", json_stages(d->stages) },
		    { "limits", json_limits(ts, i) });
}

static int print_json(const struct device_table *t, const struct throttles *ts)
{
	struct json_object *devices = json_new_array(t->n);

	for (u32 i = 0; i < t->n; i++)
		json_append(devices, described(t, ts, i));
	return json_print(JSON({ "schema", json_count(1) }, { "devices", devices }));
}

static int run(int argc, char **argv)
{
	struct list l = { .sysroot = "" };
	CLEANUP(device_table_free) struct device_table t = { 0 };
	CLEANUP(throttles_uninit) struct throttles ts = { 0 };
	struct problem p;
	int status = options_parse(&options, argc, argv, &l);

	if (status >= 0)
		return status;
	if (device_table_read(&t, l.sysroot, &p))
		return command_fail(argv[0], l.sysroot[0] ? STATUS_USAGE : STATUS_FAILED, &p);
	if (throttles_read(&t, &ts) || (l.format == FORMAT_JSON ? print_json(&t, &ts) : print_text(&t, &ts, l.all)))
		return command_no_memory(argv[0]);
	return finish_output(argv[0]);
}

const struct command command_list = {
	.name = "list",
	.about = "the block devices and what can be watched of them",
	.run = run,
};
