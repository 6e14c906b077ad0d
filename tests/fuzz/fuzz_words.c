// SPDX-License-Identifier: GPL-2.0-only
/*
 * Words from outside: values of options, conditions of --fail-if, the kernel's device events, what a peer sends (Host,
 * Accept-Encoding, Accept), and web.yml. The first byte chooses.
 */
#include <sys/socket.h>

#include "core/uevents.h"
#include "play.h"
#include "report/condition.h"
#include "service/address.h"
#include "service/prometheus.h"
#include "service/protobuf.h"
#include "service/server_state.h"
#include "service/web_config.h"
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
	int err = condition_parse("--fail-if", text, &c, &p);

	checked(err, &p);
	if (err)
		return;
	check(isfinite(c.limit) && strlen(c.text) < sizeof(c.text));
	check(!condition_parse("--fail-if", c.text, &again, &p) && again.metric == c.metric && again.limit == c.limit);
}

/* Whatever arrives is taken off the socket, and only an event that may be of a block device counts as news. */
static void news(const uint8_t *data, size_t len)
{
	int fds[2];

	check(!socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds));
	check(send(fds[0], data, len, 0) == (ssize_t)len);
	uevents_take(fds[1]);
	check(!uevents_take(fds[1]));
	close(fds[0]);
	close(fds[1]);
}

static void hosts(const char *text)
{
	static const char *const listen[] = { "127.0.0.1:9834", "[::1]:80", "127.1.2.3:443", ":9834" };

	for (u32 i = 0; i < ARRAY_SIZE(listen); i++) {
		struct address a;
		struct problem p;
		bool allowed;

		check(!address_parse("--listen", listen[i], &a, &p));
		allowed = address_host_allowed(&a, text, i & 1);
		/* Allowed hosts begin like this machine, whatever follows. */
		check(!allowed || i == 3 || !strncasecmp(text, "localhost", 9) || !strncmp(text, "127.", 4) || !strncmp(text, "[::1]", 5));
	}
}

static void encodings(const char *text)
{
	/* Without the word gzip or a star, the peer does not want gzip. */
	check(!encoding_gzip_wanted(text) || strcasestr(text, "gzip") || strchr(text, '*'));
}

/* What was parsed is the same when written again. */
static void addresses(const char *text)
{
	char shown[ADDRESS_TEXT], again[ADDRESS_TEXT];
	struct address a, b;
	struct problem p;

	if (address_parse("--listen", text, &a, &p))
		return;
	check(!address_parse("--listen", address_text(shown, &a), &b, &p) && !strcmp(shown, address_text(again, &b)) &&
	      address_is_loopback(&a) == address_is_loopback(&b));
}

static void formats(const char *text)
{
	check(prometheus_negotiate(text) < PROMETHEUS_FORMATS);
}

/* An accepted list is in order and in range, and reads the same when written again. */
static void lists_of_percentiles(const char *text)
{
	char again[512] = "";
	struct percentiles ps, twice;
	const char *bad = NULL;
	int bad_len = 0, err;

	if (strlen(text) >= sizeof(again))
		return;
	err = percentiles_parse(text, &ps, &bad, &bad_len);
	if (err) {
		check(err == -EINVAL && bad >= text && bad + bad_len <= text + strlen(text));
		return;
	}
	check(ps.n >= 1 && ps.n <= PERCENTILES_MAX);
	for (u32 i = 0; i < ps.n; i++) {
		check(ps.p[i].q > 0 && ps.p[i].q <= 1 && (!i || ps.p[i].q > ps.p[i - 1].q));
		strcat(strcat(again, i ? "," : ""), ps.p[i].name);
	}
	check(!percentiles_parse(again, &twice, &bad, &bad_len) && twice.n == ps.n);
	for (u32 i = 0; i < ps.n; i++)
		check(twice.p[i].q == ps.p[i].q && !strcmp(twice.p[i].name, ps.p[i].name));
}

/* What is accepted is complete; what is refused leaves nothing behind and has a sentence. */
static void web_configs(const char *text, size_t len)
{
	struct problem p = { "" };
	struct web_config c;

	if (web_config_parse(&c, "web.yml", text, len, &p)) {
		check(!c.users && !c.cert && !c.key && !strncmp(p.text, "web.yml:", 8));
		return;
	}
	check(!c.cert == !c.key);
	for (u32 i = 0; i < c.n_users; i++)
		check(c.users[i].name[0] && !strchr(c.users[i].name, ':') && strlen(c.users[i].hash) == 60);
	web_config_free(&c);
}

/* A collector's, see otlp_push.c. Each field lies behind the one before it, within the answer. */
static void answers(struct wire_in from, u32 depth)
{
	const u8 *at = from.at, *end = from.end;
	struct pb_field f;

	while (pb_next(&from, &f)) {
		check(f.bytes.at > at && f.bytes.end >= f.bytes.at && f.bytes.end <= end && from.at == f.bytes.end);
		at = from.at;
		if (depth)
			answers(f.bytes, depth - 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static void (*const of_text[])(const char *) = { numbers, names, conditions, hosts, encodings, formats, addresses, lists_of_percentiles };
	u32 which;
	char *text;

	if (len < 2)
		return 0;
	which = data[0] % (ARRAY_SIZE(of_text) + 3);
	if (which == ARRAY_SIZE(of_text)) {
		news(data + 1, len - 1);
	} else if (which == ARRAY_SIZE(of_text) + 2) {
		answers((struct wire_in){ data + 1, data + len, false }, 3);
	} else if (which > ARRAY_SIZE(of_text)) {
		web_configs((const char *)data + 1, len - 1);
	} else {
		text = strndup((const char *)data + 1, len - 1);
		of_text[which](text);
		free(text);
	}
	return 0;
}
