// SPDX-License-Identifier: GPL-2.0-only
/* blklat check: which engines work here, what prevents others, and what a run would take. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include <linux/capability.h>

#include "cmd/capture_options.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/serve.h"
#include "cmd/watches.h"
#include "core/capture.h"
#include "core/json_parts.h"
#include "core/kinds.h"
#include "core/text_draw.h"
#include "util/cleanup.h"
#include "util/sysfs.h"
#include "util/table.h"
#include "util/units.h"

#define ENGINES_MAX 8
#define WIDTH 80		/* of the text */
#define INDENT 15		/* of facts behind their titles */

/* --- what this machine and the privileges of this process allow --- */

enum capability { CAPABILITY_BPF, CAPABILITY_PERFMON, CAPABILITY_SYS_ADMIN, CAPABILITIES };

static const char *const capability_names[CAPABILITIES] = { "CAP_BPF", "CAP_PERFMON", "CAP_SYS_ADMIN" };
static const u32 capability_bits[CAPABILITIES] = { CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN };

struct machine {
	char release[128];		/* of the kernel; "" if unknown */
	u32 cpus;			/* see sysfs_cpus() */
	bool btf;			/* the kernel describes its types (BTF) */
	char lockdown[32];		/* none, integrity, confidentiality; "" if not built in */
	bool capable[CAPABILITIES];	/* effective */
	u64 locked_memory_bytes;	/* the soft limit; ~0: none */
	bool locks_bpf_memory;		/* that limit applies to BPF maps (before 5.11) */
};

#define FILE_BYTES 8192

static int read_below(const char *root, const char *file, char *ret, size_t size)
{
	char path[PATH_MAX];

	ret[0] = '\0';
	if (snprintf(path, sizeof(path), "%s%s", root, file) >= (int)sizeof(path))
		return -1;
	return sysfs_text(AT_FDCWD, path, ret, size);
}

/* The text that follows @title in a file of such lines; newlines became '?' when it was read. */
static const char *after(const char *text, const char *title)
{
	const char *at = strstr(text, title);

	return at ? at + strlen(title) + strspn(at + strlen(title), " \t?:") : NULL;
}

static void read_capabilities(struct machine *m, const char *root)
{
	char text[FILE_BYTES];
	const char *set;
	u64 bits;

	read_below(root, "/proc/self/status", text, sizeof(text));
	set = after(text, "CapEff");
	bits = set ? strtoull(set, NULL, 16) : 0;
	for (u32 i = 0; i < CAPABILITIES; i++)
		m->capable[i] = bits >> capability_bits[i] & 1;
}

static void read_locked_memory(struct machine *m, const char *root)
{
	char text[FILE_BYTES];
	const char *limit;

	read_below(root, "/proc/self/limits", text, sizeof(text));
	limit = after(text, "Max locked memory");
	if (limit)
		m->locked_memory_bytes = strncmp(limit, "unlimited", 9) ? strtoull(limit, NULL, 10) : ~0ULL;
}

/* Reads the files below @root/proc and @root/sys; if one is missing, its fact stays 0. */
static void machine_read(struct machine *m, const char *root)
{
	u32 major = 0, minor = 0;
	char path[PATH_MAX];

	*m = (struct machine){ 0 };
	read_below(root, "/proc/sys/kernel/osrelease", m->release, sizeof(m->release));
	if (sscanf(m->release, "%9u.%9u", &major, &minor) == 2)
		m->locks_bpf_memory = major < 5 || (major == 5 && minor < 11);
	m->cpus = sysfs_cpus(root);
	snprintf(path, sizeof(path), "%s/sys/kernel/btf/vmlinux", root);
	m->btf = !access(path, R_OK);
	snprintf(path, sizeof(path), "%s/sys/kernel/security/lockdown", root);
	sysfs_choice(AT_FDCWD, path, m->lockdown, sizeof(m->lockdown));
	read_capabilities(m, root);
	read_locked_memory(m, root);
}

/* --- the command --- */

enum format { FORMAT_TEXT, FORMAT_JSON };
static const char *const formats[] = { "text", "json" };

struct check {
	u32 format;
	struct wanted wanted;
	u64 max_memory;
	const char *sysroot;
	const char *config;
};

/* The results, which are complete before anything is printed. */
struct findings {
	struct machine machine;
	struct device_table devices;
	struct watches watches;		/* those of a device are next to each other */
	const struct check *asked;
	u32 n_engines;
	struct engine {
		const struct capture_ops *is;
		int err;		/* 0: usable */
		struct problem why;
	} engines[ENGINES_MAX];
};

#define INTO struct check

static const struct option_row option_list[] = {
	OPTION("dev", 0, "DEV", "Show the memory that a run on DEV takes (several: with commas; default: each device)",
	  TO_OWN(wanted, capture_options_take_device)),
	OPTION("stage", 0, "LIST", "Assume these stages: " STAGES(KIND_COMMA) "by default device, or total where there "
	  "are no requests; both for a disk named together with an array on it",
	  TO_STAGES(wanted.stages)),
	OPTION("by", 0, "WHAT", "Assume parts by " DIVISIONS(KIND_COMMA) "see 'blklat live --help'",
	  TO_OWN(wanted, wanted_take_by)),
	OPTION("max-parts", 0, "N", "By cgroup or process: assume a part for each of N (default 64)",
	  TO_OWN(wanted, wanted_take_max_parts)),
	OPTION("max-memory", 0, "SIZE", "Apply this limit (default: 64M or 0.1 % of RAM, the larger; more "
	  "if that is not enough)", TO(SIZE, max_memory)),
	OPTION("format", 'f', "FORMAT", "text (default) or json", TO_NAME(format, formats)),
	OPTION("config", 0, "FILE", "Only check whether FILE would do for 'blklat serve --config'", TO(WORD, config)),
	OPTION("sysroot", 0, "DIR", "Read the tree recorded in DIR instead of this machine's; engines are "
	  "still tried on this machine", TO(WORD, sysroot)),
	{ 0 },
};

static const struct options options = {
	.about = "Says which engines work on this machine, or why they do not and what to do, and how much memory a "
		 "run would take. The exit status is 1 when no engine works."
		 "\v"
		 "DEV is a name, a path, a mapper name, a "
		 "shell pattern or 'all'.",
	.arguments = "[DEV...]",
	.list = option_list,
	.argument = capture_options_take_device,
	.argument_at = offsetof(struct check, wanted),
};

static void check_free(struct check *c)
{
	wanted_uninit(&c->wanted);
}

static void findings_free(struct findings *f)
{
	watches_free(&f->watches);
	device_table_free(&f->devices);
}

static bool usable(const struct findings *f)
{
	for (u32 i = 0; i < f->n_engines; i++)
		if (!f->engines[i].err)
			return true;
	return false;
}

static int find_out(struct findings *f, struct check *c, struct problem *p)
{
	bool named = c->wanted.n;
	int err = wanted_check(&c->wanted, p);

	if (err)
		return err;
	if (!named && wanted_add(&c->wanted, "all"))
		return problem_set(p, -ENOMEM, "out of memory");
	err = watches_make(&f->devices, &c->wanted, &f->watches, p);
	/* On a machine without disks the engines can still be checked. */
	if (err && (named || err != -ENOENT))
		return err;
	wanted_tell_uncharged(&c->wanted, f->devices.root);
	machine_read(&f->machine, c->sysroot);
	f->asked = c;
	for (u32 i = 0; capture_engines[i] && i < ENGINES_MAX; i++) {
		struct engine *e = &f->engines[f->n_engines++];

		e->is = capture_engines[i];
		e->err = e->is->probe(&e->why);
	}
	return 0;
}

/* What a run with some watches would take. */
struct run_cost {
	bool fits;		/* within the limit */
	struct capture_memory memory;
};

static struct run_cost cost_of(const struct findings *f, struct watch *w, u32 n, bool follow)
{
	const struct check *c = f->asked;
	const struct capture_config cfg = {
		.watches = w, .n_watches = n, .by = c->wanted.by, .cgroups = wanted_cgroups(&c->wanted),
		.scale = -1, .max_memory = c->max_memory, .max_bios = CAPTURE_MAX_BIOS, .follow = follow,
	};
	struct problem unused;
	struct run_cost cost;

	cost.fits = !capture_memory(&cfg, f->machine.cpus, f->machine.cpus + 1, &cost.memory, &unused);
	return cost;
}

/* Of all devices. If they are not named one by one, there is room for some more. */
static struct run_cost cost_of_all(const struct findings *f)
{
	return cost_of(f, f->watches.w, f->watches.n, wanted_many(&f->asked->wanted));
}

/* The number of watches of one device from @i on. */
static u32 same_device(const struct watches *w, u32 i, u32 *ret_stages)
{
	u32 n = 0;

	*ret_stages = 0;
	for (; i + n < w->n && w->w[i + n].device == w->w[i].device; n++)
		*ret_stages |= 1u << w->w[i + n].stage;
	return n;
}

/* Prints "@title text", with the text wrapped into lines of 80 letters. */
__attribute__((format(printf, 2, 3)))
static void print_fact(const char *title, const char *format, ...)
{
	char text[sizeof(struct problem) + 16];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("%-*s", INDENT, title);
	draw_paragraph(stdout, text, INDENT, INDENT, WIDTH);
	putchar('\n');
}

static void print_capabilities(const struct machine *m)
{
	bool enough = m->capable[CAPABILITY_SYS_ADMIN] ||
		      (m->capable[CAPABILITY_BPF] && m->capable[CAPABILITY_PERFMON]);
	char have[128] = "";
	size_t used = 0;

	for (u32 i = 0; i < CAPABILITIES; i++)
		if (m->capable[i])
			used += snprintf(have + used, sizeof(have) - used, "%s%s", used ? ", " : "", capability_names[i]);
	print_fact("capabilities", "%s%s", used ? have : "none of these", enough ? "" :
		   "; CAP_BPF and CAP_PERFMON are needed (CAP_SYS_ADMIN before 5.8): run it as root");
}

static void print_machine(const struct machine *m)
{
	char limit[UNITS_TEXT] = "unlimited";

	print_fact("kernel", "%s, %u CPU%s", m->release[0] ? m->release : "unknown", m->cpus, m->cpus == 1 ? "" : "s");
	print_fact("BTF", m->btf ? "present" : "missing: use engine kmod, which needs none, or a kernel built with "
		   "CONFIG_DEBUG_INFO_BTF, as those of distributions are");
	if (!strcmp(m->lockdown, "confidentiality"))
		print_fact("lockdown", "confidentiality: BPF may not read kernel memory; boot with "
			   "lockdown=integrity or without Secure Boot");
	else
		print_fact("lockdown", "%s", m->lockdown[0] ? m->lockdown : "none (not built in)");
	print_capabilities(m);
	if (m->locked_memory_bytes != ~0ULL)
		units_memory(limit, m->locked_memory_bytes);
	print_fact("locked memory", "%s%s", limit, m->locks_bpf_memory ?
		   "; before Linux 5.11 BPF maps count towards it: blklat raises it if permitted" :
		   " (since Linux 5.11 BPF maps do not count towards it)");
}

/* @d: NULL for all together. */
static int add_run(struct table *t, const struct device *d, u32 stages, struct run_cost cost)
{
	char stage[32], fixed[UNITS_TEXT], bytes[UNITS_TEXT] = "too much";
	const char *const cells[] = { d ? d->name : "together", stage, fixed, bytes, d ? d->model : "",
				      !d ? "" : d->serial[0] ? d->serial : d->wwid };

	stages_text(stages, stage, sizeof(stage));
	units_memory(fixed, cost.memory.fixed_bytes);
	if (cost.fits)
		units_memory(bytes, cost.memory.bytes);
	return table_add(t, cells);
}

static int print_runs(const struct findings *f)
{
	static const struct column columns[] = {
		{ "DEVICE", false, 12 }, { "STAGE", false, 0 }, { "AT LEAST", true, 0 }, { "MEMORY", true, 0 },
		{ "MODEL", false, 8 }, { "SERIAL OR WWID", false, 8 },
	};
	CLEANUP(table_uninit) struct table t;
	const struct watches *w = &f->watches;
	u32 stages, all = 0, n = 0;

	table_init(&t, columns, ARRAY_SIZE(columns));
	for (u32 i = 0; i < w->n; i += n) {
		n = same_device(w, i, &stages);
		all |= stages;
		if (add_run(&t, w->w[i].device, stages, cost_of(f, w->w + i, n, false)))
			return -ENOMEM;
	}
	if (n < w->n && add_run(&t, NULL, all, cost_of_all(f)))
		return -ENOMEM;
	putchar('\n');
	if (w->n)
		table_print(&t, stdout, WIDTH);
	else
		puts("There is no block device of non-zero size.");
	return 0;
}

static int print_text(const struct findings *f)
{
	char limit[UNITS_TEXT], title[32];

	print_machine(&f->machine);
	print_fact("memory limit", "%s", units_memory(limit, cost_of_all(f).memory.limit_bytes));
	putchar('\n');
	for (u32 i = 0; i < f->n_engines; i++) {
		const struct engine *e = &f->engines[i];

		snprintf(title, sizeof(title), "engine %s", e->is->name);
		print_fact(title, "%s%s", e->err ? "not usable: " : "usable: ", e->err ? e->why.text : e->is->about);
	}
	return print_runs(f);
}

static struct json_object *json_machine(const struct machine *m)
{
	struct json_object *caps = json_new_object();

	for (u32 i = 0; i < CAPABILITIES; i++)
		json_add(caps, capability_names[i], json_bool(m->capable[i]));
	return JSON({ "schema", json_count(1) }, { "kernel", json_name(m->release) }, { "cpus", json_count(m->cpus) },
		    { "btf", json_bool(m->btf) }, { "lockdown", json_name(m->lockdown) }, { "capabilities", caps },
		    { "locked_memory_bytes",
		      m->locked_memory_bytes == ~0ULL ? NULL : json_count(m->locked_memory_bytes) });
}

static struct json_object *json_engines(const struct findings *f)
{
	struct json_object *a = json_new_array(f->n_engines);

	for (u32 i = 0; i < f->n_engines; i++) {
		const struct engine *e = &f->engines[i];

		json_append(a, JSON({ "name", json_text(e->is->name) }, { "about", json_text(e->is->about) },
				    { "usable", json_bool(!e->err) },
				    { "problem", e->err ? json_text(e->why.text) : NULL }));
	}
	return a;
}

static struct json_object *json_cost(struct run_cost cost)
{
	return JSON({ "scale", cost.fits ? json_count(cost.memory.scale) : NULL },
		    { "memory_bytes", json_count(cost.memory.bytes) },
		    { "fixed_bytes", json_count(cost.memory.fixed_bytes) });
}

static struct json_object *json_runs(const struct findings *f)
{
	struct json_object *a = json_new_array(0);
	const struct watches *w = &f->watches;
	u32 stages, n;

	for (u32 i = 0; i < w->n; i += n) {
		n = same_device(w, i, &stages);
		json_append(a, JSON_ADD(json_cost(cost_of(f, w->w + i, n, false)),
					{ "device", json_text(w->w[i].device->name) },
					{ "identity", json_identity(w->w[i].device) },
					{ "stages", json_stages(stages) }));
	}
	return a;
}

static int print_json(const struct findings *f)
{
	return json_print(JSON_ADD(json_machine(&f->machine), { "engines", json_engines(f) },
				   { "memory_limit_bytes", json_count(cost_of_all(f).memory.limit_bytes) },
				   { "runs", json_runs(f) },
				   { "together", f->watches.n ? json_cost(cost_of_all(f)) : NULL }));
}

static int check_config(const struct check *c, char *who)
{
	bool more = c->wanted.n || c->wanted.stages || c->wanted.by || c->max_memory || c->sysroot[0] || c->format;
	struct problem p;
	int status;

	problem_set(&p, 0, "--config checks a file, and nothing else: leave the other options out");
	status = more ? command_fail(who, STATUS_USAGE, &p) : serve_config_check(who, (char *)c->config);
	if (status != STATUS_DONE)
		return status;
	printf("%s: valid\n", c->config);
	return finish_output(who);
}

static int run(int argc, char **argv)
{
	CLEANUP(check_free) struct check c = { .wanted.members_at_total = true, .sysroot = "" };
	CLEANUP(findings_free) struct findings f = { 0 };
	struct problem p;
	int err, status;

	status = options_parse(&options, argc, argv, &c);
	if (status >= 0)
		return status;
	if (c.config)
		return check_config(&c, argv[0]);
	if (device_table_read(&f.devices, c.sysroot, &p))
		return command_fail(argv[0], c.sysroot[0] ? STATUS_USAGE : STATUS_FAILED, &p);
	err = find_out(&f, &c, &p);
	if (err)
		return command_fail(argv[0], err == -ENOMEM ? STATUS_FAILED : STATUS_USAGE, &p);
	if (c.format == FORMAT_JSON ? print_json(&f) : print_text(&f))
		return command_no_memory(argv[0]);
	status = finish_output(argv[0]);
	if (usable(&f))
		return status;
	problem_set(&p, 0, "no engine is usable here: %s", f.n_engines ? f.engines[0].why.text : "there is none");
	return command_fail(argv[0], STATUS_FAILED, &p);
}

const struct command command_check = {
	.name = "check",
	.about = "which engines work here, or why not, and how much memory a run takes",
	.run = run,
};
