// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/output.h"
#include "util/cleanup.h"
#include "util/parse.h"

#ifndef BLKLAT_VERSION
#define BLKLAT_VERSION "unreleased"
#endif

#define BLANK " \t\r"

/* Beyond the keys of any command. */
enum { KEY_ROW = 0x100, KEY_HELP = 0x10000, KEY_USAGE, KEY_VERSION };

static const struct argp_option common[] = {
	{ "help", 'h', NULL, 0, "Show this help", -1 },
	{ "usage", KEY_USAGE, NULL, 0, "Show the options in brief", -1 },
	{ "version", KEY_VERSION, NULL, 0, "Show the version", -1 },
	{ NULL, '?', NULL, OPTION_HIDDEN, NULL, -1 },
	{ NULL, 'V', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

struct parse {
	const struct options *o;
	const struct argp_option *all;	/* their keys: a letter, or KEY_ROW + the row's number */
	const struct option_row *rows[OPTIONS_MAX];
	void *bases[OPTIONS_MAX];	/* [row] */
	bool given[OPTIONS_MAX];	/* [row] on the command line */
	u32 n;
	void *into;
	int shown;		/* the key of --help and the like, or 0 */
	int bad;		/* argp gave up near this index in argv */
	struct problem problem;	/* "" until someone knows what is wrong */
};

static bool ends(const struct argp_option *opt)
{
	return !opt->name && !opt->key && !opt->doc;
}

/* The options that a long name may mean: the one with this name, or else all that begin with it. */
static u32 long_matches(const struct argp_option *all, const char *name, size_t len, const struct argp_option **ret)
{
	u32 n = 0;

	for (const struct argp_option *opt = all; !ends(opt); opt++) {
		if (!opt->name || strncmp(opt->name, name, len) != 0)
			continue;
		*ret = opt;
		if (!opt->name[len])
			return 1;
		n++;
	}
	return n;
}

/* Says what is wrong with "--name" or "--name=value". Returns false if nothing is. */
static bool explain_long(struct parse *x, const char *word)
{
	const struct argp_option *opt = NULL;
	int len = strcspn(word + 2, "=");
	u32 n = long_matches(x->all, word + 2, len, &opt);
	bool value = word[2 + len];
	char name[64];
	struct nearest near = { .typed = name };

	snprintf(name, sizeof(name), "%.*s", len, word + 2);
	if (n > 1)
		return problem_set(&x->problem, true, "option '--%s' is ambiguous", name);
	if (n == 1 && opt->arg && !value)
		return problem_set(&x->problem, true, "option '--%s' needs a value", opt->name);
	if (n == 1 && !opt->arg && value)
		return problem_set(&x->problem, true, "option '--%s' takes no value", opt->name);
	if (n == 1)
		return false;
	for (opt = x->all; !ends(opt); opt++)
		if (opt->name && !(opt->flags & OPTION_HIDDEN))
			nearest_look(&near, opt->name);
	if (near.name)
		return problem_set(&x->problem, true, "unrecognized option '--%s' (did you mean '--%s'?)",
				   name, near.name);
	return problem_set(&x->problem, true, "unrecognized option '--%s'", name);
}

/* The same for "-abc". */
static bool explain_short(struct parse *x, const char *word)
{
	for (const char *c = word + 1; *c; c++) {
		const struct argp_option *opt = x->all;

		while (!ends(opt) && opt->key != *c)
			opt++;
		if (ends(opt))
			return problem_set(&x->problem, true, "unrecognized option '-%c'", *c);
		if (opt->arg && !c[1])
			return problem_set(&x->problem, true, "option '-%c' needs a value", *c);
		if (opt->arg)
			return false;
	}
	return false;
}

static bool explain(struct parse *x, const char *word)
{
	if (!word || word[0] != '-' || !word[1])
		return false;
	return word[1] == '-' ? explain_long(x, word) : explain_short(x, word);
}

static int key_of(const struct parse *x, u32 row)
{
	return x->rows[row]->letter ?: KEY_ROW + (int)row;
}

static int take(struct parse *x, u32 row, const char *value)
{
	const struct option_row *r = x->rows[row];
	void *to = (char *)x->bases[row] + r->offset;
	char name[64];

	snprintf(name, sizeof(name), "--%s", r->name);
	switch (r->kind) {
	case OPTION_SWITCH:
		*(bool *)to = true;
		return 0;
	case OPTION_WORD:
		*(const char **)to = value;
		return 0;
	case OPTION_COUNT:
		return parse_count(name, value, to, &x->problem);
	case OPTION_SIZE:
		return parse_size(name, value, to, &x->problem);
	case OPTION_SECONDS:
		return parse_seconds(name, value, to, &x->problem);
	case OPTION_NAME:
		return parse_name(name, value, r->names, r->n_names, to, &x->problem);
	case OPTION_NAMES:
		return parse_names(name, value, r->names, r->n_names, to, &x->problem);
	default:
		return r->take(to, value, &x->problem);
	}
}

static error_t on_key(int key, char *value, struct argp_state *state)
{
	struct parse *x = state->input;

	switch (key) {
	case '?':
	case 'h':
		x->shown = KEY_HELP;
		return ECANCELED;
	case KEY_USAGE:
		x->shown = KEY_USAGE;
		return ECANCELED;
	case 'V':
	case KEY_VERSION:
		x->shown = KEY_VERSION;
		return ECANCELED;
	case ARGP_KEY_ERROR:
		x->bad = state->next;
		return 0;
	case ARGP_KEY_ARG:
		if (x->o->take_command && state->quoted && state->next > state->quoted) {
			x->o->take_command(state->argv + state->next - 1, x->into);
			state->next = state->argc;
			return 0;
		}
		if (!x->o->arguments)
			return -problem_set(&x->problem, -EINVAL, "unexpected argument '%s'", value);
		for (u32 i = 0; i < x->n; i++)
			x->given[i] |= x->rows[i]->take == x->o->argument;
		return -x->o->argument((char *)x->into + x->o->argument_at, value, &x->problem);
	default:
		for (u32 i = 0; i < x->n; i++)
			if (key == key_of(x, i)) {
				x->given[i] = true;
				return -take(x, i, value);
			}
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- a file of options ------------------------------------------------------------------------ */

static struct option_file *file_of(const struct parse *x)
{
	return (void *)((char *)x->into + x->o->file_at);
}

/* Takes a line, which it changes. */
static int take_line(struct parse *x, char *line)
{
	char *name = line + strspn(line, BLANK), *end = name + strcspn(name, BLANK "=");
	char *value = end + strspn(end, BLANK), word[128];

	if (!*name || *name == '#')
		return 0;
	value += *value == '=';
	value += strspn(value, BLANK);
	*end = '\0';
	for (end = value + strlen(value); end > value && strchr(BLANK, end[-1]); end--)
		end[-1] = '\0';
	snprintf(word, sizeof(word), "--%s%s%s", name, *value ? "=" : "", value);
	if (explain_long(x, word))
		return -EINVAL;
	for (u32 i = 0; i < x->n; i++)
		if (!strcmp(x->rows[i]->name, name) && (char *)x->bases[i] + x->rows[i]->offset != (char *)file_of(x))
			return x->given[i] ? 0 : take(x, i, value);
	return problem_set(&x->problem, -EINVAL, "a file can't have option '%s'", name);
}

static int take_file(struct parse *x)
{
	struct option_file *f = file_of(x);
	FILE *in CLEANUP(cleanup_fclose) = fopen(f->name, "re");
	size_t size = 0;
	ssize_t len = in ? getdelim(&f->text, &size, '\0', in) : -1;
	struct problem why;
	u32 number = 1;

	if (!in || ferror(in))
		return problem_set(&x->problem, -errno, "could not read %.300s: %s", f->name, strerror(errno));
	f->len = len < 0 ? 0 : len;
	if (f->len && !f->text[len - 1])
		return problem_set(&x->problem, -EINVAL, "%.300s is not a text file", f->name);
	for (char *line = f->len ? f->text : NULL, *next; line; line = next, number++) {
		int err;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		err = take_line(x, line);
		if (!err)
			continue;
		why = x->problem;
		return problem_set(&x->problem, err, "%.200s:%u: %.280s", f->name, number, why.text);
	}
	return 0;
}

static int show(const struct argp *argp, int what, char *name)
{
	if (what == KEY_VERSION)
		puts("blklat " BLKLAT_VERSION);
	else
		argp_help(argp, stdout, what == KEY_USAGE ? ARGP_HELP_USAGE :
			  ARGP_HELP_USAGE | ARGP_HELP_PRE_DOC | ARGP_HELP_LONG | ARGP_HELP_POST_DOC, name);
	if (what == KEY_HELP)
		printf("\n'man blklat-%s' says more.\n", name + strlen("blklat "));
	return finish_output(name);
}

static bool is_among(const char *const *only, const char *name)
{
	while (only && *only && strcmp(*only, name))
		only++;
	return !only || *only;
}

/* Appends those of the options that are among @only. */
static void append(struct parse *x, const struct option_row *list, void *base, const char *const *only)
{
	for (; list && x->n < OPTIONS_MAX && list->name; list++) {
		if (!is_among(only, list->name))
			continue;
		x->rows[x->n] = list;
		x->bases[x->n++] = base;
	}
}

int options_parse(const struct options *o, int argc, char **argv, void *into)
{
	struct argp_option all[OPTIONS_MAX + ARRAY_SIZE(common)];
	struct parse x = { .o = o, .all = all, .into = into };
	const struct argp argp = {
		.options = all, .parser = on_key, .args_doc = o->arguments, .doc = o->about,
	};
	struct problem line;
	error_t err;

	append(&x, o->list, into, NULL);
	append(&x, o->shared, (char *)into + o->shared_at, o->only);
	for (u32 i = 0; i < x.n; i++)
		all[i] = (struct argp_option){
			.name = x.rows[i]->name, .key = key_of(&x, i), .arg = x.rows[i]->arg, .doc = x.rows[i]->help,
		};
	memcpy(all + x.n, common, sizeof(common));

	/* argp's own messages take two lines, and its help exits. */
	err = argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT |
			 /* Otherwise argp would move arguments before "--" behind it. */
			 (o->take_command ? ARGP_IN_ORDER : 0), NULL, &x);
	if (!err && o->file_at && file_of(&x)->name)
		err = -take_file(&x);
	if (!err)
		return -1;
	if (x.shown)
		return show(&argp, x.shown, argv[0]);
	if (err == ENOMEM && !x.problem.text[0])
		problem_set(&x.problem, 0, "out of memory");
	if (x.problem.text[0])
		return command_fail(argv[0], command_err_is_ours(-err) ? STATUS_FAILED : STATUS_USAGE, &x.problem);
	/* argp stops behind the wrong word, or at it if it is a group of short options. */
	if (!explain(&x, argv[x.bad - 1]) && !explain(&x, argv[x.bad]))
		problem_set(&x.problem, 0, "invalid command line");
	problem_set(&line, 0, "%s; '%s --help' shows all", x.problem.text, argv[0]);
	return command_fail(argv[0], STATUS_USAGE, &line);
}
