/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where connections come from, as far as that makes a difference: an IPv4 address, or a network of IPv6 (/64, since
 * who has one address of it has them all). The table has a fixed size; who has not been seen for longest is forgotten,
 * those that have scraped last.
 */
#ifndef SERVICE_SOURCES_H
#define SERVICE_SOURCES_H

#include <sys/socket.h>

#include "util/types.h"

#define SOURCES 512		/* more than there are connections: those that have one stay */
#define SOURCE_FAILURES 20	/* wrong passwords that may come at once; eight are forgiven each second */

struct source {
	unsigned char key[16];	/* IPv6; an IPv4 address as IPv6 maps it */
	u64 seen_ns;		/* 0: this place is free */
	u64 scraped_ns;		/* 0: never */
	u64 paid_ns;		/* when the last of its wrong passwords will be forgiven */
	u64 checked_ns;		/* when a password from there was taken to be checked last */
	u32 connections;	/* these are counted by peers.c */
	u32 streams;
	u32 waiting;		/* for a check of their password */
};

struct sources {
	struct source o[SOURCES];
};

/* The one of @from, a new one if need be. NULL: all places are taken by sources with connections. */
struct source *sources_get(struct sources *all, const struct sockaddr *from, u64 now_ns);

/* Has it scraped within the last minutes? */
bool source_known(const struct source *o, u64 now_ns);

/* A password from there was wrong. */
void source_failed(struct source *o, u64 now_ns);

/* When the next of its passwords may be checked: 0, or a time to come. */
u64 source_until_ns(const struct source *o, u64 now_ns);

#endif
