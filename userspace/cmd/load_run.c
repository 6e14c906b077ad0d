// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/load_run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "cmd/join.h"
#include "core/sink.h"
#include "recording/archive.h"
#include "report/findings.h"
#include "report/fio.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/parse.h"
#include "util/units.h"

/* Also a time before now: -20m. */
static bool when_parse(const char *word, struct moment *ret)
{
	struct moment m;

	if (*word != '-')
		return moment_parse(word, ret);
	if (!moment_parse(word + 1, &m) || m.kind != MOMENT_SINCE_START)
		return false;
	*ret = (struct moment){ MOMENT_WALL, (s64)clock_ns(CLOCK_REALTIME) - m.ns };
	return true;
}

/* Finds the time that @word means, in seconds since the start of a run of @o. Returns 0, or -EINVAL and a sentence. */
static int find(const char *option, const char *word, const struct origin *o, double *ret, struct problem *p)
{
	struct moment m;
	u32 found = 0;

	if (when_parse(word, &m)) {
		*ret = (double)moment_since(&m, o->start_wall_ns) / NSEC_PER_SEC;
		return 0;
	}
	for (u32 i = 0; i < o->n_marks; i++) {
		if (strcmp(o->marks[i].text, word))
			continue;
		*ret = mark_s(o, &o->marks[i]);
		found++;
	}
	if (found == 1)
		return 0;
	if (found)
		return problem_set(p, -EINVAL, "%s '%s': %s has %u marks of that name: give the time in seconds instead",
				   option, word, o->file, found);
	if (o->n_marks)
		return problem_set(p, -EINVAL, "%s '%s': neither seconds nor a time like 14:03:20, and %s has no mark of that name "
				   "(its first is '%s')", option, word, o->file, o->marks[0].text);
	return problem_set(p, -EINVAL, "%s '%s': neither seconds nor a time like 14:03:20, and %s has no marks", option, word,
			   o->file);
}

/* A time of the run for a message; the clock if that is before the run's start. */
static const char *when_text(char text[UNITS_TEXT], const struct origin *o, double s)
{
	return s < 0 ? units_utc(text, o->start_wall_ns + llround(s * NSEC_PER_SEC)) : units_seconds(text, s);
}

/*
 * Finds the window that @words mean in a run of @origin, in seconds since its start. Each word is a
 * number of seconds (20, 1.5, 90s, 2m, 1h, 250ms); a time of day or an ISO date and time, in UTC unless
 * it has an offset; or a mark's text. A time of day means its first occurrence from one hour before the
 * run's start on. Returns 0, or -EINVAL and a sentence.
 */
static int window_find(const struct window_words *words, const struct origin *origin, struct asked_window *ret,
		       struct problem *p)
{
	struct asked_window w = { .from = words->from, .to = words->to };
	char from[UNITS_TEXT], to[UNITS_TEXT];
	int err = 0;

	if (w.from)
		err = find("--from", words->from, origin, &w.from_s, p);
	if (!err && w.to)
		err = find("--to", words->to, origin, &w.to_s, p);
	if (err)
		return err;
	if (w.from && w.to && w.from_s >= w.to_s)
		return problem_set(p, -EINVAL, "--from '%s' is not before --to '%s': in %s they are at %s and %s", words->from, words->to,
				   origin->file, when_text(from, origin, w.from_s), when_text(to, origin, w.to_s));
	*ret = w;
	return 0;
}

#define POINTS_LEAST 32		/* a chart with fewer points shows nothing */
#define MERGED_MOST (1U << 16)	/* one interval for almost a day of seconds */
#define LEVEL_NAME 24	/* "level 1", with any number */

/* --- the recordings of a folder -------------------------------------------------------------- */

#define HOUR_NS (3600 * (s64)NSEC_PER_SEC)	/* of a folder's last recording, at most */

/*
 * Makes @word a time on the clock on the wall if it is any time. A time of day means its last occurrence in the
 * folder, and seconds are those since its oldest recording began. Returns whether it is a time.
 */
static bool find_wall(const char **word, char text[UNITS_TEXT], const struct archive *a, s64 *ret_ns)
{
	s64 first_ns = a->file[0].begins_ns, end_ns = a->file[a->n - 1].begins_ns + HOUR_NS,
	    now_ns = clock_ns(CLOCK_REALTIME);
	struct moment m;

	if (!*word || !when_parse(*word, &m))
		return false;
	if (m.kind == MOMENT_OF_DAY)
		first_ns = (end_ns < now_ns ? end_ns : now_ns) - 23 * HOUR_NS;
	*ret_ns = first_ns + moment_since(&m, first_ns);
	*word = units_utc(text, *ret_ns);
	return true;
}

/* What is played as one run: a recording, or those of a folder that the window reaches into. */
struct played {
	struct join join;
	struct window_words window;
	char from[UNITS_TEXT], to[UNITS_TEXT];	/* for its words */
	char **files;		/* of a folder */
	u32 n;
};

static void played_uninit(struct played *f)
{
	join_close(&f->join);
	for (u32 i = 0; i < f->n; i++)
		free(f->files[i]);
	free(f->files);
}

/* A recording ends with its hour, or a long interval later. */
static bool ends_before(const struct archive_file *f, s64 ns)
{
	return (f->begins_ns / HOUR_NS + 1) * HOUR_NS + 60 * (s64)NSEC_PER_SEC <= ns;
}

static int choose_files(struct played *f, const char *folder, struct problem *p)
{
	CLEANUP(archive_free) struct archive a = { 0 };
	int err = archive_read(&a, folder, p);
	u32 first = 0, last;
	s64 ns;

	if (err)
		return err;
	archive_finest(&a);
	last = a.n - 1;
	if (!a.n)
		return problem_set(p, -ENODATA, "%s: holds no recording of 'blklat serve --record': name the files instead", folder);
	if (find_wall(&f->window.from, f->from, &a, &ns))
		while (first < last && (a.file[first + 1].begins_ns <= ns || ends_before(&a.file[first], ns)))
			first++;
	if (find_wall(&f->window.to, f->to, &a, &ns))
		while (last > first && a.file[last].begins_ns >= ns)
			last--;
	f->files = calloc(a.n, sizeof(*f->files));
	err = f->files ? 0 : -ENOMEM;
	for (u32 i = first; !err && i <= last; i++, f->n += !err)
		err = asprintf(&f->files[f->n], "%s/%s", folder, a.file[i].name) < 0 ? -ENOMEM : 0;
	return err ? problem_set(p, err, "out of memory") : 0;
}

static int try_to_open(struct played *f, const char *name, bool folder, const struct load_how *how, struct budget *b,
		       struct problem *p)
{
	int err;

	f->window = how->window;
	f->join.given = how->given;
	f->join.given_len = how->given_len;
	if (!folder)
		return join_open(&f->join, &name, 1, name, b, p);
	err = choose_files(f, name, p);
	return err ?: join_open(&f->join, (const char *const *)f->files, f->n, name, b, p);
}

static int play_open(struct played *f, const char *name, const struct load_how *how, struct budget *b,
		     struct problem *p)
{
	struct stat st;
	bool folder = !how->given && !stat(name, &st) && S_ISDIR(st.st_mode);
	int err = try_to_open(f, name, folder, how, b, p);

	if (err != -ENOENT || !folder)
		return err;
	/* The service deleted its oldest recording meanwhile. */
	played_uninit(f);
	*f = (struct played){ 0 };
	return try_to_open(f, name, folder, how, b, p);
}

/* --- a run ------------------------------------------------------------------------------------ */

static int collect(struct join *j, const struct origin *origin, const struct collect_how *how, struct run *into,
		   struct problem *p)
{
	struct run_info info = j->info;
	const char *file = origin->file;
	struct sink *sink = NULL;
	enum loop_end end;

	info.origin = origin;
	if (collect_open(&info, how, into, &sink))
		return problem_set(p, -ENOMEM, "out of memory");
	end = join_play(j, sink, p);
	sink_close(sink);
	if (end != LOOP_FAILED)
		return 0;
	if (!into->budget.exceeded)
		return -EIO;
	if (!into->n)
		return problem_set(p, -E2BIG, "%s: not even its first interval, of %u watches, fits in the memory limit: raise --max-memory",
				   file, into->n_watches);
	return problem_set(p, -E2BIG, "%s: only its first %u intervals of %u watches fit in the memory limit: raise --max-memory", file,
			   into->n, into->n_watches);
}

/*
 * No interval lies in the window that the user asked for. @folder: the run is of those recordings there that are next
 * to it.
 */
static int nothing_there(const char *file, bool folder, const struct run *r, struct problem *p)
{
	char from[UNITS_TEXT], to[UNITS_TEXT], end[UNITS_TEXT];
	s64 end_ns = r->origin.start_wall_ns + llround(r->seen_s * NSEC_PER_SEC);

	return problem_set(p, -EINVAL, "%s: no interval lies between %s and %s, as --from and --to ask: %s ends at %s", file,
			   r->asked.from ? when_text(from, &r->origin, r->asked.from_s) : "its start",
			   r->asked.to ? when_text(to, &r->origin, r->asked.to_s) : "its end",
			   folder ? "the recording next to that time" : "the run",
			   folder ? units_utc(end, end_ns) : units_seconds(end, r->seen_s));
}

/* @marked: an origin of which only the marks count, which are added to the file's own; NULL: none. */
static int load(const char *file, const struct load_how *how, const struct origin *marked, struct run *ret,
		struct problem *p)
{
	CLEANUP(played_uninit) struct played f = { 0 };
	struct collect_how collected = { .merged = how->merged };
	struct origin origin;
	int err;

	ret->budget = (struct budget){ .most = how->max_bytes };
	err = play_open(&f, file, how, &ret->budget, p);
	if (err)
		return err;
	origin = f.join.origin;
	err = window_find(&f.window, &origin, &collected.asked, p);
	if (marked) {
		origin.n_marks = marked->n_marks;
		origin.marks = marked->marks;
	}
	if (!err)
		err = collect(&f.join, &origin, &collected, ret, p);
	if (!err && !ret->n && ret->seen_s > 0)
		return nothing_there(file, f.files, ret, p);
	if (!err && !ret->n)
		err = problem_set(p, -ENODATA, "%s: has no intervals", file);
	return err;
}

/* Marks where levels begin. Returns how many there are, 0 if there is a single level, or -ENOMEM. */
static int mark_levels(const struct run *r, struct mark *marks, char (*names)[LEVEL_NAME])
{
	double at_s[FINDINGS_LEVELS_MAX];
	int n = findings_levels(r, at_s);

	for (int i = 0; i < n; i++) {
		u64 since_ns = llround(at_s[i] * NSEC_PER_SEC);

		snprintf(names[i], sizeof(names[i]), "level %d", i + 1);
		marks[i] = (struct mark){
			.mono_ns = r->origin.start_mono_ns + since_ns, .wall_ns = r->origin.start_wall_ns + since_ns, .text = names[i],
		};
	}
	return n;
}

/* Only after reading everything is it known where levels begin, so the file is read a second time with them. */
static int load_with_levels(const char *file, const struct load_how *how, struct run *r, struct problem *p)
{
	struct mark marks[FINDINGS_LEVELS_MAX];
	char names[FINDINGS_LEVELS_MAX][LEVEL_NAME];
	int n = mark_levels(r, marks, names);
	const struct origin marked = { .n_marks = n, .marks = marks };

	if (n < 0)
		return problem_set(p, n, "out of memory");
	if (!n)
		return 0;
	run_uninit(r);
	*r = (struct run){ 0 };
	return load(file, how, &marked, r, p);
}

int load_run(const char *file, const struct load_how *how, struct run *ret, struct problem *p)
{
	int err;

	if (how->takes_fio && fio_is(file)) {
		fprintf(stderr, "blklat: %s has what fio measured, above the block layer, in bins that are up to 0.8 %% off\n", file);
		return fio_load(file, ret, p);
	}
	err = load(file, how, NULL, ret, p);

	return err || !how->level_phases || ret->origin.n_marks ? err : load_with_levels(file, how, ret, p);
}

#define INTO struct load_how

static const char *const phases_from[] = { "marks", "auto" };

const struct option_row load_option_list[] = {
	OPTION("from", 0, "WHEN", "Leave out everything before WHEN: seconds of the run, 14:03:20, "
	  "2026-11-21T14:03:20 (UTC), -20m (ago), or the text of a mark", TO(WORD, window.from)),
	OPTION("to", 0, "WHEN", "Leave out everything after WHEN", TO(WORD, window.to)),
	OPTION("phases", 0, "HOW", "marks (default): the time between two marks is a phase; auto: in a "
	  "recording without marks, each level of IOPS or latency is a phase", TO_NAME(level_phases, phases_from)),
	OPTION("max-memory", 0, "SIZE", "Memory limit (default: half of the RAM, at most "
	  "4G)", TO(SIZE, max_bytes)),
	{ 0 },
};

int load_take_file(void *to, const char *value, struct problem *p)
{
	struct load_how *how = to;

	(void)p;
	how->files[how->n++] = value;
	return 0;
}

int load_status(int err)
{
	switch (err) {
	case -ENOENT:
	case -EACCES:
	case -EISDIR:
	case -EINVAL:
		return STATUS_USAGE;
	default:
		return STATUS_FAILED;
	}
}

/*
 * Loads all files, with @merged intervals merged into one. After a failure, the last run in @ret is the
 * one that failed.
 */
static int load_all(const struct load_how *how, struct runs *ret, struct problem *p)
{
	struct load_how left = *how;
	int err = 0;

	ret->r = calloc(how->n ?: 1, sizeof(*ret->r));
	if (!ret->r)
		return problem_set(p, -ENOMEM, "out of memory");
	for (; !err && ret->n < how->n; ret->n++) {
		u64 taken;

		err = load_run(how->files[ret->n], &left, &ret->r[ret->n], p);
		taken = ret->r[ret->n].budget.taken;
		left.max_bytes = taken < left.max_bytes ? left.max_bytes - taken : 1;
	}
	return err;
}

/*
 * Whether merging can help: the run that did not fit, or those before it, which left too little room, must have enough
 * intervals. A run without intervals failed since even the counts of its replay did not fit.
 */
static bool can_merge(const struct runs *runs, u32 merged)
{
	u32 most = 0;

	for (u32 i = 0; i < runs->n; i++)
		most = runs->r[i].n > most ? runs->r[i].n : most;
	return most >= POINTS_LEAST && merged < MERGED_MOST;
}

static void warn_merged(u32 merged, const char *who)
{
	fprintf(stderr, "%s: not every interval fits in the memory limit: up to %u are merged into one, and shorter "
		"events are not seen; raise --max-memory to see each\n", who, merged);
}

#define GAP_S 1			/* files that follow each other are less apart */
#define GAPS_TOLD 3

/* When nobody recorded, which would look as if nothing had happened. */
static void tell_gaps(const struct run *r, const char *who)
{
	char from[UNITS_TEXT], to[UNITS_TEXT];
	u32 n = 0;

	for (u32 i = 1; i < r->n; i++) {
		double end_s = run_end_of(r, i - 1);

		if (r->start_s[i] - end_s <= GAP_S || n++ >= GAPS_TOLD)
			continue;
		fprintf(stderr, "%s: %s: nothing was recorded from %s to %s\n", who, r->origin.file,
			units_utc(from, r->origin.start_wall_ns + llround(end_s * NSEC_PER_SEC)),
			units_utc(to, r->origin.start_wall_ns + llround(r->start_s[i] * NSEC_PER_SEC)));
	}
	if (n > GAPS_TOLD)
		fprintf(stderr, "%s: %s: and at %u more time%s\n", who, r->origin.file, n - GAPS_TOLD, n == GAPS_TOLD + 1 ? "" : "s");
}

int load_runs(const struct load_how *how, const char *who, struct runs *ret, struct problem *p)
{
	struct load_how tried = *how;
	int err;

	tried.merged = 1;
	while ((err = load_all(&tried, ret, p)) == -E2BIG && can_merge(ret, tried.merged)) {
		tried.merged *= 2;
		runs_free(ret);
	}
	if (!err && tried.merged > 1)
		warn_merged(tried.merged, who);
	for (u32 i = 0; !err && i < ret->n; i++)
		tell_gaps(&ret->r[i], who);
	return err;
}

void runs_free(struct runs *runs)
{
	for (u32 i = 0; i < runs->n; i++)
		run_uninit(&runs->r[i]);
	free(runs->r);
	*runs = (struct runs){ 0 };
}
