// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>
#include <time.h>

#include "service/server_state.h"
#include "service/prometheus.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/types.h"

/*
 * No other site may read an answer, frame it, or have its type guessed. The page, which needs some rights, sends a
 * policy of its own.
 */
static const char *const always[][2] = {
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
};
static const char policy[] = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

enum MHD_Result answer(struct MHD_Connection *c, unsigned int status, struct MHD_Response *r)
{
	enum MHD_Result result;

	if (!r)
		return MHD_NO;
	for (u32 i = 0; i < ARRAY_SIZE(always); i++)
		MHD_add_response_header(r, always[i][0], always[i][1]);
	if (!MHD_get_response_header(r, "Content-Security-Policy"))
		MHD_add_response_header(r, "Content-Security-Policy", policy);
	if (!MHD_get_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL))
		MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	result = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return result;
}

enum MHD_Result answer_text(struct MHD_Connection *c, unsigned int status, const char *text, const char *const more[2])
{
	struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; charset=utf-8");
	if (more)
		MHD_add_response_header(r, more[0], more[1]);
	return answer(c, status, r);
}

/* Answers with @b, whose reference it takes over; NULL: with status 500. @more: as above. */
static enum MHD_Result answer_blob(struct MHD_Connection *c, struct blob *b, const char *type,
				   const char *const more[2])
{
	struct MHD_Response *r;

	if (!b)
		return answer_text(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n", NULL);
	r = MHD_create_response_from_buffer_with_free_callback_cls(b->len, b->data, blob_release, b);
	if (!r) {
		blob_unref(b);
		return MHD_NO;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(r, MHD_HTTP_HEADER_VARY, "Accept, Accept-Encoding");
	if (more)
		MHD_add_response_header(r, more[0], more[1]);
	return answer(c, MHD_HTTP_OK, r);
}

#define BODY_MAX (64 << 10)	/* bytes */

static const char *header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

void cache_clear(struct cache *c)
{
	for (u32 i = 0; i < CACHE_KINDS; i++) {
		blob_unref(TAKE(c->plain[i]));
		blob_unref(TAKE(c->gzip[i]));
	}
}

static enum MHD_Result answer_cached(struct server *s, struct MHD_Connection *c, u32 kind, const char *type)
{
	static const char *const compressed[2] = { MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip" };
	bool gzip = encoding_gzip_wanted(header(c, MHD_HTTP_HEADER_ACCEPT_ENCODING));
	struct blob **plain = &s->cache.plain[kind], **packed = &s->cache.gzip[kind];
	const struct feed *feed = s->cfg.feed;
	u64 now = now_ns();

	if (s->cache.next != feed->next || now > s->cache.made_ns + feed->cfg.interval_s * NSEC_PER_SEC) {
		cache_clear(&s->cache);
		s->cache.next = feed->next;
		s->cache.made_ns = now;
	}
	if (!*plain && kind == CACHE_SNAPSHOT)
		*plain = blob_ref(feed_snapshot(s->cfg.feed));
	else if (!*plain)
		prometheus_render(s->cfg.totals, kind - CACHE_METRICS, plain);
	if (gzip && *plain && !*packed)
		*packed = encoding_gzip(*plain);
	return answer_blob(c, blob_ref(gzip ? *packed : *plain), type, gzip ? compressed : NULL);
}

static enum MHD_Result metrics(struct server *s, struct MHD_Connection *c)
{
	enum prometheus_format format = prometheus_negotiate(header(c, MHD_HTTP_HEADER_ACCEPT));
	const char *buckets = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "buckets");

	if (buckets && strcmp(buckets, "vmrange") != 0)
		return answer_text(c, MHD_HTTP_BAD_REQUEST, "buckets can only be vmrange\n", NULL);
	format = buckets ? PROMETHEUS_VMRANGE : format;
	peer_of(c)->source->scraped_ns = now_ns();
	return answer_cached(s, c, CACHE_METRICS + format, prometheus_content_types[format]);
}

static enum MHD_Result snapshot(struct server *s, struct MHD_Connection *c)
{
	if (!feed_snapshot(s->cfg.feed))
		return answer_text(c, MHD_HTTP_SERVICE_UNAVAILABLE, "no interval has ended yet\n",
				   (const char *const[]){ MHD_HTTP_HEADER_RETRY_AFTER, "1" });
	return answer_cached(s, c, CACHE_SNAPSHOT, "application/x-ndjson");
}

/*
 * The name that a browser saves it under: the host's, and when it was made. As it may be large, it is not compressed,
 * and its charts run in no page of ours.
 */
static enum MHD_Result answer_download(struct server *s, struct MHD_Connection *c, enum download kind, const char *type,
				       const char *end)
{
	static const char *const again[2] = { MHD_HTTP_HEADER_RETRY_AFTER, "1" };
	char name[128], when[32];
	struct utsname host;
	time_t now = time(NULL);
	struct blob *made = NULL;
	int err = s->cfg.downloads ? download_get(s->cfg.downloads, kind, &made) : -ENODATA;
	struct tm tm;

	if (err == -EAGAIN)
		return answer_text(c, MHD_HTTP_SERVICE_UNAVAILABLE, "it is being made; ask again in a second\n", again);
	if (err == -ENODATA)
		return answer_text(c, MHD_HTTP_SERVICE_UNAVAILABLE, "no interval has ended yet\n", again);
	if (err)
		return answer_text(c, MHD_HTTP_INTERNAL_SERVER_ERROR, err == -E2BIG ? "what is watched is too much for a report\n" :
				   "it could not be made\n", NULL);
	strftime(when, sizeof(when), "%Y-%m-%dT%H-%M-%SZ", gmtime_r(&now, &tm));
	snprintf(name, sizeof(name), "attachment; filename=\"blklat-%.60s-%s%s\"", uname(&host) ? "host" : host.nodename, when, end);
	return answer_blob(c, blob_ref(made), type, (const char *const[]){ "Content-Disposition", name });
}

static enum MHD_Result recording(struct server *s, struct MHD_Connection *c)
{
	return answer_download(s, c, DOWNLOAD_RECORDING, "application/vnd.sqlite3", ".blklat");
}

static enum MHD_Result report(struct server *s, struct MHD_Connection *c)
{
	return answer_download(s, c, DOWNLOAD_REPORT, "text/html; charset=utf-8", ".html");
}

static enum MHD_Result answer_well(struct server *s, struct MHD_Connection *c, bool losses)
{
	char why[FEED_WORDS + 1];

	if (feed_well(s->cfg.feed, losses, why))
		return answer_text(c, MHD_HTTP_OK, "ok\n", NULL);
	strcat(why, "\n");
	return answer_text(c, MHD_HTTP_SERVICE_UNAVAILABLE, why, NULL);
}

/* A restart would not bring lost IOs back, but lose more. */
static enum MHD_Result healthz(struct server *s, struct MHD_Connection *c)
{
	return answer_well(s, c, false);
}

static enum MHD_Result readyz(struct server *s, struct MHD_Connection *c)
{
	return answer_well(s, c, true);
}

/* Page and policy that userspace/report/web/build.mjs makes; the build passes their folder to the assembler. */
__asm__(".pushsection .rodata\n"
	"live_page:\n"
	".incbin \"web/live.html\"\n"
	"live_page_end:\n"
	"live_policy:\n"
	".incbin \"web/live.policy\"\n"
	".byte 0\n"
	".popsection\n");
/* Hidden: see report/html.c. */
extern const char __attribute__((visibility("hidden"))) live_page[], live_page_end[], live_policy[];

static enum MHD_Result page(struct server *s, struct MHD_Connection *c)
{
	size_t len = live_page_end - live_page;
	struct MHD_Response *r = MHD_create_response_from_buffer(len, (void *)live_page, MHD_RESPMEM_PERSISTENT);

	(void)s;
	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/html; charset=utf-8");
	MHD_add_response_header(r, "Content-Security-Policy", live_policy);
	return answer(c, MHD_HTTP_OK, r);
}

static const struct {
	const char *path;
	enum MHD_Result (*answer)(struct server *s, struct MHD_Connection *c);
} routes[] = {
	{ "/metrics", metrics },
	{ "/api/stream", stream_begin },
	{ "/api/snapshot", snapshot },
	{ "/api/recording", recording },
	{ "/api/report", report },
	{ "/healthz", healthz },
	{ "/readyz", readyz },
	{ "/", page },
};

static enum MHD_Result answer_path(struct server *s, struct MHD_Connection *c, const char *url, const char *method)
{
	static const char *const allow[2] = { MHD_HTTP_HEADER_ALLOW, "GET, HEAD" };

	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return answer_text(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are allowed\n", allow);
	for (u32 i = 0; i < ARRAY_SIZE(routes); i++)
		if (!strcmp(url, routes[i].path))
			return routes[i].answer(s, c);
	return answer_text(c, MHD_HTTP_NOT_FOUND,
			   "no such path; there are /, /metrics, /api/snapshot, /api/stream, /api/recording, /api/report, /healthz and "
			   "/readyz\n", NULL);
}

static enum MHD_Result count_host(void *count, enum MHD_ValueKind kind, const char *name, const char *value)
{
	(void)kind;
	(void)value;
	*(u32 *)count += !strcasecmp(name, MHD_HTTP_HEADER_HOST);
	return MHD_YES;
}

/* Of two Host headers, a proxy between us and the peer may have used the other one (RFC 9112, 3.2). */
static bool has_two_hosts(struct MHD_Connection *c)
{
	u32 n = 0;

	MHD_get_connection_values(c, MHD_HEADER_KIND, count_host, &n);
	return n > 1;
}

/*
 * A small body is read and ignored, so that its sender goes on to read the answer. A larger one, one of unknown length,
 * and one whose sender asks first (Expect) are refused unread.
 */
static bool body_refused(struct MHD_Connection *c)
{
	const char *length = header(c, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return header(c, MHD_HTTP_HEADER_TRANSFER_ENCODING) || header(c, MHD_HTTP_HEADER_EXPECT) ||
	       (length && strtoull(length, NULL, 10) > BODY_MAX);
}

static enum MHD_Result begin_request(struct MHD_Connection *c, const struct peer *peer)
{
	if (!peer)
		return MHD_NO;
	if (has_two_hosts(c)) {
		peer_phase(c, PEER_ANSWERED);
		return answer_text(c, MHD_HTTP_BAD_REQUEST, "a request must have exactly one Host header\n", NULL);
	}
	if (body_refused(c)) {
		peer_phase(c, PEER_ANSWERED);
		return answer_text(c, MHD_HTTP_CONTENT_TOO_LARGE, "requests must not have a body\n", NULL);
	}
	return MHD_YES;
}

enum MHD_Result route(void *server, struct MHD_Connection *c, const char *url, const char *method, const char *version,
		      const char *upload, size_t *upload_size, void **request)
{
	static const char *const ask[] = {
		MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Basic realm=\"blklat\", charset=\"UTF-8\"",
	};
	struct server *s = server;
	enum access access;

	(void)version;
	(void)upload;
	if (*upload_size) {
		*upload_size = 0;
		return MHD_YES;
	}
	/* The first call comes before the body, if there is one; answering it would end the connection. */
	if (!*request) {
		*request = s;
		return begin_request(c, peer_of(c));
	}
	if (peer_of(c)->phase == PEER_CUT)
		return MHD_NO;
	access = address_host_allowed(&s->cfg.address, header(c, MHD_HTTP_HEADER_HOST), s->web.cert) ?
		 access_of(s, c) : ACCESS_UNKNOWN;
	if (access == ACCESS_WAITS)
		return MHD_YES;
	peer_phase(c, PEER_ANSWERED);
	switch (access) {
	case ACCESS_GRANTED:
		return answer_path(s, c, url, method);
	case ACCESS_REFUSED:
		/* Every browser begins without a password and is then asked for it, so only wrong ones count. */
		if (header(c, MHD_HTTP_HEADER_AUTHORIZATION))
			s->cfg.totals->refused[REFUSAL_PASSWORD]++;
		return answer_text(c, MHD_HTTP_UNAUTHORIZED, "a user name and a password are required\n", ask);
	case ACCESS_LATER:
		s->cfg.totals->refused[REFUSAL_BUSY]++;
		return answer_text(c, MHD_HTTP_TOO_MANY_REQUESTS,
				   "too many passwords are waiting for a check, or too many were wrong\n",
				   (const char *const[]){ MHD_HTTP_HEADER_RETRY_AFTER, "5" });
	default:
		return answer_text(c, MHD_HTTP_FORBIDDEN,
				   "this address accepts only localhost as Host; to be reached by another name, use "
				   "--listen with another address, and --web-config\n", NULL);
	}
}
