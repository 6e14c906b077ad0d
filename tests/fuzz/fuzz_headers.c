// SPDX-License-Identifier: GPL-2.0-only
/* Our own parsers of what a peer sends: Host, Accept-Encoding, Accept; and --listen. One byte says which. */
#include "play.h"
#include "service/address.h"
#include "service/server_state.h"
#include "service/prometheus.h"

static void hosts(const char *text)
{
	static const char *const listen[] = { "127.0.0.1:9834", "[::1]:80", "127.1.2.3:443", ":9834" };

	for (u32 i = 0; i < ARRAY_SIZE(listen); i++) {
		struct address a;
		struct problem p;
		bool allowed;

		check(!address_parse("--listen", listen[i], &a, &p));
		allowed = address_host_allowed(&a, text, i & 1);
		/* Allowed hosts begin like this machine, whatever follows. */
		check(!allowed || i == 3 || !strncasecmp(text, "localhost", 9) || !strncmp(text, "127.", 4) || !strncmp(text, "[::1]", 5));
	}
}

static void encodings(const char *text)
{
	/* Without the word gzip or a star, the peer does not want gzip. */
	check(!encoding_gzip_wanted(text) || strcasestr(text, "gzip") || strchr(text, '*'));
}

/* What was parsed is the same when written again. */
static void addresses(const char *text)
{
	char shown[ADDRESS_TEXT], again[ADDRESS_TEXT];
	struct address a, b;
	struct problem p;

	if (address_parse("--listen", text, &a, &p))
		return;
	check(!address_parse("--listen", address_text(shown, &a), &b, &p) && !strcmp(shown, address_text(again, &b)) &&
	      address_is_loopback(&a) == address_is_loopback(&b));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text;

	if (!len)
		return 0;
	text = strndup((const char *)data + 1, len - 1);
	switch (data[0] % 4) {
	case 0:
		hosts(text);
		break;
	case 1:
		encodings(text);
		break;
	case 2:
		check(prometheus_negotiate(text) < PROMETHEUS_FORMATS);
		break;
	default:
		addresses(text);
	}
	free(text);
	return 0;
}
