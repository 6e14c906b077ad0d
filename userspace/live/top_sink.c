// SPDX-License-Identifier: GPL-2.0-only
#include "live/formats.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "live/kept.h"
#include "live/top_draw.h"
#include "util/cleanup.h"
#include "util/ending.h"

/* Included last, as it defines macros with common names. */
#include <term.h>

struct screen {
	struct sink sink;
	struct loop_input input;
	struct top top;
	struct top_draw draw;
	FILE *tty;
	SCREEN *curses;
	struct winsize size;
	FILE *errors;		/* the original stderr; NULL: nothing is kept */
	struct kept kept;
};

static struct screen *screen_of(struct loop_input *in)
{
	return (struct screen *)((char *)in - offsetof(struct screen, input));
}

static void draw(struct screen *s)
{
	if (s->errors)
		kept_last_line(&s->kept, s->draw.said, sizeof(s->draw.said));
	top_draw(&s->draw, &s->top);
}

static int on_interval(struct sink *sink, const struct frames *interval)
{
	struct screen *s = (struct screen *)sink;
	int err = top_take(&s->top, interval);

	if (!err && !s->top.paused)
		draw(s);
	return err;
}

/* For a replay the summary is not the end: the last screen stays. */
static int on_summary(struct sink *sink, const struct frames *run)
{
	struct screen *s = (struct screen *)sink;

	(void)run;
	s->top.over = true;
	draw(s);
	return 0;
}

static int key_of(int c)
{
	switch (c) {
	case KEY_UP:
		return TOP_UP;
	case KEY_DOWN:
		return TOP_DOWN;
	case KEY_PPAGE:
		return TOP_PAGE_UP;
	case KEY_NPAGE:
		return TOP_PAGE_DOWN;
	case KEY_HOME:
		return TOP_HOME;
	case KEY_END:
		return TOP_END;
	case KEY_ENTER:
	case '\n':
	case '\r':
		return TOP_ENTER;
	case KEY_BACKSPACE:
	case '\b':
	case 0x7F:
		return TOP_BACKSPACE;
	case 0x1B:
		return TOP_ESCAPE;
	default:
		return c;
	}
}

/* Returns whether the size of the terminal has changed. */
static bool resized(struct screen *s)
{
	struct signalfd_siginfo told;
	struct winsize now;

	while (read(s->input.fds[1], &told, sizeof(told)) > 0)
		;
	if (ioctl(fileno(s->tty), TIOCGWINSZ, &now) || !now.ws_row || !now.ws_col ||
	    (now.ws_row == s->size.ws_row && now.ws_col == s->size.ws_col))
		return false;
	s->size = now;
	resizeterm(now.ws_row, now.ws_col);
	return true;
}

static bool on_input(struct loop_input *in)
{
	struct screen *s = screen_of(in);
	bool any = resized(s);
	int c;

	while ((c = getch()) != ERR) {
		if (!top_key(&s->top, key_of(c)))
			return false;
		any = true;
	}
	if (any)
		draw(s);
	return true;
}

static void on_close(struct sink *sink)
{
	struct screen *s = (struct screen *)sink;

	if (s->curses) {
		endwin();
		delscreen(s->curses);
	}
	tty_is_back();
	if (s->tty)
		fclose(s->tty);
	cleanup_close(&s->input.fds[1]);
	if (s->errors) {
		stderr = s->errors;
		kept_end(&s->kept, stderr);
	}
	top_uninit(&s->top);
	free(s);
}

static const struct sink_ops sink_top = {
	.interval = on_interval,
	.summary = on_summary,
	.close = on_close,
};

/*
 * Standard output may be for writing only. After su(1) the new user may not be allowed to open the terminal by its
 * name.
 */
static FILE *open_terminal(void)
{
	char path[32];
	int fd;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", STDOUT_FILENO);
	fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "r+");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

static bool can_move_cursor(int fd)
{
	const char *how;
	bool can;
	int err;

	if (setupterm(NULL, fd, &err) != OK)
		return false;
	how = tigetstr("cup");
	can = how && how != (const char *)-1;
	del_curterm(cur_term);
	return can;
}

/* Ctrl-S would block a write for ever, and with it the run. */
static void without_flow_keys(int fd)
{
	struct termios modes;

	if (tcgetattr(fd, &modes))
		return;
	modes.c_iflag &= ~IXON;
	tcsetattr(fd, TCSANOW, &modes);
	def_prog_mode();
}

static int begin_curses(struct screen *s, struct problem *p)
{
	const char *type = getenv("TERM");
	sigset_t resize;
	int fd;

	s->tty = open_terminal();
	if (!s->tty)
		return problem_set(p, -ENOTTY, "can't open the terminal: %s; 'blklat live' needs none", strerror(errno));
	fd = fileno(s->tty);
	tty_is_taken(fd);
	if (can_move_cursor(fd))
		s->curses = newterm(NULL, s->tty, s->tty);
	if (!s->curses)
		return problem_set(p, -ENOTTY, "a terminal of type '%s' can't be drawn on: set TERM, or use 'blklat live'",
				   type ? type : "");
	cbreak();
	without_flow_keys(fd);
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, true);
	nodelay(stdscr, true);
	set_escdelay(25);
	top_draw_init(&s->draw, s->draw.look);
	sigemptyset(&resize);
	sigaddset(&resize, SIGWINCH);
	sigprocmask(SIG_BLOCK, &resize, NULL);
	s->input.fds[0] = fd;
	s->input.fds[1] = signalfd(-1, &resize, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->input.fds[1] < 0)
		return problem_set(p, -errno, "can't wait for a new size of the terminal: %s", strerror(errno));
	ioctl(fd, TIOCGWINSZ, &s->size);
	return 0;
}

static int keep_errors(struct screen *s)
{
	if (!isatty(STDERR_FILENO))
		return 0;
	if (kept_begin(&s->kept))
		return -ENOMEM;
	s->errors = stderr;
	stderr = s->kept.f;
	return 0;
}

int top_open(const struct run_info *run, const struct look *look, struct sink **ret, struct loop_input **ret_input,
	     struct problem *p)
{
	struct screen *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return problem_set(p, -ENOMEM, "out of memory");
	s->sink.ops = &sink_top;
	s->input = (struct loop_input){ .fds = { -1, -1 }, .take = on_input };
	s->draw.look = look;
	if (top_init(&s->top, run)) {
		free(s);
		return problem_set(p, -ENOMEM, "out of memory");
	}
	err = begin_curses(s, p);
	if (!err && keep_errors(s))
		err = problem_set(p, -ENOMEM, "out of memory");
	if (err) {
		on_close(&s->sink);
		return err;
	}
	draw(s);
	*ret = &s->sink;
	*ret_input = &s->input;
	return 0;
}
