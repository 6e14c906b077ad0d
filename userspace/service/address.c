// SPDX-License-Identifier: GPL-2.0-only
#include "service/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define BACKLOG 1024	/* if it is full, the next client is dropped and retries after a second */
#define SILENT_S 3
#define UNREAD_BYTES (128 << 10)	/* the kernel doubles it; by default it would keep some MB for each connection */

static struct sockaddr_in *v4(const struct address *a)
{
	return (struct sockaddr_in *)&a->at;
}

static struct sockaddr_in6 *v6(const struct address *a)
{
	return (struct sockaddr_in6 *)&a->at;
}

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
		*v6(ret) = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(port) };
		ret->len = sizeof(struct sockaddr_in6);
		return !len || (closed && inet_pton(AF_INET6, name + 1, &v6(ret)->sin6_addr) == 1);
	}
	*v4(ret) = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	ret->len = sizeof(struct sockaddr_in);
	return inet_pton(AF_INET, strcmp(name, "localhost") ? name : "127.0.0.1", &v4(ret)->sin_addr) == 1;
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

bool address_is_loopback(const struct address *a)
{
	if (a->at.ss_family == AF_INET)
		return ntohl(v4(a)->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&v6(a)->sin6_addr) ||
	       (IN6_IS_ADDR_V4MAPPED(&v6(a)->sin6_addr) && v6(a)->sin6_addr.s6_addr[12] == 127);
}

static u32 port_of(const struct address *a)
{
	return ntohs(a->at.ss_family == AF_INET ? v4(a)->sin_port : v6(a)->sin6_port);
}

const char *address_text(char text[ADDRESS_TEXT], const struct address *a)
{
	char host[INET6_ADDRSTRLEN];

	if (a->at.ss_family == AF_INET) {
		inet_ntop(AF_INET, &v4(a)->sin_addr, host, sizeof(host));
		snprintf(text, ADDRESS_TEXT, "%s:%u", host, port_of(a));
	} else {
		inet_ntop(AF_INET6, &v6(a)->sin6_addr, host, sizeof(host));
		snprintf(text, ADDRESS_TEXT, "[%s]:%u", host, port_of(a));
	}
	return text;
}

int address_listen(struct address *a, struct problem *p)
{
	int fd = socket(a->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err, on = 1, off = 0;
	int silent_s = SILENT_S, unread = UNREAD_BYTES;
	char text[ADDRESS_TEXT];

	if (fd >= 0) {
		/* A restart need not wait until old connections are forgotten. */
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		/* We get a connection only with its first data, so silent clients take no place from others. */
		setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &silent_s, sizeof(silent_s));
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &unread, sizeof(unread));
		if (a->at.ss_family == AF_INET6)
			setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		a->len = a->at.ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
		if (!bind(fd, (struct sockaddr *)&a->at, a->len) && !listen(fd, BACKLOG) &&
		    !getsockname(fd, (struct sockaddr *)&a->at, &a->len))
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
	const char *port_text, *end;
	char own[ADDRESS_TEXT];
	u32 port = tls ? 443 : 80;

	if (!address_is_loopback(a))
		return true;
	if (!host)
		return false;
	end = host + strcspn(host, host[0] == '[' ? "]" : ":");
	if (*end == ']')
		end++;
	port_text = end;
	if (*port_text && (*port_text != ':' || !parse_port(port_text + 1, &port)))
		return false;
	if (port != port_of(a))
		return false;
	address_text(own, a);
	*strrchr(own, ':') = '\0';
	return is_name(host, end - host, "localhost") || is_name(host, end - host, "127.0.0.1") ||
	       is_name(host, end - host, "[::1]") || is_name(host, end - host, own);
}
