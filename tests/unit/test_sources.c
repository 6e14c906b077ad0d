// SPDX-License-Identifier: GPL-2.0-only
/* Where connections come from: what counts as one source, which is forgotten, and how often one may fail. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include "unit.h"

#include "service/server_state.h"

#define S NSEC_PER_SEC
#define BEGAN (1000 * S)

static struct source *get(struct sources *all, const char *address, u64 now_ns)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in v4 = { .sin_family = AF_INET };

	if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
		return sources_get(all, (struct sockaddr *)&v4, now_ns);
	assert_int_equal(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
	return sources_get(all, (struct sockaddr *)&v6, now_ns);
}

static struct source *numbered(struct sources *all, u32 number, u64 now_ns)
{
	char address[32];

	snprintf(address, sizeof(address), "10.0.%u.%u", number >> 8, number & 255);
	return get(all, address, now_ns);
}

TEST(addresses_and_networks)
{
	static const struct { const char *a, *b; bool same; } cases[] = {
		{ "127.0.0.1", "127.0.0.1", true }, { "127.0.0.1", "127.0.0.2", false },
		{ "192.0.2.7", "::ffff:192.0.2.7", true }, { "192.0.2.7", "::ffff:192.0.2.8", false },
		{ "::1", "::2", true }, { "::1", "::ffff:0.0.0.1", false }, { "::1", "0.0.0.1", false },
		{ "2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true },
		{ "2001:db8:1:2::1", "2001:db8:1:3::1", false },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sources all = { 0 };
		bool same = get(&all, cases[i].a, BEGAN) == get(&all, cases[i].b, BEGAN);

		assert_int_equal(same, cases[i].same);
	}
}

TEST(who_was_not_seen_for_longest_is_forgotten)
{
	struct sources all = { 0 };

	for (u32 i = 0; i < SOURCES; i++)
		source_failed(numbered(&all, i, BEGAN + i), BEGAN);
	numbered(&all, 0, BEGAN + SOURCES);
	numbered(&all, SOURCES, BEGAN + SOURCES + 1);	/* takes the place of 1 */
	assert_true(numbered(&all, 0, BEGAN + SOURCES + 2)->paid_ns);
	assert_true(numbered(&all, 2, BEGAN + SOURCES + 3)->paid_ns);
	assert_false(numbered(&all, 1, BEGAN + SOURCES + 4)->paid_ns);
}

TEST(scrapers_and_those_that_are_there_stay)
{
	struct sources all = { 0 };
	struct source *scraper = numbered(&all, 0, BEGAN), *here = numbered(&all, 1, BEGAN + 1);

	scraper->scraped_ns = BEGAN;
	here->connections = 1;
	for (u32 i = 0; i < 3 * SOURCES; i++)
		assert_non_null(numbered(&all, 1000 + i, BEGAN + 3 + i));
	assert_ptr_equal(numbered(&all, 0, BEGAN + 3), scraper);
	assert_ptr_equal(numbered(&all, 1, BEGAN + 3), here);
	assert_true(source_known(scraper, BEGAN + 599 * S));
	assert_false(source_known(scraper, BEGAN + 600 * S));
	assert_false(source_known(here, BEGAN));
}

TEST(no_place_is_taken_from_who_is_there)
{
	struct sources all = { 0 };

	for (u32 i = 0; i < SOURCES; i++)
		numbered(&all, i, BEGAN)->connections = 1;
	assert_null(numbered(&all, SOURCES, BEGAN));
	assert_non_null(numbered(&all, SOURCES - 1, BEGAN));
}

/* 20 at once; after that each failure makes the next attempt wait for an eighth of a second. */
TEST(failures)
{
	struct source o = { 0 };
	u64 now = BEGAN, wrong = 0;

	for (u32 i = 0; i < SOURCE_FAILURES; i++) {
		assert_int_equal(source_until_ns(&o, now), 0);
		source_failed(&o, now);
	}
	assert_int_equal(source_until_ns(&o, now), now + S / 8);
	assert_int_equal(source_until_ns(&o, now + S / 8 - 1), now + S / 8);
	assert_int_equal(source_until_ns(&o, now + S / 8), 0);
	/* A minute of guessing, each attempt as soon as allowed. */
	for (now += S / 8; now < BEGAN + 60 * S; now++) {
		u64 until = source_until_ns(&o, now);

		if (until) {
			now = until - 1;
			continue;
		}
		source_failed(&o, now);
		wrong++;
	}
	assert_in_range(wrong, 8 * 60 - 2, 8 * 60);
	/* After a while all is forgiven. */
	now += 3 * S;
	for (u32 i = 0; i < SOURCE_FAILURES; i++) {
		assert_int_equal(source_until_ns(&o, now), 0);
		source_failed(&o, now);
	}
}
