// SPDX-License-Identifier: GPL-2.0-only
/* Commands as children: found, started and ended as a shell would do it. */
#include "unit.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "folder.h"
#include "live/child.h"
#include "util/clock.h"
#include "util/ending.h"

#define MS 1000000ULL
#define PATIENCE_MS 500	/* enough for a busy machine to reap what was killed */

/* A folder of its own for each test, with what the child writes into "out". */
static char folder[FOLDER_ROOT];
static struct child child;

static u64 in_ms(u64 ms)
{
	return now_ns() + ms * MS;
}

static char *in_folder(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void put(const char *path, const char *text, mode_t mode)
{
	folder_put(folder, path, text);
	assert_int_equal(chmod(folder_above(folder, path), mode), 0);
}

/* The contents of the file, once there is a whole line. */
static const char *line_of(const char *name)
{
	static char text[8192];

	for (u64 end = in_ms(5000); now_ns() < end; usleep(1000)) {
		FILE *f = fopen(in_folder(name), "r");
		size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

		if (f)
			fclose(f);
		text[n] = '\0';
		if (strchr(text, '\n'))
			return text;
	}
	fail_msg("nothing in %s", name);
	return NULL;
}

/* Starts "sh -c @script", where $0 is the folder. */
static void start(char *script)
{
	static char *argv[] = { "sh", "-c", NULL, folder, NULL };
	struct problem p;

	argv[2] = script;
	assert_int_equal(child_init(&child, argv, &p), 0);
	assert_int_equal(ending_catch(true), 0);
	child.patience_ns = PATIENCE_MS * MS;
	assert_int_equal(child_start(&child, &p), 0);
	assert_true(child.pid > 0);
}

/* Waits for its end. */
static void assert_ends_with(int status)
{
	assert_true(child_wait(&child, in_ms(5000)));
	assert_true(child.ended);
	assert_int_equal(child.pid, 0);
	assert_int_equal(child_status(&child), status);
}

/* A child that says when it is ready and then waits; @on_signals are its traps. */
static void start_waiting(const char *on_signals)
{
	static char script[512];

	snprintf(script, sizeof(script), "%s; echo ready >$0/ready; while :; do sleep 0.01; done", on_signals);
	unlink(in_folder("ready"));
	start(script);
	line_of("ready");
}

/*
 * Shells make background commands ignore SIGINT, and nohup makes them ignore SIGHUP. A shell can't trap a signal that
 * was ignored when it started.
 */
static __attribute__((constructor)) void set_signals(void)
{
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

void set_up(void)
{
	folder_make(folder);
}

void tear_down(void)
{
	if (child.pid) {
		kill(child.pid, SIGKILL);
		waitpid(child.pid, NULL, 0);
	}
	child_uninit(&child);
	child = (struct child){ 0 };
	folder_remove(folder);
}

TEST(test_exit_status)
{
	static const struct { char *script; int status; } cases[] = { { "exit 0", 0 }, { "exit 7", 7 }, { "kill -KILL $$", 128 + 9 } };

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		start(cases[i].script);
		assert_ends_with(cases[i].status);
		child_uninit(&child);
	}
}

static int failure(char *name, const char *sentence)
{
	char *argv[] = { name, NULL };
	struct problem p = { "" };
	int err = child_init(&child, argv, &p);

	assert_non_null(strstr(p.text, sentence));
	child_uninit(&child);
	return err;
}

TEST(test_not_found)
{
	assert_int_equal(failure("zzqqxxyy", "'zzqqxxyy': command not found"), -ENOENT);
	assert_int_equal(failure("", "'': command not found"), -ENOENT);
	assert_int_equal(failure(in_folder("none"), "command not found"), -ENOENT);
	assert_int_equal(failure(folder, "can't be executed"), -EACCES);
	put("/script", "exit 0\n", 0644);
	assert_int_equal(failure(in_folder("script"), "can't be executed: Permission denied"), -EACCES);
}

/* The first match in PATH that can be executed; one that can't only if there is no other. */
TEST(test_path)
{
	char *argv[] = { "prog", NULL }, path[192], *before = strdup(getenv("PATH"));
	struct problem p;

	put("/a/prog", "exit 1\n", 0644);
	snprintf(path, sizeof(path), "%s/a:%s/b", folder, folder);
	setenv("PATH", path, 1);
	assert_int_equal(failure("prog", "Permission denied"), -EACCES);
	put("/b/prog", "exit 2\n", 0755);
	assert_int_equal(child_init(&child, argv, &p), 0);
	assert_string_equal(child.path, in_folder("b/prog"));
	setenv("PATH", before, 1);
	free(before);
}

TEST(test_script_without_interpreter)
{
	char *argv[] = { in_folder("script"), "a b", "c", NULL };
	struct problem p;

	put("/script", "[ \"$1\" = 'a b' ] && [ $# = 2 ] && exit 9\n", 0755);
	assert_int_equal(child_init(&child, argv, &p), 0);
	assert_int_equal(child_start(&child, &p), 0);
	assert_ends_with(9);
}

TEST(test_deadline)
{
	u64 begin = now_ns();

	start("until [ -e $0/end ]; do sleep 0.01; done");
	assert_false(child_wait(&child, begin + 50 * MS));
	assert_true(now_ns() - begin >= 50 * MS);
	assert_false(child.ended);
	put("/end", "", 0600);
	assert_ends_with(0);
}

/* Stopping and continuing are not an end. */
TEST(test_stopped_is_not_ended)
{
	start_waiting(":");
	kill(child.pid, SIGSTOP);
	assert_false(child_wait(&child, in_ms(100)));
	kill(child.pid, SIGCONT);
	assert_false(child_wait(&child, in_ms(100)));
	assert_int_equal(child.asked, CHILD_NOT_ASKED);
}

TEST(test_signals_are_passed_on)
{
	static const struct { int number, status; } cases[] = { { SIGINT, 52 }, { SIGTERM, 65 }, { SIGHUP, 51 } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		start_waiting("trap 'exit 52' INT; trap 'exit 65' TERM; trap 'exit 51' HUP");
		child.patience_ns = 60000 * MS;
		kill(getpid(), cases[i].number);
		assert_ends_with(cases[i].status);
		child_uninit(&child);
	}
}

/* Each Ctrl-C takes the next step, without waiting. */
TEST(test_sigint_makes_it_firmer)
{
	start_waiting("trap '' INT TERM");
	child.patience_ns = 60000 * MS;
	kill(getpid(), SIGINT);
	assert_false(child_wait(&child, in_ms(30)));
	assert_int_equal(child.asked, CHILD_ASKED);
	kill(getpid(), SIGINT);
	assert_false(child_wait(&child, in_ms(30)));
	assert_int_equal(child.asked, CHILD_TERM);
	kill(getpid(), SIGINT);
	assert_ends_with(128 + SIGKILL);
	assert_int_equal(child.asked, CHILD_KILL);
}

/* The terminal has already sent it to the command as well. */
TEST(test_sigint_of_the_terminal_is_not_passed_on)
{
	siginfo_t info = { .si_signo = SIGINT, .si_code = SI_KERNEL };

	start_waiting("trap 'echo got >>$0/out' INT; trap 'exit 65' TERM");
	child.patience_ns = 60000 * MS;
	assert_int_equal(syscall(SYS_rt_sigqueueinfo, getpid(), SIGINT, &info), 0);
	assert_false(child_wait(&child, in_ms(100)));
	assert_int_equal(child.asked, CHILD_ASKED);
	assert_int_equal(access(in_folder("out"), F_OK), -1);
	assert_int_equal(syscall(SYS_rt_sigqueueinfo, getpid(), SIGINT, &info), 0);
	assert_ends_with(65);
}

/* A terminal that goes away sends SIGHUP several times. */
TEST(test_sighup_again_does_not)
{
	start_waiting("trap '' HUP");
	child.patience_ns = 60000 * MS;
	for (int i = 0; i < 4; i++) {
		kill(getpid(), SIGHUP);
		assert_false(child_wait(&child, in_ms(20)));
	}
	assert_int_equal(child.asked, CHILD_ASKED);
	kill(getpid(), SIGTERM);
	assert_ends_with(128 + SIGTERM);
}

/* SIGINT at once, then SIGTERM and SIGKILL, each after the time limit. */
TEST(test_time_makes_it_firmer)
{
	u64 begin;

	start_waiting("trap '' INT; trap 'echo term >>$0/out' TERM");
	begin = now_ns();
	kill(getpid(), SIGINT);
	while (child.asked < CHILD_TERM)
		assert_false(child_wait(&child, in_ms(10)));
	assert_string_equal(line_of("out"), "term\n");
	assert_true(child_wait(&child, in_ms(5000)));
	assert_true(now_ns() - begin >= 2 * PATIENCE_MS * MS);
	assert_int_equal(child_status(&child), 128 + SIGKILL);
}

TEST(test_end)
{
	u64 begin;

	start_waiting(":");
	child_end(&child);
	assert_int_equal(child_status(&child), 128 + SIGTERM);
	child_end(&child);
	child_uninit(&child);

	start_waiting("trap '' TERM");
	begin = now_ns();
	child_end(&child);
	assert_true(now_ns() - begin >= PATIENCE_MS * MS && now_ns() - begin < 4000 * MS);
	assert_int_equal(child_status(&child), 128 + SIGKILL);
}

/* A child that has ended meanwhile keeps its status. */
TEST(test_end_of_one_that_ended)
{
	siginfo_t info;

	start("exit 3");
	assert_int_equal(waitid(P_PID, child.pid, &info, WEXITED | WNOWAIT), 0);
	child_end(&child);
	assert_int_equal(child_status(&child), 3);
}
