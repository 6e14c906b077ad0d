// SPDX-License-Identifier: GPL-2.0-only
/* Messages that are printed while a screen hides them, however many there are. */
#include "unit.h"

#include "live/kept.h"

static char last[64];

static struct kept *begun(void)
{
	static struct kept k;

	memset(&k, 0, sizeof(k));
	assert_int_equal(kept_begin(&k), 0);
	return &k;
}

static char *ended(struct kept *k, size_t *ret_len)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, ret_len);

	kept_last_line(k, last, sizeof(last));
	kept_end(k, to);
	fclose(to);
	return text;
}

TEST(test_a_few_lines)
{
	struct kept *k = begun();
	size_t len;
	char *text;

	kept_last_line(k, last, sizeof(last));
	assert_string_equal(last, "");
	fprintf(k->f, "one\n\ntwo\n");
	kept_last_line(k, last, sizeof(last));
	assert_string_equal(last, "two");
	fprintf(k->f, "thr");
	kept_last_line(k, last, sizeof(last));
	assert_string_equal(last, "thr");
	fprintf(k->f, "ee\n");
	text = ended(k, &len);
	assert_string_equal(last, "three");
	assert_string_equal(text, "one\n\ntwo\nthree\n");
	free(text);
}

/* Lines of 16 bytes, many times what is kept: the first and the latest remain, and a count of the rest. */
TEST(test_the_first_and_the_latest)
{
	enum { LINES = 100000, EACH = KEPT_BYTES / 16 };
	struct kept *k = begun();
	char line[32], *text;
	size_t len;

	for (u32 i = 0; i < LINES; i++) {
		snprintf(line, sizeof(line), "message %7u\n", i);
		for (u32 at = 0; at < 16; at += 1 + i % 16)
			fprintf(k->f, "%.*s", (int)(1 + i % 16 < 16 - at ? 1 + i % 16 : 16 - at), line + at);
		if (i % 7 == 0)
			fflush(k->f);
	}
	text = ended(k, &len);
	assert_string_equal(last, "message   99999");
	snprintf(line, sizeof(line), "message %7u\n...", EACH - 1);
	assert_non_null(strstr(text, line));
	assert_memory_equal(text, "message       0\n", 16);
	snprintf(line, sizeof(line), "... %u more lines", LINES - 2 * EACH);
	assert_non_null(strstr(text, line));
	snprintf(line, sizeof(line), "...\nmessage %7u\n", LINES - EACH);
	assert_non_null(strstr(text, line));
	assert_true(len < 2 * KEPT_BYTES + 100);
	free(text);
}

/* A line longer than all the room is cut, and the text after it starts a line of its own. */
TEST(test_a_long_line)
{
	for (u32 before = 0; before < 2; before++) {
		struct kept *k = begun();
		size_t len;
		char *text;

		if (before)
			fprintf(k->f, "first\n");
		for (u32 i = 0; i < 5 * KEPT_BYTES; i++)
			fputc('x', k->f);
		fprintf(k->f, "\nbehind\n");
		text = ended(k, &len);
		assert_string_equal(last, "behind");
		assert_true(len <= 2 * KEPT_BYTES + 100);
		assert_string_equal(text + len - 8, "\nbehind\n");
		if (before)
			assert_memory_equal(text, "first\nxxx", 9);
		free(text);
	}
}
