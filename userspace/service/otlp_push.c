// SPDX-License-Identifier: GPL-2.0-only
#include "service/otlp_push.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "service/protobuf.h"
#include "service/server_state.h"
#include "util/clock.h"
#include "util/utf8.h"

#define REQUEST_S 10L		/* that one may take */
#define PAUSE_LEAST_NS NSEC_PER_SEC
#define PAUSE_MOST_NS (60 * NSEC_PER_SEC)
#define ASKED_MOST_S 3600	/* of a pause that the collector asks for */
#define LOOK_MS 1000
#define ANSWER_MAX 4096		/* bytes of an answer that are read */
#define SAID_MAX 200		/* that are told */

struct waiting {
	struct waiting *next;
	struct blob *body;
};

struct otlp_push {
	const struct otlp_push_config *cfg;
	CURLM *multi;
	CURL *easy;
	struct curl_slist *headers;
	struct waiting *first, **last;
	size_t bytes;			/* of these */
	bool sends;			/* the first one */
	bool fails;			/* and that was told */
	u32 dropped;			/* since */
	u64 pause_ns, retry_ns;		/* CLOCK_MONOTONIC; 0: at once */
	size_t answered;
	char answer[ANSWER_MAX + 1];
	char error[CURL_ERROR_SIZE];
};

/* --- what waits ------------------------------------------------------------------------------- */

static void drop_at(struct otlp_push *o, struct waiting **at)
{
	struct waiting *w = *at;

	*at = w->next;
	if (!w->next)
		o->last = at;
	o->bytes -= w->body->len;
	blob_unref(w->body);
	free(w);
}

int otlp_push_add(struct otlp_push *o, const struct blob *request)
{
	struct waiting *w = calloc(1, sizeof(*w));
	struct blob *body = w ? encoding_gzip(request) : NULL;

	if (!body) {
		free(w);
		return -ENOMEM;
	}
	w->body = body;
	*o->last = w;
	o->last = &w->next;
	o->bytes += body->len;
	/* curl has what is being sent. */
	while (o->bytes > OTLP_WAITING_BYTES && o->first->next != (o->sends ? w : NULL)) {
		drop_at(o, o->sends ? &o->first->next : &o->first);
		o->dropped++;
	}
	return 0;
}

/* --- what becomes of it ----------------------------------------------------------------------- */

static void tell(struct otlp_push *o, bool fails, const struct problem *p)
{
	if (fails != o->fails)
		o->cfg->told(o->cfg->into, p);
	o->fails = fails;
}

/* What a collector says may be anything. */
static const char *said(char text[SAID_MAX + 1], const char *answer, size_t len)
{
	snprintf(text, SAID_MAX + 1, "%.*s", (int)min_u64(len, SAID_MAX), answer);
	text_clean(text);
	return text;
}

/* The fields of opentelemetry/proto/collector/metrics/v1/metrics_service.proto that tell what was rejected. */
static s64 read_rejected(const struct otlp_push *o, char text[SAID_MAX + 1])
{
	struct wire_in answer = { (const u8 *)o->answer, (const u8 *)o->answer + o->answered, false };
	struct pb_field partial, f;
	s64 rejected = 0;

	text[0] = '\0';
	while (pb_next(&answer, &partial))
		while (partial.field == 1 && pb_next(&partial.bytes, &f)) {
			if (f.field == 1)
				rejected = f.number;
			if (f.field == 2)
				said(text, (const char *)f.bytes.at, f.bytes.end - f.bytes.at);
		}
	return rejected;
}

/* Success may be partial: then the answer is no empty message. */
static void took(struct otlp_push *o)
{
	const char *url = o->cfg->target->url;
	char text[SAID_MAX + 1];
	s64 rejected = read_rejected(o, text);
	struct problem p;

	o->cfg->state->pushes[rejected ? OTLP_REJECTED : OTLP_OK]++;
	if (rejected) {
		problem_set(&p, 0, "%.200s rejected %lld data points: %s", url, rejected, text);
		tell(o, true, &p);
	} else if (o->fails) {
		problem_set(&p, 0, "pushing to %.200s works again; %u requests were dropped meanwhile", url, o->dropped);
		tell(o, false, &p);
	}
	if (!o->fails)
		o->dropped = 0;
}

/* The pause is somewhat random, so that the hosts of a fleet do not all come at once. */
static void retry_later(struct otlp_push *o)
{
	curl_off_t asked_s = 0;
	u64 part = 0;

	o->pause_ns = o->pause_ns ? min_u64(2 * o->pause_ns, PAUSE_MOST_NS) : PAUSE_LEAST_NS;
	if (getrandom(&part, sizeof(part), GRND_NONBLOCK) < 0)
		part = 0;
	curl_easy_getinfo(o->easy, CURLINFO_RETRY_AFTER, &asked_s);
	o->retry_ns = now_ns() +
		      max_u64(o->pause_ns - part % (o->pause_ns / 2), min_u64(asked_s, ASKED_MOST_S) * NSEC_PER_SEC);
}

/* By OTLP's specification: what may be tried again. */
static bool is_temporary(long status)
{
	return status == 429 || status == 502 || status == 503 || status == 504;
}

static void ended(struct otlp_push *o, CURLcode result)
{
	const char *url = o->cfg->target->url;
	char text[SAID_MAX + 1];
	struct problem p;
	long status = 0;

	curl_easy_getinfo(o->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_multi_remove_handle(o->multi, o->easy);
	o->sends = false;
	o->answer[o->answered] = '\0';
	if (result)
		problem_set(&p, 0, "could not push to %.200s: %s; retrying", url,
			    o->error[0] ? o->error : curl_easy_strerror(result));
	else
		problem_set(&p, 0, "could not push to %.200s: status %ld%s%s%s", url, status, o->answered ? ": " : "",
			    said(text, o->answer, o->answered), is_temporary(status) ? "; retrying" : "");
	if (result || is_temporary(status)) {
		o->cfg->state->pushes[OTLP_FAILED]++;
		tell(o, true, &p);
		retry_later(o);
		return;
	}
	drop_at(o, &o->first);
	o->pause_ns = o->retry_ns = 0;
	if (status / 100 == 2)
		took(o);
	else {
		o->cfg->state->pushes[OTLP_REJECTED]++;
		tell(o, true, &p);
		o->dropped++;
	}
}

static size_t on_answer(char *data, size_t size, size_t n, void *into)
{
	struct otlp_push *o = into;
	size_t more = min_u64(n, ANSWER_MAX - o->answered);

	memcpy(o->answer + o->answered, data, more);
	o->answered += more;
	return size * n;
}

/* --- the loop's part --------------------------------------------------------------------------- */

static void send_first(struct otlp_push *o)
{
	const struct blob *body = o->first->body;

	o->answered = 0;
	o->error[0] = '\0';
	curl_easy_setopt(o->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
	curl_easy_setopt(o->easy, CURLOPT_POSTFIELDS, body->data);
	o->sends = !curl_multi_add_handle(o->multi, o->easy);
}

/* One round: waits for @ms at most. */
static bool go_round(struct otlp_push *o, int fd, int ms)
{
	struct curl_waitfd other = { .fd = fd, .events = CURL_WAIT_POLLIN };
	u64 now = now_ns();
	const CURLMsg *m;
	int left;

	if (o->first && !o->sends && o->retry_ns <= now)
		send_first(o);
	if (o->first && !o->sends)
		ms = min_u64(ms, (o->retry_ns > now ? o->retry_ns - now : 0) / 1000000 + 1);
	curl_multi_perform(o->multi, &left);
	curl_multi_poll(o->multi, &other, fd >= 0, ms, NULL);
	curl_multi_perform(o->multi, &left);
	while ((m = curl_multi_info_read(o->multi, &left)))
		if (m->msg == CURLMSG_DONE)
			ended(o, m->data.result);
	return fd >= 0 && other.revents;
}

bool otlp_push_wait(struct otlp_push *o, int fd)
{
	return go_round(o, fd, LOOK_MS);
}

void otlp_push_flush(struct otlp_push *o, u32 ms)
{
	u64 until_ns = now_ns() + ms * 1000000ULL, now;

	o->retry_ns = 0;
	while (o->first && !o->retry_ns && (now = now_ns()) < until_ns)
		go_round(o, -1, (until_ns - now) / 1000000 + 1);
}

/* --- life -------------------------------------------------------------------------------------- */

static int add_header(struct otlp_push *o, const char *header)
{
	struct curl_slist *more = curl_slist_append(o->headers, header);

	if (!more)
		return -ENOMEM;
	o->headers = more;
	return 0;
}

static int prepare(struct otlp_push *o)
{
	const struct otlp_target *t = o->cfg->target;
	const char *trusts = otlp_push_trusts(t);
	int err = add_header(o, "Content-Type: application/x-protobuf") ?: add_header(o, "Content-Encoding: gzip") ?: add_header(o, "Expect:");

	for (u32 i = 0; !err && i < t->n_headers; i++)
		err = add_header(o, t->headers[i]);
	if (err)
		return err;
	curl_easy_setopt(o->easy, CURLOPT_URL, t->url);
	curl_easy_setopt(o->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(o->easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(o->easy, CURLOPT_HTTPHEADER, o->headers);
	curl_easy_setopt(o->easy, CURLOPT_USERAGENT, "blklat/" BLKLAT_VERSION);
	curl_easy_setopt(o->easy, CURLOPT_TIMEOUT, REQUEST_S);
	curl_easy_setopt(o->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(o->easy, CURLOPT_ERRORBUFFER, o->error);
	curl_easy_setopt(o->easy, CURLOPT_WRITEFUNCTION, on_answer);
	curl_easy_setopt(o->easy, CURLOPT_WRITEDATA, o);
	if (trusts)
		curl_easy_setopt(o->easy, CURLOPT_CAINFO, trusts);
	return 0;
}

int otlp_push_new(const struct otlp_push_config *cfg, struct otlp_push **ret)
{
	struct otlp_push *o = calloc(1, sizeof(*o));
	int err = -ENOMEM;

	if (!o)
		return err;
	o->cfg = cfg;
	o->last = &o->first;
	if (!curl_global_init(CURL_GLOBAL_DEFAULT)) {
		o->multi = curl_multi_init();
		o->easy = curl_easy_init();
	}
	if (o->multi && o->easy)
		err = prepare(o);
	if (err)
		otlp_push_free(o);
	else
		*ret = o;
	return err;
}

void otlp_push_free(struct otlp_push *o)
{
	if (!o)
		return;
	if (o->sends)
		curl_multi_remove_handle(o->multi, o->easy);
	curl_easy_cleanup(o->easy);
	curl_multi_cleanup(o->multi);
	curl_slist_free_all(o->headers);
	while (o->first)
		drop_at(o, &o->first);
	free(o);
}
