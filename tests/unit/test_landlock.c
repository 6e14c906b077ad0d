// SPDX-License-Identifier: GPL-2.0-only
/* A process that shut itself out of the file system, tested against the kernel's own Landlock. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/confine.h"

enum { REFUSED, MISSING, FAILED, READS, LISTS, MAKES, REMOVES, KEEPS, WRITES };

/* In a process of its own, since there is no way back. Returns the first failure. */
static int shut_out(const char *file, int open_before)
{
	char byte, other[64];
	int err;

	snprintf(other, sizeof(other), "%s.new", file);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return FAILED;
	err = landlock_shut_out();
	if (err == -EOPNOTSUPP)
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

/* The same for a process that may read everything, but write to @file alone. */
static int write_only(const char *file, int open_before)
{
	char other[64];
	int err;

	(void)open_before;
	snprintf(other, sizeof(other), "%s.new", file);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || close(open(other, O_CREAT | O_WRONLY, 0600)))
		return FAILED;
	err = landlock_write_only(file);
	if (err == -EOPNOTSUPP)
		return MISSING;
	if (err)
		return FAILED;
	if (open(file, O_RDWR) < 0 || open(other, O_RDONLY) < 0 || open("/", O_RDONLY | O_DIRECTORY) < 0)
		return KEEPS;
	if (open(other, O_WRONLY) >= 0 || errno != EACCES || open(other, O_RDWR) >= 0 || errno != EACCES)
		return WRITES;
	return unlink(other) && errno == EACCES ? REFUSED : REMOVES;
}

/* Runs @tried in a process of its own, and checks the result. */
static void assert_refused(int (*tried)(const char *file, int open_before))
{
	char file[] = "/tmp/blklat-landlock-XXXXXX", other[64];
	int fd = mkstemp(file), status;
	pid_t child;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	child = fork();
	assert_true(child >= 0);
	if (!child)
		_exit(tried(file, fd));
	assert_int_equal(waitpid(child, &status, 0), child);
	close(fd);
	assert_int_equal(unlink(file), 0);
	snprintf(other, sizeof(other), "%s.new", file);
	unlink(other);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == MISSING) {
		print_message("this kernel has no Landlock\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), REFUSED);
}

TEST(test_no_file_is_reached)
{
	assert_refused(shut_out);
}

TEST(test_one_file_is_written_to)
{
	assert_refused(write_only);
}
