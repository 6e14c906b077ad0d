// SPDX-License-Identifier: GPL-2.0-only
#include "recording/sqlite_vfs.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "recording/sqlite.h"

#define HEAP_MAX_BYTES (64 << 20)
#define USUAL "unix-none"	/* SQLite's own files, without locks and shared memory */
#define NAME "/proc/self/fd/%d"	/* of a descriptor; it has no side files */

/* Called by SQLite instead of open(2), for all files. */
static int open_file(const char *name, int flags, int mode)
{
	int fd;

	return sscanf(name, NAME, &fd) == 1 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : open(name, flags, mode);
}

/* Opens nothing but the two files: all else that SQLite wants to keep has to be in memory. */
static int on_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	const struct sqlite_fds *f = (void *)((char *)vfs - offsetof(struct sqlite_fds, vfs));
	sqlite3_vfs *usual = sqlite3_vfs_find(USUAL);
	char log[32] = "";	/* ended by two zeros, as SQLite's names are */

	file->pMethods = NULL;
	if (flags & SQLITE_OPEN_MAIN_DB)
		return usual->xOpen(usual, name, file, flags, ret_flags);
	if (!(flags & SQLITE_OPEN_WAL))
		return SQLITE_CANTOPEN;
	/* Not as a log, or SQLite would make root its owner. */
	snprintf(log, sizeof(log) - 1, NAME, f->log);
	return usual->xOpen(usual, log, file, SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_READONLY, ret_flags);
}

static int on_path(sqlite3_vfs *vfs, const char *name, int room, char *ret)
{
	(void)vfs;
	return snprintf(ret, room, "%s", name) < room ? SQLITE_OK : SQLITE_CANTOPEN;
}

/* No code in the database is run, and SQLite's memory is bounded: a schema may be as large as the file. */
static void distrust(sqlite3 *db)
{
	sqlite3_hard_heap_limit64(HEAP_MAX_BYTES);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

int sqlite_fds_open(struct sqlite_fds *f, bool writable, sqlite3 **ret_db)
{
	const sqlite3_vfs *usual = sqlite3_vfs_find(USUAL);
	bool immutable = !writable && f->log < 0;
	char uri[64];
	int rc;

	if (!usual)
		return SQLITE_NOMEM;
	f->vfs = *usual;
	f->vfs.xSetSystemCall(&f->vfs, "open", (sqlite3_syscall_ptr)open_file);
	f->vfs.iVersion = 2;
	f->vfs.xOpen = on_open;
	f->vfs.xFullPathname = on_path;
	/* Each has its own VFS, so the descriptors need not be looked up by name. */
	snprintf(f->name, sizeof(f->name), "blklat-%p", (void *)f);
	f->vfs.zName = f->name;
	/* Of an immutable database SQLite opens no log, even if it says that it has one. */
	snprintf(uri, sizeof(uri), "file:" NAME "%s", f->fd, immutable ? "?immutable=1" : "");
	rc = sqlite3_vfs_register(&f->vfs, 0) ?:
	     sqlite3_open_v2(uri, ret_db, SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
			     (writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY), f->name);
	if (rc)
		return rc;
	distrust(*ret_db);
	/* In exclusive mode SQLite keeps the index of the log in its own memory. */
	return sqlite_run(*ret_db, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; "
			  "PRAGMA cell_size_check = ON") ?:
	       sqlite_run(*ret_db, writable ? "PRAGMA journal_mode = MEMORY" : "PRAGMA query_only = ON");
}

void sqlite_fds_close(struct sqlite_fds *f, sqlite3 *db)
{
	sqlite3_close(db);
	if (f->vfs.zName)
		sqlite3_vfs_unregister(&f->vfs);
}
