// SPDX-License-Identifier: GPL-2.0-only
/* Lines for a shell, checked by how bash itself reads them. */
#include "unit.h"

#include "util/shell.h"
#include "util/utf8.h"

static void assert_line(char **words, const char *expected)
{
	char *line = shell_line(words);

	assert_string_equal(line, expected);
	free(line);
}

TEST(test_words)
{
	static const struct { const char *word, *line; } cases[] = {
		{ "fio", "fio" }, { "--dev=/dev/nvme0n1", "--dev=/dev/nvme0n1" },
		{ "a_b@c%+:,.-9Z", "a_b@c%+:,.-9Z" }, { "", "''" }, { "job 1", "'job 1'" },
		{ "it's", "'it'\\''s'" }, { "$HOME", "'$HOME'" }, { "*", "'*'" }, { "~", "'~'" }, { "#", "'#'" },
		{ "a\\b", "'a\\b'" }, { "Gr\xc3\xb6\xc3\x9f" "e", "'Gr\xc3\xb6\xc3\x9f" "e'" },
		{ "a\nb", "$'a\\012b'" }, { "\x1b[31m'\\", "$'\\033[31m\\'\\\\'" },
		{ "\xff\xfe" "7", "$'\\377\\3767'" }, { "\xc3\xb6\x01", "$'\\303\\266\\001'" },
		{ "\x7f", "$'\\177'" },
	};

	char *none[] = { NULL }, *some[] = { "sh", "-c", "echo a; echo b", "", NULL };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_line((char *[]){ (char *)cases[i].word, NULL }, cases[i].line);
	assert_line(none, "");
	assert_line(some, "sh -c 'echo a; echo b' ''");
}

/* Every byte, alone and between others: bash gives the same words back. */
TEST(test_bash_reads_the_same)
{
	static char words[255][4];
	char *argv[256] = { 0 }, *line, *command, read[4] = "";
	FILE *bash;

	if (system("bash -c :"))
		skip();
	for (int b = 1; b < 256; b++) {
		words[b - 1][0] = b % 2 ? 'x' : '1';
		words[b - 1][1] = b;
		words[b - 1][2] = '2';
		argv[b - 1] = words[b - 1];
	}
	line = shell_line(argv);
	assert_true(text_is_clean(line));
	assert_true(asprintf(&command, "LC_ALL=C bash <<'BLKLAT_END'\nprintf '%%s' %s\nBLKLAT_END\n", line) > 0);
	bash = popen(command, "r");
	assert_non_null(bash);
	for (int b = 1; b < 256; b++) {
		assert_int_equal(fread(read, 1, 3, bash), 3);
		assert_memory_equal(read, words[b - 1], 3);
	}
	assert_int_equal(fread(read, 1, 1, bash), 0);
	assert_int_equal(pclose(bash), 0);
	free(command);
	free(line);
}

TEST(test_clean)
{
	static const char *const bad[] = { "a\tb", "a\n", "\x7f", "\xc2\x85", "\xff", "a\xe2\x86", "\xed\xa0\x80" };

	assert_true(text_is_clean("") && text_is_clean(" QD 16 starts: \xe2\x86\x92 \xf0\x9f\x98\x80"));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(text_is_clean(bad[i]));
}
