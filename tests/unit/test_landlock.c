// SPDX-License-Identifier: GPL-2.0-only
/* A process that shut itself out of the file system, as Landlock's own kernel sees it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/landlock.h"

enum { REFUSED, MISSING, FAILED, READS, LISTS, MAKES, REMOVES, KEEPS };

/* In a process of its own, for it is for good. Returns what is wrong first. */
static int shut_out(const char *file, int open_before)
{
	char byte, other[64];
	int err;

	snprintf(other, sizeof(other), "%s.new", file);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return FAILED;
	err = landlock_shut_out();
	if (err == -ENOSYS || err == -EOPNOTSUPP)
		return MISSING;
	if (err)
		return FAILED;
	if (open(file, O_RDONLY) >= 0 || errno != EACCES)
		return READS;
	if (open("/", O_RDONLY | O_DIRECTORY) >= 0 || errno != EACCES)
		return LISTS;
	if (open(other, O_CREAT | O_WRONLY, 0600) >= 0 || errno != EACCES || !mkdir(other, 0700) || errno != EACCES)
		return MAKES;
	if (!unlink(file) || errno != EACCES)
		return REMOVES;
	return pread(open_before, &byte, 1, 0) == 1 && byte == 'x' ? REFUSED : KEEPS;
}

static void test_no_file_is_reached(void **unused)
{
	char file[] = "/tmp/blklat-landlock-XXXXXX";
	int fd = mkstemp(file), status;
	pid_t child;

	(void)unused;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	child = fork();
	assert_true(child >= 0);
	if (!child)
		_exit(shut_out(file, fd));
	assert_int_equal(waitpid(child, &status, 0), child);
	close(fd);
	assert_int_equal(unlink(file), 0);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == MISSING) {
		print_message("this kernel has no Landlock\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), REFUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_file_is_reached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
