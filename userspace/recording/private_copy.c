// SPDX-License-Identifier: GPL-2.0-only
#include "recording/private_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "util/cleanup.h"
#include "util/types.h"

#define PIECE_BYTES (256 << 10)

static const char *folder(void)
{
	const char *named = secure_getenv("TMPDIR");

	return named && *named ? named : "/var/tmp";
}

/* Not all file systems can make a file without a name (O_TMPFILE). On others, make one and unlink it. */
static int make_file(void)
{
	char *name CLEANUP(cleanup_free) = joined(folder(), "/blklat-XXXXXX");
	int fd = open(folder(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd < 0 ? -errno : fd;
	if (!name)
		return -ENOMEM;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(name);
	return fd;
}

/* Copies @len bytes at @at, or fewer at the end of the file. */
static int copy_piece(int from, int to, char *buffer, s64 at, s64 len)
{
	while (len > 0) {
		ssize_t n = pread(from, buffer, len < PIECE_BYTES ? len : PIECE_BYTES, at);

		if (!n)
			return 0;
		if (n < 0 || pwrite(to, buffer, n, at) != n)
			return errno ? -errno : -ENOSPC;
		at += n;
		len -= n;
	}
	return 0;
}

/* Copies up to the current end; data appended meanwhile is left to the next copy. @room: most bytes to write. */
static int copy(int from, int to, s64 room)
{
	char *buffer CLEANUP(cleanup_free) = malloc(PIECE_BYTES);
	struct stat st;
	s64 at, end = 0;
	int err = 0;

	if (!buffer)
		return -ENOMEM;
	if (fstat(from, &st) || ftruncate(to, st.st_size))
		return -errno;
	errno = 0;
	while (!err && end < st.st_size && (at = lseek(from, end, SEEK_DATA)) >= 0 && at < st.st_size) {
		end = lseek(from, at, SEEK_HOLE);
		if (end < 0)
			return -errno;
		if (end > st.st_size)
			end = st.st_size;
		room -= end - at;
		err = room < 0 ? -ENOSPC : copy_piece(from, to, buffer, at, end - at);
	}
	return err ?: errno && errno != ENXIO ? -errno : 0;
}

static int copy_all(int from, int to)
{
	struct statvfs fs;

	return fstatvfs(to, &fs) ? -errno : copy(from, to, (s64)(fs.f_bavail * fs.f_frsize / 2));
}

int private_copy(int from, const char *name, int *ret_fd, struct problem *p)
{
	int to CLEANUP(cleanup_close) = make_file(), err = to < 0 ? to : 0;

	if (!err)
		err = copy_all(from, to);
	if (err)
		return problem_set(p, err, "%s: can't be copied to %s, which has to be done while it is written to: %s "
				   "(TMPDIR names another directory)", name, folder(), strerror(-err));
	*ret_fd = to;
	to = -1;
	return 0;
}

int private_copy_to(int from, int to, const char *name, struct problem *p)
{
	int err = copy_all(from, to);

	return err ? problem_set(p, err, "%s: can't be copied: %s", name, strerror(-err)) : 0;
}

/* Makes a file in a new folder. Returns a descriptor, or a negative errno and then leaves nothing behind. */
static int make_named(char **ret_path)
{
	char *path CLEANUP(cleanup_free) = joined(folder(), "/blklat-XXXXXX/recording");
	int fd, err;

	if (!path)
		return -ENOMEM;
	*strrchr(path, '/') = '\0';
	if (!mkdtemp(path))
		return -errno;
	path[strlen(path)] = '/';
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0) {
		*ret_path = TAKE(path);
		return fd;
	}
	err = -errno;
	*strrchr(path, '/') = '\0';
	rmdir(path);
	return err;
}

int private_copy_named(int from, const char *name, char **ret_path, struct problem *p)
{
	int to CLEANUP(cleanup_close) = make_named(ret_path), err = to < 0 ? to : copy_all(from, to);

	return err ? problem_set(p, err, "%s: can't be copied to %s: %s (TMPDIR names another directory)", name, folder(),
				 strerror(-err)) : 0;
}
