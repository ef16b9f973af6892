// SPDX-License-Identifier: GPL-2.0
// The environment of a program that is executed by a process that the shim follows. Whatever LD_PRELOAD contained
// before, it then contains the shim, followed by the program's own LD_PRELOAD. Nothing is written beyond the memory
// that was requested.

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "preload/process/follow.h"
#include "preload/core/seccomp.h"

/* Stands in for the shim's variable mf_seccomp_on, which is set when the program installs a seccomp filter. */
bool mf_seccomp_on;

/* A file that exists. */
#define LIBRARY "/bin/sh"
#define SESSION "@massif-join/1/0123456789abcdef:0123456789abcdef0123456789abcdef"
#define LARGE	20000u
#define MARK	0x5a

static char large[LARGE + 1];

static const struct {
	const char *words[5];
	const char *preload, *session; /* expected values of LD_PRELOAD and MASSIF_SESSION; NULL: unchanged */
} rows[] = {
	{ { NULL }, LIBRARY, SESSION },
	{ { "HOME=/" }, LIBRARY, SESSION },
	{ { "LD_PRELOAD=", "A=b" }, LIBRARY ":", SESSION },
	{ { "LD_PRELOAD=a.so", "A=b" }, LIBRARY ":a.so", SESSION },
	{ { "LD_PRELOAD=a.so", "MASSIF_SESSION=" SESSION }, LIBRARY ":a.so", SESSION },
	{ { "LD_PRELOAD=" LIBRARY ":a.so" }, LIBRARY ":a.so", SESSION },
	{ { "LD_PRELOAD=" LIBRARY ":a.so", "MASSIF_SESSION=" SESSION }, NULL, NULL },
	/* Scripts add their own libraries at either end, after a colon or a blank. */
	{ { "LD_PRELOAD=" LIBRARY " a.so", "MASSIF_SESSION=" SESSION }, NULL, NULL },
	{ { "LD_PRELOAD=a.so:" LIBRARY, "MASSIF_SESSION=" SESSION }, NULL, NULL },
	{ { "LD_PRELOAD=a.so " LIBRARY ":b.so", "MASSIF_SESSION=" SESSION }, NULL, NULL },
	{ { "LD_PRELOAD=" LIBRARY ".so", "MASSIF_SESSION=" SESSION }, LIBRARY ":" LIBRARY ".so", SESSION },
	/* If the environment contains more than one LD_PRELOAD entry, the dynamic linker uses the last one. */
	{ { "LD_PRELOAD=a.so", "LD_PRELOAD=b.so" }, LIBRARY ":b.so", SESSION },
	{ { "LD_PRELOAD=" LIBRARY, "LD_PRELOAD=b.so", "MASSIF_SESSION=" SESSION }, LIBRARY ":b.so",
	  SESSION },
	{ { "LD_PRELOAD=b.so", "LD_PRELOAD=" LIBRARY, "MASSIF_SESSION=" SESSION }, NULL, NULL },
	{ { large, "LD_PRELOAD=b.so" }, LIBRARY ":b.so", SESSION },
	{ { large, "A=b", large, "LD_PRELOAD=b.so" }, LIBRARY ":b.so", SESSION },
	{ { "LD_PRELOAD=b.so", large }, large, SESSION },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* Returns the value assigned to @name, which must be defined at most once. */
static const char *value_of(char *const *words, const char *name)
{
	const char *value = NULL;
	size_t length = strlen(name);

	for (; *words; words++) {
		if (strncmp(*words, name, length) || (*words)[length] != '=')
			continue;
		if (value)
			return "several";
		value = *words + length + 1;
	}
	return value ? value : "none";
}

/*
 * Returns whether all marker bytes from @end on are intact. If they are, nothing was written beyond the memory that
 * ends at @end.
 */
static bool is_untouched(const unsigned char *end)
{
	for (size_t i = 0; i < LARGE; i++)
		if (end[i] != MARK)
			return false;
	return true;
}

TEST(environments)
{
	memset(large, 'x', LARGE);
	memcpy(large, "LD_PRELOAD=", strlen("LD_PRELOAD="));
	EXPECT_EQ(0, mf_follow_room((char *const[]){ NULL }, false));
	mf_follow_start(LIBRARY, SESSION);
	for (size_t i = 0; i < ROWS; i++) {
		char *const *words = (char *const *)rows[i].words;
		size_t room = mf_follow_room(words, false);
		unsigned char *space = malloc(room + LARGE);
		char *const *made;

		ASSERT_NE(NULL, space);
		memset(space, MARK, room + LARGE);
		EXPECT_EQ(!rows[i].preload, !room);
		if (room) {
			made = mf_follow_add(words, space, false);
			EXPECT_TRUE(is_untouched(space + room)) {
				TH_LOG("row %zu", i);
			}
			EXPECT_STREQ(rows[i].session, value_of(made, "MASSIF_SESSION"));
			if (rows[i].preload == large) {
				EXPECT_EQ(0, strncmp(value_of(made, "LD_PRELOAD"), LIBRARY ":xxx",
						     strlen(LIBRARY ":xxx")));
			} else {
				EXPECT_STREQ(rows[i].preload, value_of(made, "LD_PRELOAD"));
			}
			for (; *words; words++) {
				if (strchr("HA", **words)) {
					EXPECT_STREQ(strchr(*words, '=') + 1,
						     value_of(made, **words == 'H' ? "HOME" : "A"));
				}
			}
		}
		free(space);
	}
}

/*
 * If the shim must not follow the program that is executed, the program's environment contains none of the shim's
 * additions, and everything else is unchanged.
 */
TEST(restricted)
{
	static const struct {
		const char *words[5], *left[4];
	} cases[] = {
		{ { NULL }, { NULL } },
		{ { "A=b", "LD_PRELOAD=" LIBRARY, "MASSIF_SESSION=" SESSION, "C=d" }, { "A=b", "C=d" } },
		{ { "LD_PRELOAD=" LIBRARY ":a.so:b.so", "A=b" }, { "LD_PRELOAD=a.so:b.so", "A=b" } },
		{ { "LD_PRELOAD=a.so", "A=b", "C=d" }, { "LD_PRELOAD=a.so", "A=b", "C=d" } },
		{ { "LD_PRELOAD=" LIBRARY " a.so b.so", "A=b" }, { "LD_PRELOAD=a.so b.so", "A=b" } },
		{ { "LD_PRELOAD=a.so:" LIBRARY, "A=b" }, { "LD_PRELOAD=a.so", "A=b" } },
		{ { "LD_PRELOAD=a.so " LIBRARY ":b.so", "A=b" }, { "LD_PRELOAD=a.so b.so", "A=b" } },
		{ { "LD_PRELOAD=" LIBRARY ".so", "A=b" }, { "LD_PRELOAD=" LIBRARY ".so", "A=b" } },
		{ { "LD_PRELOAD=" LIBRARY ":", "A=b" }, { "LD_PRELOAD=", "A=b" } },
	};

	mf_follow_start(LIBRARY, SESSION);
	/* Each case twice: the process has restricted its system calls, or the program cannot load the shim. */
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		char *const *words = (char *const *)cases[i / 2].words;
		bool without = i % 2;
		size_t room, n = 0;
		unsigned char *space;
		char *const *made;

		mf_seccomp_on = !without;
		room = mf_follow_room(words, without);
		space = malloc(room + LARGE);
		ASSERT_NE(NULL, space);
		memset(space, MARK, room + LARGE);
		ASSERT_NE(0, room);
		made = mf_follow_add(words, space, without);
		EXPECT_TRUE(is_untouched(space + room));
		for (; cases[i / 2].left[n]; n++)
			EXPECT_STREQ(cases[i / 2].left[n], made[n] ?: "nothing");
		EXPECT_EQ(NULL, made[n]);
		free(space);
	}
	mf_seccomp_on = false;
}

/* In another root directory, the shim's file may not exist. */
TEST(elsewhere)
{
	char *const words[] = { "LD_PRELOAD=/no/shim.so:a.so", "A=b", "MASSIF_SESSION=" SESSION, NULL };
	char *const *made;
	void *space;

	mf_follow_start("/no/shim.so", SESSION);
	ASSERT_LT(0, mf_follow_room(words, false));
	space = malloc(mf_follow_room(words, false));
	ASSERT_NE(NULL, space);
	errno = 77;
	made = mf_follow_add(words, space, false);
	EXPECT_EQ(77, errno);
	EXPECT_STREQ("a.so", value_of(made, "LD_PRELOAD"));
	EXPECT_STREQ("none", value_of(made, "MASSIF_SESSION"));
	EXPECT_STREQ("b", value_of(made, "A"));
	free(space);
}

TEST_HARNESS_MAIN
