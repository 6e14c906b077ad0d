/* SPDX-License-Identifier: GPL-2.0-only */
/* The report as a page: one file that needs no other, to be opened in a browser. */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include <stddef.h>
#include <stdio.h>

/*
 * Writes the page that userspace/report/web/ makes, with @json (@len bytes, the report's document) in it.
 * Whatever names the document holds, they can't end the element that they stand in. Returns 0, or a
 * negative errno when @out takes no more.
 */
int html_write(FILE *out, const char *json, size_t len);

#endif
