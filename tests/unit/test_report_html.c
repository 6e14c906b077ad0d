// SPDX-License-Identifier: GPL-2.0-only
/* A document inside the page: complete, and unable to leave its element. */
#include <errno.h>
#include "unit.h"

#include "report/document.h"
#include "util/cleanup.h"

#define OPENING "<script type=\"application/json\" id=\"report\">"

static char *page_of(const char *json, size_t len)
{
	char *page = NULL;
	size_t size;
	FILE *out = open_memstream(&page, &size);

	assert_non_null(out);
	assert_int_equal(html_write(out, json, len), 0);
	fclose(out);
	return page;
}

/* The element's contents are as expected, and there is only one such element. */
static void assert_document(const char *json, const char *expected)
{
	char *page CLEANUP(cleanup_free) = page_of(json, strlen(json));
	char *begin = strstr(page, OPENING), *end;

	assert_non_null(begin);
	assert_null(strstr(begin + 1, OPENING));
	begin += strlen(OPENING);
	end = strstr(begin, "</script>");
	assert_non_null(end);
	*end = '\0';
	assert_string_equal(begin, expected);
}

TEST(a_document_stands_in_its_element)
{
	assert_document("{\"schema\":1}", "{\"schema\":1}");
	assert_document("", "");
	/* A label that contains the placeholder stays a label. */
	assert_document("\"@REPORT@\"", "\"@REPORT@\"");
}

TEST(names_cannot_leave_it)
{
	assert_document("\"</script><script>\"", "\"\\u003c/script>\\u003cscript>\"");
	assert_document("\"<!--<script\"", "\"\\u003c!--\\u003cscript\"");
	assert_document("<<", "\\u003c\\u003c");
}

TEST(the_page_is_whole)
{
	char *page CLEANUP(cleanup_free) = page_of("{}", 2);

	assert_memory_equal(page, "<!DOCTYPE html>", 15);
	assert_string_equal(page + strlen(page) - 8, "</html>\n");
	assert_null(strstr(page, "@STYLE@"));
	assert_null(strstr(page, "@SCRIPT@"));
	assert_non_null(strstr(page, "default-src 'none'"));
	assert_non_null(strstr(page, "Leon Sorokin"));	/* uPlot's license asks for it */
}

TEST(a_full_disk_is_an_error)
{
	FILE *full CLEANUP(cleanup_fclose) = fopen("/dev/full", "w");

	assert_non_null(full);
	setvbuf(full, NULL, _IONBF, 0);
	assert_int_equal(html_write(full, "{}", 2), -ENOSPC);
}
