// SPDX-License-Identifier: GPL-2.0-only
/* Values of options, conditions of --fail-if, and the kernel's device events. The first byte chooses. */
#include <sys/socket.h>

#include "core/uevents.h"
#include "play.h"
#include "report/condition.h"
#include "util/parse.h"

static void checked(int err, const struct problem *p)
{
	check(err ? err == -EINVAL && p->text[0] && !strchr(p->text, '\n') : true);
}

static void numbers(const char *text)
{
	struct problem p = { "" };
	double seconds = 1;
	int scale = 1;
	u64 n = 1;

	checked(parse_seconds("-i", text, &seconds, &p), &p);
	check(seconds >= 0.001 && seconds <= 86400);
	checked(parse_count("-n", text, &n, &p), &p);
	check(n >= 1);
	checked(parse_size("-s", text, &n, &p), &p);
	check(n >= 1);
	checked(parse_scale("--scale", text, 6, &scale, &p), &p);
	check(scale >= -1 && scale <= 6);
}

static void names(const char *text)
{
	static const char *const known[] = { "device", "queue", "total" };
	struct problem p = { "" };
	u32 which = 0;

	checked(parse_name("--one", text, known, 3, &which, &p), &p);
	check(which < 3);
	checked(parse_names("--all", text, known, 3, &which, &p), &p);
	check(which < 8);
}

/* An accepted condition is shown as it was written, and is accepted again. */
static void conditions(const char *text)
{
	struct problem p = { "" };
	struct condition c, again;
	int err = condition_parse(text, &c, &p);

	checked(err, &p);
	if (err)
		return;
	check(isfinite(c.limit) && strlen(c.text) < sizeof(c.text));
	check(!condition_parse(c.text, &again, &p) && again.metric == c.metric && again.limit == c.limit);
}

/* Whatever arrives is taken off the socket, and only an event that may be of a block device counts as news. */
static void news(const uint8_t *data, size_t len)
{
	bool gone, any;
	int fds[2];

	check(!socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds));
	check(send(fds[0], data, len, 0) == (ssize_t)len);
	any = uevents_take(fds[1], &gone);
	check(any || !gone);
	check(!uevents_take(fds[1], &gone));
	close(fds[0]);
	close(fds[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text;

	if (len < 2)
		return 0;
	text = strndup((const char *)data + 1, len - 1);
	switch (data[0] % 4) {
	case 0:
		numbers(text);
		break;
	case 1:
		names(text);
		break;
	case 2:
		conditions(text);
		break;
	default:
		news(data + 1, len - 1);
	}
	free(text);
	return 0;
}
