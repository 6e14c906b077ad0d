/* SPDX-License-Identifier: GPL-2.0-only */
/* The address to listen on, and which Host a request may name. */
#ifndef SERVICE_ADDRESS_H
#define SERVICE_ADDRESS_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "util/problem.h"
#include "util/types.h"

#define ADDRESS_TEXT 64

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	};
};

/*
 * Reads "127.0.0.1:9834", "[::1]:9834", "localhost:9834" (127.0.0.1) or ":9834" (every address). Port 0 has
 * the kernel choose. Returns 0, or -EINVAL and a sentence that names @option.
 */
int address_parse(const char *option, const char *text, struct address *ret, struct problem *p);

/* Whether it is reachable from this machine only. */
bool address_is_loopback(const struct address *a);

/* "127.0.0.1:9834", "[::1]:9834" */
const char *address_text(char text[ADDRESS_TEXT], const struct address *a);

/*
 * Opens the socket and listens; @a then has the port that was chosen. Returns the descriptor, or a negative
 * errno and a sentence.
 */
int address_listen(struct address *a, struct problem *p);

/*
 * Checks the Host of a request, against DNS rebinding. A page of another site can have its own name
 * resolve to a loopback address, and the browser then lets it read our answers; but it can't send
 * another Host than that name. So on a loopback address the Host must be this machine: localhost or the
 * loopback address, with the port (which may be left out if it is 80, or 443 with @tls). On other
 * addresses any Host is accepted. @host may be any text; NULL: the request has none.
 */
bool address_host_allowed(const struct address *a, const char *host, bool tls);

#endif
