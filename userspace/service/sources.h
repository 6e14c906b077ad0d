/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sources of connections, as far as they are told apart: an IPv4 address, or an IPv6 /64 network, since
 * whoever has one address of it has them all. The table has a fixed size. The source not seen for
 * longest is forgotten first; those that have scraped are forgotten last.
 */
#ifndef SERVICE_SOURCES_H
#define SERVICE_SOURCES_H

#include <sys/socket.h>

#include "util/types.h"

#define SOURCES 512		/* more than there can be connections, so that sources with one stay */
#define SOURCE_FAILURES 20	/* wrong passwords allowed at once; eight a second are forgiven */

struct source {
	unsigned char key[16];	/* IPv6 address; for IPv4 the mapped one */
	u64 seen_ns;		/* 0: this place is free */
	u64 scraped_ns;		/* 0: never */
	u64 paid_ns;		/* when the last of its wrong passwords will be forgiven */
	u64 checked_ns;		/* when the last check of a password from there began */
	u32 connections;	/* counted by peers.c, like these */
	u32 streams;
	u32 waiting;		/* for their password to be checked */
};

struct sources {
	struct source o[SOURCES];
};

/* The source of @from, made if needed. NULL: all places are taken by sources with connections. */
struct source *sources_get(struct sources *all, const struct sockaddr *from, u64 now_ns);

/* Whether it has scraped within the last minutes. */
bool source_known(const struct source *o, u64 now_ns);

/* A password from there was wrong. */
void source_failed(struct source *o, u64 now_ns);

/* When its next password may be checked; 0: now. */
u64 source_until_ns(const struct source *o, u64 now_ns);

#endif
