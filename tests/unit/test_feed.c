// SPDX-License-Identifier: GPL-2.0-only
/* A feed. Its snapshot: of the last interval, also after its frames have gone, before the next run's first ones come. */
#include "any_frames.h"

#include "core/json_parts.h"
#include "service/feed.h"

static struct feed feed;

void set_up(void)
{
	const struct feed_config cfg = { .interval_s = 1, .history_s = 10 };

	world_init(7);
	assert_int_equal(feed_init(&feed, &cfg), 0);
	feed_begin(&feed, &w.run);
}

void tear_down(void)
{
	feed_uninit(&feed);
}

static void expect_snapshot(const char *wanted)
{
	const struct blob *b = feed_snapshot(&feed);

	assert_int_equal(b ? b->len : 0, strlen(wanted));
	if (b)
		assert_memory_equal(b->data, wanted, b->len);
}

/* An interval, and its lines as 'live --format json' prints them, for free(). */
static char *interval(void)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	any_frames(&w.frames);
	assert_int_equal(json_lines_print(to, &w.run, &w.frames, false), 0);
	fclose(to);
	feed_add(&feed, &w.frames);
	return text;
}

TEST(test_a_snapshot_outlives_its_frames)
{
	char *first, *second;

	expect_snapshot("");
	feed_detach(&feed);
	expect_snapshot("");
	first = interval();
	feed_detach(&feed);
	world_init(8);
	expect_snapshot(first);
	second = interval();
	assert_string_not_equal(first, second);
	expect_snapshot(second);
	free(first);
	free(second);
}

/* It opened for a minute, and its first interval is to come. */
TEST(test_a_capture_that_has_just_begun_is_on_time)
{
	char why[FEED_WORDS];

	feed.last_ns -= 60 * NSEC_PER_SEC;
	assert_false(feed_well(&feed, false, why));
	assert_string_equal(why, "no interval for 60 s");
	feed_begin(&feed, &w.run);
	assert_true(feed_well(&feed, false, why));
}
