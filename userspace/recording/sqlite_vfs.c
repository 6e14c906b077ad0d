// SPDX-License-Identifier: GPL-2.0-only
#include "recording/sqlite_vfs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR_BYTES 4096

struct open_file {
	sqlite3_file base;
	const struct sqlite_fds *f;
};

static const struct sqlite_fds *fds_of(sqlite3_file *file)
{
	return ((struct open_file *)file)->f;
}

/* Bytes beyond the end read as 0, with SQLITE_IOERR_SHORT_READ. */
static int read_at(int fd, char *to, int len, s64 at)
{
	while (len) {
		ssize_t n = pread(fd, to, len, at);

		if (n < 0 && errno != EINTR)
			return SQLITE_IOERR_READ;
		if (!n) {
			memset(to, 0, len);
			return SQLITE_IOERR_SHORT_READ;
		}
		if (n > 0) {
			to += n;
			at += n;
			len -= n;
		}
	}
	return SQLITE_OK;
}

/* SQLite reads whole pages, or a piece of the first. A log with pages of another size belongs to another database. */
static int on_read(sqlite3_file *file, void *to, int len, sqlite3_int64 at)
{
	const struct sqlite_fds *f = fds_of(file);
	u32 page_bytes = f->wal.page_bytes;
	s64 found;

	if (!f->wal.n)
		return read_at(f->fd, to, len, at);
	if (at % page_bytes + len > page_bytes)
		return SQLITE_CORRUPT;
	found = sqlite_wal_find(&f->wal, at / page_bytes + 1);
	return found < 0 ? read_at(f->fd, to, len, at) : read_at(f->wal.fd, to, len, found + at % page_bytes);
}

static int on_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	const struct sqlite_fds *f = fds_of(file);
	struct stat st;

	if (fstat(f->fd, &st))
		return SQLITE_IOERR_FSTAT;
	*ret = f->wal.n ? (s64)f->wal.db_pages * f->wal.page_bytes : st.st_size;
	return SQLITE_OK;
}

static int on_close(sqlite3_file *file)
{
	(void)file;
	return SQLITE_OK;
}

static int on_write(sqlite3_file *file, const void *from, int len, sqlite3_int64 at)
{
	(void)file, (void)from, (void)len, (void)at;
	return SQLITE_READONLY;
}

static int on_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	(void)file, (void)size;
	return SQLITE_READONLY;
}

static int on_sync(sqlite3_file *file, int flags)
{
	(void)file, (void)flags;
	return SQLITE_OK;
}

static int on_lock(sqlite3_file *file, int lock)
{
	(void)file, (void)lock;
	return SQLITE_OK;
}

static int on_check_lock(sqlite3_file *file, int *ret)
{
	(void)file;
	*ret = 0;
	return SQLITE_OK;
}

static int on_control(sqlite3_file *file, int op, void *arg)
{
	(void)file, (void)op, (void)arg;
	return SQLITE_NOTFOUND;
}

static int on_sector_size(sqlite3_file *file)
{
	(void)file;
	return SECTOR_BYTES;
}

/* Says that nobody writes, so that SQLite neither looks for a journal to roll back nor opens a log by itself. */
static int on_characteristics(sqlite3_file *file)
{
	(void)file;
	return SQLITE_IOCAP_IMMUTABLE;
}

/* Version 1 of these methods has neither a mapped index (xShmMap) nor a mapped file (xFetch). */
static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = on_close,
	.xRead = on_read,
	.xWrite = on_write,
	.xTruncate = on_truncate,
	.xSync = on_sync,
	.xFileSize = on_size,
	.xLock = on_lock,
	.xUnlock = on_lock,
	.xCheckReservedLock = on_check_lock,
	.xFileControl = on_control,
	.xSectorSize = on_sector_size,
	.xDeviceCharacteristics = on_characteristics,
};

/* Opens nothing but the database: SQLite has to keep temporary data in memory. */
static int on_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	struct open_file *o = (struct open_file *)file;

	(void)name;
	o->base.pMethods = NULL;
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN;
	o->base.pMethods = &methods;
	o->f = vfs->pAppData;
	if (ret_flags)
		*ret_flags = SQLITE_OPEN_READONLY;
	return SQLITE_OK;
}

static int on_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs, (void)name, (void)sync;
	return SQLITE_IOERR_DELETE;
}

static int on_access(sqlite3_vfs *vfs, const char *name, int flags, int *ret)
{
	(void)vfs, (void)name, (void)flags;
	*ret = 0;
	return SQLITE_OK;
}

static int on_path(sqlite3_vfs *vfs, const char *name, int room, char *ret)
{
	(void)vfs;
	snprintf(ret, room, "%s", name);
	return SQLITE_OK;
}

static int on_random(sqlite3_vfs *vfs, int n, char *ret)
{
	sqlite3_vfs *usual = sqlite3_vfs_find("unix");

	(void)vfs;
	return usual ? usual->xRandomness(usual, n, ret) : 0;
}

static int on_sleep(sqlite3_vfs *vfs, int us)
{
	(void)vfs;
	return us;
}

static int on_time(sqlite3_vfs *vfs, double *ret)
{
	sqlite3_vfs *usual = sqlite3_vfs_find("unix");

	(void)vfs;
	return usual ? usual->xCurrentTime(usual, ret) : SQLITE_ERROR;
}

int sqlite_fds_open(struct sqlite_fds *f, sqlite3 **ret_db)
{
	int rc;

	/* Each has its own VFS, so the descriptors need not be looked up by name. */
	snprintf(f->name, sizeof(f->name), "blklat-%p", (void *)f);
	f->vfs = (sqlite3_vfs){
		.iVersion = 1,
		.szOsFile = sizeof(struct open_file),
		.mxPathname = 64,
		.zName = f->name,
		.pAppData = f,
		.xOpen = on_open,
		.xDelete = on_delete,
		.xAccess = on_access,
		.xFullPathname = on_path,
		.xRandomness = on_random,
		.xSleep = on_sleep,
		.xCurrentTime = on_time,
	};
	rc = sqlite3_vfs_register(&f->vfs, 0);
	if (rc) {
		f->vfs.zName = NULL;
		return rc;
	}
	return sqlite3_open_v2("recording", ret_db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, f->name);
}

void sqlite_fds_close(struct sqlite_fds *f, sqlite3 *db)
{
	sqlite3_close(db);
	if (f->vfs.zName)
		sqlite3_vfs_unregister(&f->vfs);
	f->vfs.zName = NULL;
}
