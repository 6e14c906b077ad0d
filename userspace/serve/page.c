// SPDX-License-Identifier: GPL-2.0-only
#include "serve/page.h"

#include <string.h>

static const char text[] =
	"<!DOCTYPE html>\n"
	"<html lang=\"en\">\n"
	"<head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
	"<meta name=\"color-scheme\" content=\"light dark\"><title>blklat</title></head>\n"
	"<body>\n"
	"<h1>blklat</h1>\n"
	"<ul>\n"
	"<li><a href=\"/metrics\">/metrics</a>: for Prometheus</li>\n"
	"<li><a href=\"/api/snapshot\">/api/snapshot</a>: the last interval as JSON</li>\n"
	"<li><a href=\"/api/stream\">/api/stream</a>: each interval as it ends</li>\n"
	"<li><a href=\"/healthz\">/healthz</a>: whether all is well</li>\n"
	"</ul>\n"
	"</body>\n"
	"</html>\n";

const char *page_text(size_t *ret_len)
{
	*ret_len = strlen(text);
	return text;
}

const char *page_policy(void)
{
	return "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
}
