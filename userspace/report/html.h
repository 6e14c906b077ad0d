/* SPDX-License-Identifier: GPL-2.0-only */
/* The report as a page for browsers: one file that needs no other. */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include <stddef.h>
#include <stdio.h>

/*
 * Writes the page that userspace/report/web/ makes, with @json (@len bytes, the report's document) in it. No text in
 * the document can break out of its element. Returns 0, or the negative errno of a failed write.
 */
int html_write(FILE *out, const char *json, size_t len);

#endif
