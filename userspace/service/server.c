// SPDX-License-Identifier: GPL-2.0-only
#include "service/server.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

#include "service/server_state.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define ROUND_MS 1000
#define SILENT_S 100		/* longer than PEER_RESTING, which acts first */
#define CONNECTION_BYTES (32 << 10)	/* for a request's header and its answer's; a larger request is refused */

static void request_ended(void *server, struct MHD_Connection *c, void **request, enum MHD_RequestTerminationCode why)
{
	(void)server;
	(void)request;
	if (why == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		peer_phase(c, PEER_RESTING);
}

/* No path of ours has anything to escape, so nothing is unescaped: "/metrics%00" is not "/metrics". */
static size_t unescape_nothing(void *nobody, struct MHD_Connection *c, char *text)
{
	(void)nobody;
	(void)c;
	return strlen(text);
}

static struct MHD_Daemon *start_daemon(struct server *s)
{
	const struct web_config *web = &s->web;
	int listens = fcntl(s->cfg.listen_fd, F_DUPFD_CLOEXEC, 0);	/* a copy, which the library closes */
	const char *priorities = web->only_tls13 ? "NORMAL:-VERS-ALL:+VERS-TLS1.3" :
						   "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";
	const struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, web->cert },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, web->key },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)priorities },
		{ MHD_OPTION_END, 0, NULL },
	};
	unsigned int flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (web->cert ? MHD_USE_TLS : 0);

	return listens < 0 ? NULL :
	       MHD_start_daemon(flags, 0, NULL, NULL, route, s,
				MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listens,
				MHD_OPTION_CONNECTION_LIMIT, (unsigned int)SERVER_PEERS,
				MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)SILENT_S,
				MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
				MHD_OPTION_STRICT_FOR_CLIENT, 1,
				MHD_OPTION_NOTIFY_CONNECTION, peer_notify, s,
				MHD_OPTION_NOTIFY_COMPLETED, request_ended, s,
				MHD_OPTION_UNESCAPE_CALLBACK, unescape_nothing, NULL,
				MHD_OPTION_URI_LOG_CALLBACK, peer_request_begins, s,
				MHD_OPTION_ARRAY, web->cert ? tls : &tls[ARRAY_SIZE(tls) - 1],
				MHD_OPTION_END);
}

int server_wait(const struct server *s, struct pollfd ret[SERVER_FDS])
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	MHD_UNSIGNED_LONG_LONG round_ms = min_u64(access_wait_ns(s) / 1000000, ROUND_MS - 1) + 1, ms;

	ret[0] = (struct pollfd){ .fd = info ? info->epoll_fd : -1, .events = POLLIN };
	ret[1] = (struct pollfd){ .fd = access_fd(s), .events = POLLIN };
	return s->daemon && MHD_get_timeout(s->daemon, &ms) == MHD_YES && ms < round_ms ? ms : round_ms;
}

void server_round(struct server *s)
{
	u64 now = now_ns();

	if (!s->daemon)
		return;
	if (now > s->swept_ns + ROUND_MS * 1000000ULL) {
		peers_sweep(s);
		s->swept_ns = now;
	}
	streams_wake(s, s->stopping || s->streamed != s->cfg.feed->next);
	s->streamed = s->cfg.feed->next;
	access_round(s);
	if (s->cfg.downloads)
		downloads_round(s->cfg.downloads);
	MHD_run(s->daemon);
}

/* Ends all connections, properly if possible. */
static void stop_daemon(struct server *s)
{
	if (!s->daemon)
		return;
	s->stopping = true;
	access_drop(s);
	server_round(s);
	s->stopping = false;
	MHD_stop_daemon(TAKE(s->daemon));
}

void server_free(struct server *s)
{
	if (!s)
		return;
	stop_daemon(s);
	cache_clear(&s->cache);
	web_config_free(&s->web);
	free(s);
}

int server_new(const struct server_config *cfg, struct server **ret)
{
	struct server *s = calloc(1, sizeof(*s));
	int err = s ? access_init(s) : -ENOMEM;

	if (err) {
		free(s);
		return err;
	}
	s->cfg = *cfg;
	*ret = s;
	return 0;
}

/* The library finds out only at the first connection that a certificate does not match its key, so check it here. */
static int check_tls(const struct web_config *web, struct problem *p)
{
	const gnutls_datum_t cert = { (unsigned char *)web->cert, web->cert ? strlen(web->cert) : 0 };
	const gnutls_datum_t key = { (unsigned char *)web->key, web->key ? strlen(web->key) : 0 };
	gnutls_certificate_credentials_t both;
	int err;

	if (!web->cert)
		return 0;
	if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
		return problem_set(p, -EOPNOTSUPP, "this libmicrohttpd was built without TLS");
	if (gnutls_certificate_allocate_credentials(&both))
		return problem_set(p, -ENOMEM, "out of memory");
	err = gnutls_certificate_set_x509_key_mem(both, &cert, &key, GNUTLS_X509_FMT_PEM);
	gnutls_certificate_free_credentials(both);
	return err < 0 ? problem_set(p, -EINVAL, "the certificate or its key is unusable: %s", gnutls_strerror(err)) : 0;
}

int server_use(struct server *s, struct web_config *web, struct problem *p)
{
	struct web_config before = s->web;
	struct MHD_Daemon *daemon;
	int err = check_tls(web, p);

	if (err)
		return err;
	s->web = *web;
	daemon = start_daemon(s);
	if (!daemon) {
		s->web = before;
		return problem_set(p, -EIO, "the web server could not be started");
	}
	access_keep(s, &before);
	stop_daemon(s);
	web_config_free(&before);
	*web = (struct web_config){ 0 };
	s->daemon = daemon;
	return 0;
}
