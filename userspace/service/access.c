// SPDX-License-Identifier: GPL-2.0-only
#include <crypt.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "service/server_state.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define PASSWORD_MAX 1024
#define WAITING_MAX 128		/* connections */
#define WAITING_OF_ONE 64	/* of one source; at eight a second all get a turn in time (peers.c) */
#define CHECK_ROUND_NS (NSEC_PER_SEC / 20)	/* how often to look while all wait for their source's turn */
#define NICE 10			/* of the thread that checks: more than the server's */

/* --- what is known ----------------------------------------------------------------------------- */

int access_init(struct server *s)
{
	return gnutls_rnd(GNUTLS_RND_KEY, s->key, sizeof(s->key)) ? -EIO : 0;
}

void access_keep(struct server *s, const struct web_config *before)
{
	for (u32 i = 0; i < s->web.n_users; i++)
		for (u32 old = 0; old < before->n_users; old++) {
			struct web_user *to = &s->web.users[i];
			const struct web_user *from = &before->users[old];

			if (!from->known || strcmp(from->hash, to->hash))
				continue;
			to->known = true;
			memcpy(to->digest, from->digest, sizeof(to->digest));
		}
}

/* In constant time. */
static bool same_digest(const unsigned char a[WEB_DIGEST_BYTES], const unsigned char b[WEB_DIGEST_BYTES])
{
	return !gnutls_memcmp(a, b, WEB_DIGEST_BYTES);
}

static bool digest(const struct server *s, const char *text, unsigned char ret[WEB_DIGEST_BYTES])
{
	return !gnutls_hmac_fast(GNUTLS_MAC_SHA256, s->key, sizeof(s->key), text, strlen(text), ret);
}

/* The user whose hash is checked for an unknown name; always the same one for the same name. */
static struct web_user *substitute(const struct server *s, const char *name)
{
	unsigned char key[WEB_DIGEST_BYTES];

	return &s->web.users[digest(s, name, key) ? key[0] % s->web.n_users : 0];
}

/*
 * What is known without checking a password: ACCESS_UNKNOWN if only a check can tell, and then *@ret is set. @name and
 * @password may be any text; NULL: not given. Without users everybody is let in.
 */
static enum access look(const struct server *s, const char *name, const char *password, struct claim *ret)
{
	const struct web_config *web = &s->web;

	if (!web->n_users)
		return ACCESS_GRANTED;
	if (!name || !password || strlen(password) > PASSWORD_MAX || !digest(s, password, ret->digest))
		return ACCESS_REFUSED;
	ret->nobody = true;
	ret->user = substitute(s, name);
	for (u32 i = 0; i < web->n_users; i++) {
		if (strcmp(web->users[i].name, name))
			continue;
		ret->nobody = false;
		ret->user = &web->users[i];
	}
	return !ret->nobody && ret->user->known && same_digest(ret->user->digest, ret->digest) ? ACCESS_GRANTED
											       : ACCESS_UNKNOWN;
}

/* Takes long. @work is left without secrets. */
static bool matches(const char *password, const char *hash, struct crypt_data *work)
{
	const char *made = crypt_r(password, hash, work);
	bool right = made && strlen(made) == strlen(hash) && !gnutls_memcmp(made, hash, strlen(hash));

	explicit_bzero(work, sizeof(*work));
	return right;
}

/* Takes the result of a check. Returns whether the user is let in, and if so remembers it. */
static bool learn(const struct claim *claim, bool right)
{
	if (!right || claim->nobody)
		return false;
	memcpy(claim->user->digest, claim->digest, sizeof(claim->digest));
	return claim->user->known = true;
}

static bool same_claim(const struct claim *a, const struct claim *b)
{
	return a->user == b->user && a->nobody == b->nobody && same_digest(a->digest, b->digest);
}

/* --- who waits ------------------------------------------------------------------------------- */

/* A check in progress. */
struct check {
	struct claim claim;
	struct source *source;	/* of the peer that asked */
	char *password, *hash;
	int done;		/* an eventfd that gets an enum check_result */
	atomic_bool left;	/* by its thread or by the server; the second one frees it */
	struct crypt_data work;	/* large */
};

enum check_result { DIFFERS = 1, MATCHES };

static void forget_password(char **password)
{
	if (!*password)
		return;
	explicit_bzero(*password, strlen(*password));
	free(TAKE(*password));
}

/* Waiting connections, of one source or (NULL) of all. */
static u32 waiting(const struct server *s, const struct source *of)
{
	u32 n = 0;

	for (u32 i = 0; i < SERVER_PEERS; i++)
		n += s->peers[i].password && (!of || s->peers[i].source == of);
	return n;
}

void access_forget(struct peer *peer)
{
	forget_password(&peer->password);
}

static enum access wait_for_check(struct server *s, struct peer *peer, const struct claim *claim,
				  const char *password)
{
	if (!s->stopping && waiting(s, NULL) < WAITING_MAX && waiting(s, peer->source) < WAITING_OF_ONE)
		peer->password = strdup(password);
	if (!peer->password)
		return ACCESS_LATER;
	peer->claim = *claim;
	peer_phase(peer->c, PEER_WAITING);
	MHD_suspend_connection(peer->c);
	return ACCESS_WAITS;
}

enum access access_of(struct server *s, struct MHD_Connection *c)
{
	struct peer *peer = peer_of(c);
	char *password = NULL, *name;
	enum access access = peer->access;
	struct claim claim;

	peer->access = ACCESS_UNKNOWN;
	if (access)
		return access;
	name = MHD_basic_auth_get_username_password(c, &password);
	access = look(s, name, password, &claim);
	if (access == ACCESS_UNKNOWN)
		access = wait_for_check(s, peer, &claim, password);
	if (password)
		explicit_bzero(password, strlen(password));
	MHD_free(name);
	MHD_free(password);
	return access;
}

/* --- checks, from the server's round --------------------------------------------------------- */

static void check_free(struct check *c)
{
	forget_password(&c->password);
	free(c->hash);
	cleanup_close(&c->done);
	free(c);
}

static void check_leave(struct check *c)
{
	if (atomic_exchange(&c->left, true))
		check_free(c);
}

static void *work(void *check)
{
	struct check *c = check;

	setpriority(PRIO_PROCESS, 0, NICE);	/* on Linux this applies to this thread only */
	eventfd_write(c->done, matches(c->password, c->hash, &c->work) ? MATCHES : DIFFERS);
	check_leave(c);
	return NULL;
}

/* NULL: there is no memory, or no thread. */
static struct check *check_begin(const struct peer *peer)
{
	struct check *c = calloc(1, sizeof(*c));
	pthread_t thread;

	if (!c)
		return NULL;
	c->claim = peer->claim;
	c->password = strdup(peer->password);
	c->hash = strdup(peer->claim.user->hash);
	c->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!c->password || !c->hash || c->done < 0 || pthread_create(&thread, NULL, work, c)) {
		check_free(c);
		return NULL;
	}
	pthread_detach(thread);
	return c;
}

int access_fd(const struct server *s)
{
	return s->check ? s->check->done : -1;
}

void access_drop(struct server *s)
{
	if (!s->check)
		return;
	s->check->source->connections--;
	check_leave(TAKE(s->check));
}

static void go_on(struct peer *peer, enum access access)
{
	access_forget(peer);
	peer->access = access;
	MHD_resume_connection(peer->c);
}

/*
 * Answers all peers of the source that sent the same password. If it is right, peers of other sources that sent it
 * are let in as well.
 */
static void settle(struct server *s, const struct check *check, bool right)
{
	bool allowed = learn(&check->claim, right);

	if (!allowed)
		source_failed(check->source, now_ns());
	for (u32 i = 0; i < SERVER_PEERS; i++) {
		struct peer *peer = &s->peers[i];

		if (!peer->password || !same_claim(&peer->claim, &check->claim))
			continue;
		if (allowed || peer->source == check->source)
			go_on(peer, allowed ? ACCESS_GRANTED : ACCESS_REFUSED);
	}
}

static bool goes_before(const struct peer *a, const struct peer *b)
{
	if (a->source->checked_ns != b->source->checked_ns)
		return a->source->checked_ns < b->source->checked_ns;
	return a->since_ns < b->since_ns;
}

static void begin_check(struct server *s, u64 now)
{
	struct peer *next = NULL;

	for (struct peer *peer = s->peers; peer < s->peers + SERVER_PEERS; peer++)
		if (peer->password && !source_until_ns(peer->source, now) && (!next || goes_before(peer, next)))
			next = peer;
	s->check = next ? check_begin(next) : NULL;
	if (!s->check)
		return;
	s->check->source = next->source;
	next->source->connections++;	/* so that it is not forgotten */
	next->source->checked_ns = s->check_ns = now;
}

void access_round(struct server *s)
{
	u64 now = now_ns();
	eventfd_t result;

	if (s->check && !eventfd_read(s->check->done, &result)) {
		s->rests_until_ns = 2 * now - s->check_ns;
		settle(s, s->check, result == MATCHES);
		access_drop(s);
	}
	for (u32 i = 0; i < SERVER_PEERS; i++) {
		struct peer *peer = &s->peers[i];

		if (peer->password && (s->stopping || peer->phase == PEER_CUT || now > peer->until_ns))
			go_on(peer, ACCESS_LATER);
	}
	if (!s->check && !s->stopping && now >= s->rests_until_ns)
		begin_check(s, now);
}

u64 access_wait_ns(const struct server *s)
{
	u64 now = now_ns();

	if (s->check || !waiting(s, NULL))
		return UINT64_MAX;
	return now < s->rests_until_ns ? s->rests_until_ns - now : CHECK_ROUND_NS;
}
