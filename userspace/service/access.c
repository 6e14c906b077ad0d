// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "service/server_state.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define WAITING_MAX 128		/* connections */
#define WAITING_OF_ONE 64	/* waiting peers of a source; at eight a second all get a turn in time (peers.c) */

#define CHECK_ROUND_NS (NSEC_PER_SEC / 20)	/* while all wait for their source's turn */

/* The check of a password, for all peers of a source that sent the same one. */
struct check {
	struct auth_claim claim;
	struct source *source;
	char *password;
	u64 since_ns;
	u32 users;		/* the peers, and the server while it is in progress */
};

static void check_unref(struct check *k)
{
	if (--k->users)
		return;
	explicit_bzero(k->password, strlen(k->password));
	free(k->password);
	free(k);
}

static struct check *check_new(const struct auth_claim *claim, struct source *source, const char *password)
{
	struct check *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	*k = (struct check){ .claim = *claim, .source = source, .password = strdup(password), .since_ns = now_ns() };
	if (k->password)
		return k;
	free(k);
	return NULL;
}

static struct check *same_check(struct server *s, const struct auth_claim *claim, const struct source *source)
{
	for (u32 i = 0; i < SERVER_PEERS; i++) {
		struct check *k = s->peers[i].check;

		if (k && k->source == source && auth_same_claim(&k->claim, claim))
			return k;
	}
	return NULL;
}

static u32 waiting(const struct server *s)
{
	u32 n = 0;

	for (u32 i = 0; i < SERVER_PEERS; i++)
		n += s->peers[i].check != NULL;
	return n;
}

void access_forget(struct peer *peer)
{
	if (!peer->check)
		return;
	peer->source->waiting--;
	check_unref(TAKE(peer->check));
}

static enum access wait_for_check(struct server *s, struct peer *peer, const struct auth_claim *claim, const char *password)
{
	struct check *k = same_check(s, claim, peer->source);

	if (s->stopping || waiting(s) >= WAITING_MAX || peer->source->waiting >= WAITING_OF_ONE)
		return ACCESS_LATER;
	k = k ?: check_new(claim, peer->source, password);
	if (!k)
		return ACCESS_LATER;
	k->users++;
	peer->check = k;
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
	struct check *k = TAKE(s->under_way);

	checker_free(TAKE(s->checker));
	if (!k)
		return;
	k->source->waiting--;
	check_unref(k);
}

/* A correct password also lets in peers from other sources that sent it. */
static void settle(struct server *s, bool matches)
{
	struct check *k = s->under_way;
	bool allowed = auth_learn(s->auth, &k->claim, matches);

	if (!allowed)
		source_failed(k->source, now_ns());
	for (u32 i = 0; i < SERVER_PEERS; i++) {
		struct peer *peer = &s->peers[i];

		if (peer->check == k || (allowed && peer->check && auth_same_claim(&peer->check->claim, &k->claim)))
			go_on(peer, allowed ? ACCESS_GRANTED : ACCESS_REFUSED);
	}
	access_drop(s);
}

static bool goes_before(const struct check *a, const struct check *b)
{
	if (a->source->checked_ns != b->source->checked_ns)
		return a->source->checked_ns < b->source->checked_ns;
	return a->since_ns < b->since_ns;
}

static struct check *next_check(struct server *s)
{
	struct check *next = NULL;
	u64 now = now_ns();

	for (u32 i = 0; i < SERVER_PEERS; i++) {
		struct check *k = s->peers[i].check;

		if (k && !source_until_ns(k->source, now) && (!next || goes_before(k, next)))
			next = k;
	}
	return next;
}

static void begin_check(struct server *s)
{
	u64 now = now_ns();
	struct check *k = now < s->rests_until_ns ? NULL : next_check(s);

	s->checker = k ? checker_begin(k->password, auth_hash(s->auth, &k->claim)) : NULL;
	if (!s->checker)
		return;
	k->users++;
	k->source->waiting++;	/* the source stays until the check is done */
	k->source->checked_ns = now;
	s->under_way = k;
}

void access_round(struct server *s)
{
	u64 now = now_ns();
	bool matches;

	if (s->under_way && checker_done(s->checker, &matches)) {
		s->rests_until_ns = 2 * now - s->under_way->source->checked_ns;
		settle(s, matches);
	}
	for (u32 i = 0; i < SERVER_PEERS; i++) {
		struct peer *peer = &s->peers[i];

		if (peer->check && (s->stopping || peer->phase == PEER_CUT || now > peer->until_ns))
			go_on(peer, ACCESS_LATER);
	}
	if (!s->under_way && !s->stopping)
		begin_check(s);
}

u64 access_wait_ns(const struct server *s)
{
	u64 now = now_ns();

	if (s->under_way || !waiting(s))
		return UINT64_MAX;
	return now < s->rests_until_ns ? s->rests_until_ns - now : CHECK_ROUND_NS;
}
