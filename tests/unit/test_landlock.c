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

enum { MISSING = 255 };

static char file[64], other[80];
static int open_before;

static bool refused(int result)
{
	return result < 0 && errno == EACCES;
}

/* @how: see util/confine.h. */
static void begin(int (*how)(const char *file), const char *at)
{
	int err;

	EXPECT(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	err = how(at);
	if (err == -EOPNOTSUPP)
		_exit(MISSING);
	EXPECT(!err);
}

static void shut_out(void)
{
	char byte;

	begin(landlock_only_below, NULL);
	EXPECT(refused(open(file, O_RDONLY)));
	EXPECT(refused(open("/", O_RDONLY | O_DIRECTORY)));
	EXPECT(refused(open(other, O_CREAT | O_WRONLY, 0600)) && refused(mkdir(other, 0700)));
	EXPECT(refused(unlink(file)));
	EXPECT(pread(open_before, &byte, 1, 0) == 1 && byte == 'x');
}

/* The same for a process that may read everything, but write to the file alone. */
static void write_only(void)
{
	EXPECT(!close(open(other, O_CREAT | O_WRONLY, 0600)));
	begin(landlock_write_only, file);
	EXPECT(open(file, O_RDWR) >= 0 && open(other, O_RDONLY) >= 0 && open("/", O_RDONLY | O_DIRECTORY) >= 0);
	EXPECT(refused(open(other, O_WRONLY)) && refused(open(other, O_RDWR)));
	EXPECT(refused(unlink(other)));
}

static const char *in(const char *folder, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* The same for a process that keeps files in a folder. */
static void only_below(void)
{
	char byte;

	EXPECT(!mkdir(other, 0700));
	begin(landlock_only_below, other);
	EXPECT(!close(open(in(other, "a"), O_CREAT | O_RDWR, 0600)) && !truncate(in(other, "a"), 1));
	EXPECT(!mkfifo(in(other, "b"), 0600) && !unlink(in(other, "b")) && !unlink(in(other, "a")));
	EXPECT(open(other, O_RDONLY | O_DIRECTORY) >= 0);
	EXPECT(refused(mkdir(in(other, "c"), 0700)) && refused(symlink("/", in(other, "c"))));
	EXPECT(refused(open(file, O_RDONLY)) && refused(open(file, O_WRONLY)) && refused(unlink(file)) && refused(rmdir(other)));
	EXPECT(refused(open("/", O_RDONLY | O_DIRECTORY)));
	EXPECT(pread(open_before, &byte, 1, 0) == 1 && byte == 'x');
}

/* In a process of its own, since there is no way back. */
static void check(void (*tried)(void))
{
	int status;
	pid_t child;

	strcpy(file, "/tmp/blklat-landlock-XXXXXX");
	open_before = mkstemp(file);
	snprintf(other, sizeof(other), "%s.new", file);
	assert_int_equal(write(open_before, "x", 1), 1);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		tried();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	close(open_before);
	assert_int_equal(unlink(file), 0);
	remove(other);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == MISSING) {
		print_message("this kernel has no Landlock\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);	/* else a line */
}

TEST(test_no_file_is_reached)
{
	check(shut_out);
}

TEST(test_one_file_is_written_to)
{
	check(write_only);
}

TEST(test_a_folder_is_left)
{
	check(only_below);
}
