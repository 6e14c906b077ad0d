// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "service/server_state.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define WAITING_MAX 128		/* connections */
#define WAITING_OF_ONE 64	/* waiting peers of a source; at eight a second all get a turn in time (peers.c) */
#define CHECK_ROUND_NS (NSEC_PER_SEC / 20)	/* while all wait for their source's turn */

static u32 waiting(const struct server *s)
{
	u32 n = 0;

	for (u32 i = 0; i < SERVER_PEERS; i++)
		n += s->peers[i].password != NULL;
	return n;
}

void access_forget(struct peer *peer)
{
	if (!peer->password)
		return;
	peer->source->waiting--;
	explicit_bzero(peer->password, strlen(peer->password));
	free(TAKE(peer->password));
}

static enum access wait_for_check(struct server *s, struct peer *peer, const struct auth_claim *claim, const char *password)
{
	if (!s->stopping && waiting(s) < WAITING_MAX && peer->source->waiting < WAITING_OF_ONE)
		peer->password = strdup(password);
	if (!peer->password)
		return ACCESS_LATER;
	peer->claim = *claim;
	peer->source->waiting++;
	peer_phase(peer->c, PEER_WAITING);
	MHD_suspend_connection(peer->c);
	return ACCESS_WAITS;
}

static enum access look(struct server *s, struct peer *peer, const char *name, const char *password)
{
	struct auth_claim claim;

	switch (auth_look(s->auth, name, password, &claim)) {
	case AUTH_YES:
		return ACCESS_GRANTED;
	case AUTH_CHECK:
		return wait_for_check(s, peer, &claim, password);
	default:
		return ACCESS_REFUSED;
	}
}

enum access access_of(struct server *s, struct MHD_Connection *c)
{
	struct peer *peer = peer_of(c);
	char *password = NULL, *name;
	enum access access = peer->access;

	peer->access = ACCESS_UNKNOWN;
	if (access || !s->web.n_users)
		return access ?: ACCESS_GRANTED;
	name = MHD_basic_auth_get_username_password(c, &password);
	access = look(s, peer, name, password);
	if (password)
		explicit_bzero(password, strlen(password));
	MHD_free(name);
	MHD_free(password);
	return access;
}

/* --- checks, from the server's round --------------------------------------------------------- */

static void go_on(struct peer *peer, enum access access)
{
	access_forget(peer);
	peer->access = access;
	MHD_resume_connection(peer->c);
}

void access_drop(struct server *s)
{
	checker_free(TAKE(s->checker));
	if (s->checked)
		s->checked->waiting--;
	s->checked = NULL;
}

/*
 * Answers all peers of the source that sent the same password. A correct one also lets in peers from other sources that
 * sent it.
 */
static void settle(struct server *s, bool matches)
{
	bool allowed = auth_learn(s->auth, &s->claim, matches);

	if (!allowed)
		source_failed(s->checked, now_ns());
	for (u32 i = 0; i < SERVER_PEERS; i++) {
		struct peer *peer = &s->peers[i];

		if (!peer->password || !auth_same_claim(&peer->claim, &s->claim))
			continue;
		if (allowed || peer->source == s->checked)
			go_on(peer, allowed ? ACCESS_GRANTED : ACCESS_REFUSED);
	}
	access_drop(s);
}

static bool goes_before(const struct peer *a, const struct peer *b)
{
	if (a->source->checked_ns != b->source->checked_ns)
		return a->source->checked_ns < b->source->checked_ns;
	return a->since_ns < b->since_ns;
}

static struct peer *next_to_check(struct server *s, u64 now)
{
	struct peer *next = NULL;

	for (struct peer *peer = s->peers; now >= s->rests_until_ns && peer < s->peers + SERVER_PEERS; peer++)
		if (peer->password && !source_until_ns(peer->source, now) && (!next || goes_before(peer, next)))
			next = peer;
	return next;
}

static void begin_check(struct server *s)
{
	u64 now = now_ns();
	struct peer *next = next_to_check(s, now);

	s->checker = next ? checker_begin(next->password, auth_hash(s->auth, &next->claim)) : NULL;
	if (!s->checker)
		return;
	s->claim = next->claim;
	s->checked = next->source;
	s->checked->waiting++;		/* it stays until the check is done */
	s->checked->checked_ns = now;
}

void access_round(struct server *s)
{
	u64 now = now_ns();
	bool matches;

	if (s->checker && checker_done(s->checker, &matches)) {
		s->rests_until_ns = 2 * now - s->checked->checked_ns;
		settle(s, matches);
	}
	for (u32 i = 0; i < SERVER_PEERS; i++) {
		struct peer *peer = &s->peers[i];

		if (peer->password && (s->stopping || peer->phase == PEER_CUT || now > peer->until_ns))
			go_on(peer, ACCESS_LATER);
	}
	if (!s->checker && !s->stopping)
		begin_check(s);
}

u64 access_wait_ns(const struct server *s)
{
	u64 now = now_ns();

	if (s->checker || !waiting(s))
		return UINT64_MAX;
	return now < s->rests_until_ns ? s->rests_until_ns - now : CHECK_ROUND_NS;
}
