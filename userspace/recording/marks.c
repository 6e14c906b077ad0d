// SPDX-License-Identifier: GPL-2.0-only
#include "recording/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "recording/sqlite.h"
#include "util/cleanup.h"
#include "util/sysfs.h"

#define FIFO_BYTES (1 << 20)	/* of marks that wait for the end of an interval; the kernel may allow less */

/* What the file system answers where it has no FIFO, as those for removable disks. */
static bool has_no_fifos(int err)
{
	return err == -EPERM || err == -EOPNOTSUPP || err == -ENOSYS || err == -EINVAL;
}

/* What we have made is what we open, and nobody else can write to. */
static int open_fifo(const char *name)
{
	int fd = open(name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISFIFO(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077)) {
		fcntl(fd, F_SETPIPE_SZ, FIFO_BYTES);
		return fd;
	}
	close(fd);
	return -EEXIST;
}

int recording_marks_open(struct recording_marks *m, const char *file, struct problem *p)
{
	int err;

	m->fifo = -1;
	if (asprintf(&m->name, "%s" RECORDING_MARK_END, file) < 0) {
		m->name = NULL;
		return problem_set(p, -ENOMEM, "%s: no memory", file);
	}
	err = mkfifo(m->name, 0600) ? -errno : 0;
	if (has_no_fifos(err))
		return 0;
	if (!err) {
		m->fifo = open_fifo(m->name);
		err = m->fifo < 0 ? m->fifo : 0;
	}
	return err ? problem_set(p, err, "%s: can't be made: %s", m->name, strerror(-err)) : 0;
}

static int put(sqlite3_stmt *s, struct recording_mark *mark)
{
	const s64 most = RECORDING_TOTAL_MAX;

	mark->text[RECORDING_MARK_BYTES] = '\0';
	text_clean(mark->text);
	if (!*mark->text || mark->mono_ns > RECORDING_TOTAL_MAX || mark->wall_ns < -most || mark->wall_ns > most)
		return SQLITE_OK;
	sqlite3_bind_int64(s, 1, mark->mono_ns);
	sqlite3_bind_int64(s, 2, mark->wall_ns);
	sqlite3_bind_text(s, 3, mark->text, -1, SQLITE_STATIC);
	return sqlite_step_done(s);
}

/* The first, and all that came with it. */
static int put_all(struct recording_marks *m, sqlite3 *db, struct recording_mark *mark)
{
	sqlite3_stmt *s CLEANUP(cleanup_statement) = NULL;
	int rc;
	s64 n = sqlite_number(db, "SELECT count(*) FROM mark", &rc);

	if (!rc)
		rc = sqlite3_prepare_v2(db, "INSERT INTO mark VALUES(?, ?, ?)", -1, &s, NULL);
	while (!rc && n < RECORDING_MARKS_MAX) {
		rc = put(s, mark);
		n++;
		if (rc || read(m->fifo, mark, sizeof(*mark)) != sizeof(*mark))
			return rc;
	}
	recording_marks_close(m);
	return rc;
}

int recording_marks_take(struct recording_marks *m, sqlite3 *db)
{
	struct recording_mark mark;
	int rc;

	if (m->fifo < 0 || read(m->fifo, &mark, sizeof(mark)) != sizeof(mark))
		return SQLITE_OK;
	rc = sqlite_run(db, "BEGIN IMMEDIATE") ?: put_all(m, db, &mark);
	return rc ?: sqlite_run(db, "COMMIT");
}

void recording_marks_close(struct recording_marks *m)
{
	if (m->fifo >= 0)
		unlink(m->name);
	cleanup_close(&m->fifo);
	m->fifo = -1;
	free(TAKE(m->name));
}
