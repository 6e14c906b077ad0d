// SPDX-License-Identifier: GPL-2.0-only

#include <crypt.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "service/auth.h"
#include "util/cleanup.h"
#include "util/process.h"

#define NICE 10			/* more than the server's */

enum { CHECKING, DIFFERS, MATCHES };

struct checker {
	atomic_uint users;	/* its thread and its owner; the last one frees it */
	atomic_int result;
	char *password, *hash;
	int fd;
	struct crypt_data work;	/* large */
};

void checker_free(struct checker *c)
{
	if (!c || atomic_fetch_sub(&c->users, 1) > 1)
		return;
	if (c->password)
		explicit_bzero(c->password, strlen(c->password));
	free(c->password);
	free(c->hash);
	cleanup_close(&c->fd);
	free(c);
}

static void *work(void *checker)
{
	struct checker *c = checker;

	setpriority(PRIO_PROCESS, 0, NICE);	/* on Linux this applies to this thread only */
	atomic_store(&c->result, auth_matches(c->password, c->hash, &c->work) ? MATCHES : DIFFERS);
	eventfd_write(c->fd, 1);
	checker_free(c);
	return NULL;
}

struct checker *checker_begin(const char *password, const char *hash)
{
	struct checker *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->users = 2;
	c->password = strdup(password);
	c->hash = strdup(hash);
	c->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->password && c->hash && c->fd >= 0 && !thread_start_detached(work, c))
		return c;
	c->users = 1;
	checker_free(c);
	return NULL;
}

int checker_fd(const struct checker *c)
{
	return c->fd;
}

bool checker_done(const struct checker *c, bool *ret_matches)
{
	int result = atomic_load(&c->result);

	*ret_matches = result == MATCHES;
	return result != CHECKING;
}
