// SPDX-License-Identifier: GPL-2.0-only
#include "service/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define BACKLOG 1024	/* if it is full, the next client is dropped and retries after a second */
#define SILENT_S 3
/* the kernel doubles it; by default it would keep some MB for each connection */
#define UNREAD_BYTES (128 << 10)

static bool parse_port(const char *text, u32 *ret)
{
	u32 port = 0;

	if (!*text || strlen(text) > 5 || text[strspn(text, "0123456789")])
		return false;
	while (*text)
		port = port * 10 + *text++ - '0';
	*ret = port;
	return port <= 65535;
}

static bool parse_host(const char *host, size_t len, u32 port, struct address *ret)
{
	char name[INET6_ADDRSTRLEN + 1];

	*ret = (struct address){ 0 };
	if (len >= sizeof(name))
		return false;
	memcpy(name, host, len);
	name[len] = '\0';
	if (!len || name[0] == '[') {
		bool closed = len > 2 && name[len - 1] == ']';

		if (closed)
			name[len - 1] = '\0';
		ret->v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(port) };
		return !len || (closed && inet_pton(AF_INET6, name + 1, &ret->v6.sin6_addr) == 1);
	}
	ret->v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	return inet_pton(AF_INET, strcmp(name, "localhost") ? name : "127.0.0.1", &ret->v4.sin_addr) == 1;
}

int address_parse(const char *option, const char *text, struct address *ret, struct problem *p)
{
	const char *colon = strrchr(text, ':');
	struct address a;
	u32 port;

	if (colon && parse_port(colon + 1, &port) && parse_host(text, colon - text, port, &a)) {
		*ret = a;
		return 0;
	}
	return problem_set(p, -EINVAL, "%s '%.80s': must be ADDRESS:PORT, like 127.0.0.1:9834, [::1]:9834, or :9834 for "
			   "every address", option, text);
}

static bool is_v4(const struct address *a)
{
	return a->any.sa_family == AF_INET;
}

bool address_is_loopback(const struct address *a)
{
	const struct in6_addr *v6 = &a->v6.sin6_addr;

	if (is_v4(a))
		return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

static u32 port_of(const struct address *a)
{
	return ntohs(is_v4(a) ? a->v4.sin_port : a->v6.sin6_port);
}

const char *address_text(char text[ADDRESS_TEXT], const struct address *a)
{
	char host[INET6_ADDRSTRLEN];

	inet_ntop(a->any.sa_family, is_v4(a) ? (void *)&a->v4.sin_addr : (void *)&a->v6.sin6_addr, host, sizeof(host));
	snprintf(text, ADDRESS_TEXT, is_v4(a) ? "%s:%u" : "[%s]:%u", host, port_of(a));
	return text;
}

int address_listen(struct address *a, struct problem *p)
{
	int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err, on = 1, off = 0;
	socklen_t len = is_v4(a) ? sizeof(a->v4) : sizeof(a->v6);
	int silent_s = SILENT_S, unread = UNREAD_BYTES;
	char text[ADDRESS_TEXT];

	if (fd >= 0) {
		/* A restart need not wait until old connections are forgotten. */
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		/* We get a connection only with its first data, so silent clients take no place from others. */
		setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &silent_s, sizeof(silent_s));
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &unread, sizeof(unread));
		if (!is_v4(a))
			setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		if (!bind(fd, &a->any, len) && !listen(fd, BACKLOG) && !getsockname(fd, &a->any, &len))
			return fd;
	}
	err = -errno;
	if (fd >= 0)
		close(fd);
	return problem_set(p, err, "could not listen on %s: %s%s", address_text(text, a), strerror(-err),
			   err == -EADDRINUSE ? "; choose another port by --listen" : "");
}

static bool is_name(const char *host, size_t len, const char *name)
{
	return strlen(name) == len && !strncasecmp(host, name, len);
}

bool address_host_allowed(const struct address *a, const char *host, bool tls)
{
	const char *end;
	char own[ADDRESS_TEXT];
	u32 port = tls ? 443 : 80;

	if (!address_is_loopback(a))
		return true;
	if (!host)
		return false;
	end = host + strcspn(host, host[0] == '[' ? "]" : ":");
	if (*end == ']')
		end++;
	if ((*end && (*end != ':' || !parse_port(end + 1, &port))) || port != port_of(a))
		return false;
	address_text(own, a);
	*strrchr(own, ':') = '\0';
	return is_name(host, end - host, "localhost") || is_name(host, end - host, "127.0.0.1") ||
	       is_name(host, end - host, "[::1]") || is_name(host, end - host, own);
}
