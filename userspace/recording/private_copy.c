// SPDX-License-Identifier: GPL-2.0-only
#include "recording/sqlite_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "util/cleanup.h"
#include "util/types.h"

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

/* Copies up to the current end; data appended during the copy is left to the next copy. @room: most bytes to write. */
static int copy(int from, int to, s64 room)
{
	struct stat st;
	off_t at = 0, end;

	if (fstat(from, &st) || ftruncate(to, st.st_size))
		return -errno;
	while ((at = lseek(from, at, SEEK_DATA)) >= 0 && at < st.st_size) {
		end = lseek(from, at, SEEK_HOLE);
		if (end < 0 || lseek(to, at, SEEK_SET) < 0)
			return -errno;
		if (end > st.st_size)
			end = st.st_size;
		room -= end - at;
		if (room < 0)
			return -ENOSPC;
		for (ssize_t n = 1; n && at < end; )
			if ((n = sendfile(to, from, &at, end - at)) < 0)
				return -errno;
	}
	return at >= 0 || errno == ENXIO ? 0 : -errno;
}

int copy_file(int from, int to)
{
	struct statvfs fs;

	return fstatvfs(to, &fs) ? -errno : copy(from, to, (s64)(fs.f_bavail * fs.f_frsize / 2));
}

int private_copy(int from, const char *name, int *ret_fd, struct problem *p)
{
	int to CLEANUP(cleanup_close) = make_file(), err = to < 0 ? to : 0;

	if (!err)
		err = copy_file(from, to);
	if (err)
		return problem_set(p, err, "%s: can't be copied to %s, which has to be done while it is written to: %s "
				   "(TMPDIR names another directory)", name, folder(), strerror(-err));
	*ret_fd = to;
	to = -1;
	return 0;
}
