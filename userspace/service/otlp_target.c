// SPDX-License-Identifier: GPL-2.0-only
#include "service/otlp_push.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/array.h"
#include "util/cleanup.h"
#include "util/utf8.h"

#define PATH "/v1/metrics"

static void cleanup_curlu(CURLU **u)
{
	curl_url_cleanup(*u);
}

static int take_url(struct otlp_target *t, const char *url, struct problem *p)
{
	CLEANUP(cleanup_curlu) CURLU *u = curl_url();
	char *scheme = NULL, *user = NULL, *path = NULL;
	bool ours, secret, bare;

	if (!u)
		return problem_set(p, -ENOMEM, "out of memory");
	ours = !curl_url_set(u, CURLUPART_URL, url, 0) && !curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) &&
	       (!strcmp(scheme, "http") || !strcmp(scheme, "https"));
	secret = !curl_url_get(u, CURLUPART_USER, &user, 0);
	bare = !curl_url_get(u, CURLUPART_PATH, &path, 0) && !strcmp(path, "/");
	curl_free(scheme);
	curl_free(user);
	curl_free(path);
	if (secret)
		return problem_set(p, -EINVAL, "--otlp: everyone on this machine sees what is typed; put the password into a file for "
				   "--otlp-headers");
	if (!ours)
		return problem_set(p, -EINVAL, "--otlp '%.200s': a URL is needed, such as http://127.0.0.1:4318", url);
	if (bare && curl_url_set(u, CURLUPART_PATH, PATH, 0))
		return problem_set(p, -ENOMEM, "out of memory");
	return curl_url_get(u, CURLUPART_URL, &t->url, 0) ? problem_set(p, -ENOMEM, "out of memory") : 0;
}

static int take_header(struct otlp_target *t, const char *line, const char *file, struct problem *p)
{
	const char *colon = strchr(line, ':');

	if (!colon || colon == line || !text_is_clean(line) || strcspn(line, " \t") < (size_t)(colon - line))
		return problem_set(p, -EINVAL, "--otlp-headers %s: line %u is not 'Name: value'", file, t->n_headers + 1);
	if (array_grow(&t->headers, sizeof(*t->headers), t->n_headers + 1))
		return problem_set(p, -ENOMEM, "out of memory");
	t->headers[t->n_headers] = strdup(line);
	return t->headers[t->n_headers++] ? 0 : problem_set(p, -ENOMEM, "out of memory");
}

static int take_headers(struct otlp_target *t, const char *file, struct problem *p)
{
	CLEANUP(cleanup_free) char *line = NULL;
	FILE *in = fopen(file, "re");
	size_t room = 0;
	int err = 0;

	if (!in)
		return problem_set(p, -EINVAL, "--otlp-headers %s: %s", file, strerror(errno));
	while (!err && getline(&line, &room, in) > 0) {
		line[strcspn(line, "\r\n")] = '\0';
		if (*line)
			err = take_header(t, line, file, p);
	}
	if (!err && ferror(in))
		err = problem_set(p, -EINVAL, "--otlp-headers %s: %s", file, strerror(errno));
	if (line)
		explicit_bzero(line, room);
	fclose(in);
	return err;
}

int otlp_target_init(struct otlp_target *t, const char *url, const char *ca_file, const char *headers,
		     struct problem *p)
{
	int err;

	*t = (struct otlp_target){ .ca_file = ca_file };
	err = take_url(t, url, p);
	if (!err && ca_file && access(ca_file, R_OK))
		err = problem_set(p, -EINVAL, "--otlp-ca %s: %s", ca_file, strerror(errno));
	return err ?: headers ? take_headers(t, headers, p) : 0;
}

void otlp_target_uninit(struct otlp_target *t)
{
	for (u32 i = 0; i < t->n_headers; i++) {
		explicit_bzero(t->headers[i], strlen(t->headers[i]));
		free(t->headers[i]);
	}
	free(t->headers);
	if (t->url)	/* else libcurl may not be loaded */
		curl_free(t->url);
	*t = (struct otlp_target){ 0 };
}

/* Distributions have it in different places, and the release's program runs on all of them. */
const char *otlp_push_trusts(const struct otlp_target *t)
{
	static const char *const files[] = {
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
	};

	if (t->ca_file)
		return t->ca_file;
	for (u32 i = 0; i < ARRAY_SIZE(files); i++)
		if (!access(files[i], R_OK))
			return files[i];
	return NULL;
}
