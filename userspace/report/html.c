// SPDX-License-Identifier: GPL-2.0-only
#include "report/document.h"

#include <errno.h>
#include <string.h>

/* The page that userspace/report/web/build.mjs makes. The Makefile tells the assembler its folder. */
__asm__(".pushsection .rodata\n"
	"report_template:\n"
	".incbin \"web/report.html\"\n"
	"report_template_end:\n"
	".popsection\n");
/* Hidden, as otherwise they are reached through the GOT, where arm64's linker drops the offsets of such labels. */
extern const char __attribute__((visibility("hidden"))) report_template[], report_template_end[];

#define PLACE "@REPORT@"

static int put(FILE *out, const char *text, size_t len)
{
	errno = 0;
	if (fwrite(text, 1, len, out) == len)
		return 0;
	return errno ? -errno : -EIO;
}

/*
 * The document is inside a script element, which ends at the next "</script"; and "<!--" followed by "<script" would
 * hide that end. In JSON "<" only occurs in strings, where it may be written as an escape.
 */
static int put_document(FILE *out, const char *json, size_t len)
{
	const char *end = json + len, *tag;
	int err;

	for (; (tag = memchr(json, '<', end - json)); json = tag + 1) {
		err = put(out, json, tag - json) ?: put(out, "\\u003c", strlen("\\u003c"));
		if (err)
			return err;
	}
	return put(out, json, end - json);
}

int html_write(FILE *out, const char *json, size_t len)
{
	size_t size = report_template_end - report_template;
	const char *place = memmem(report_template, size, PLACE, strlen(PLACE));
	const char *rest = place + strlen(PLACE);
	int err;

	err = put(out, report_template, place - report_template) ?: put_document(out, json, len) ?:
	      put(out, rest, report_template_end - rest);
	return err;
}
