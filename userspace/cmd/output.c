// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/ends.h"
#include "live/signals.h"
#include "util/cleanup.h"
#include "util/types.h"

static int failed(const struct output *o, int err, struct problem *p)
{
	return problem_set(p, err, "could not write %s: %s", o->file ?: "the output", strerror(-err));
}

/* Makes a new file with the usual permissions, unlike mkstemp(), whose file only the user can read. */
static int open_beside(struct output *o)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	if (asprintf(&o->beside, "%s.XXXXXX", o->file) < 0) {
		o->beside = NULL;
		return -ENOMEM;
	}
	fd = mkstemp(o->beside);
	if (fd < 0) {
		int err = -errno;

		free(TAKE(o->beside));
		return err;
	}
	if (!fchmod(fd, 0666 & ~mask))
		o->f = fdopen(fd, "w");
	if (o->f)
		return 0;
	close(fd);
	return -errno;
}

static int hold_up_signals(const char *who, struct problem *p)
{
	sigset_t ends;

	signals_block();
	signals_of_end(&ends);
	return ends_begin(who, &ends, false, p);
}

int output_begin(struct output *o, const char *file, const char *who, struct problem *p)
{
	struct stat is;
	int err = 0;

	*o = (struct output){ .file = file };
	if (!file) {
		o->f = stdout;
		return 0;
	}
	is.st_mode = S_IFREG;	/* a file that does not exist yet will be one */
	if (!stat(file, &is) && S_ISBLK(is.st_mode))
		/*
		 * Nobody wants to overwrite a disk, but somebody who may make links here could have us
		 * do it.
		 */
		return problem_set(p, -EINVAL, "could not write %s: it is a block device", file);
	if (!S_ISREG(is.st_mode)) {
		o->f = fopen(file, "we");
		err = o->f ? 0 : -errno;
	} else {
		err = hold_up_signals(who, p);
		if (err)
			return err;
		err = open_beside(o);
	}
	return err ? failed(o, err, p) : 0;
}

int output_end(struct output *o, int err, struct problem *p)
{
	errno = 0;
	if (!err && (fflush(o->f) || ferror(o->f)))
		err = errno ? -errno : -EIO;
	if (!o->file)
		return !err || err == -EPIPE ? 0 : failed(o, err, p);
	if (fclose(TAKE(o->f)) && !err)
		err = -errno;
	if (!err && o->beside && rename(o->beside, o->file))
		err = -errno;
	if (err)
		return failed(o, err, p);
	free(TAKE(o->beside));
	return 0;
}

void output_drop(struct output *o)
{
	if (o->f && o->file)
		fclose(o->f);
	if (o->beside)
		unlink(o->beside);
	free(o->beside);
	*o = (struct output){ 0 };
}
