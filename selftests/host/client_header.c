// SPDX-License-Identifier: GPL-2.0
// The installed massif/massif.h: the example of client.rst with and without massif, in C and C++, linked in every
// possible way.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

FIXTURE(header) {
	struct ctl_result result;
	char *text;
};

/* Extracts the example from the documentation, as pool.c and pool.cc. */
static bool extract(void)
{
	FILE *in = fopen(SOURCE "/Documentation/client.rst", "r");
	FILE *c = fopen("pool.c", "w"), *cc = fopen("pool.cc", "w");
	bool inside = false, found = false;
	char line[256];

	while (in && c && cc && fgets(line, sizeof(line), in)) {
		if (strcmp(line, "    /* pool.c */\n") == 0)
			inside = found = true;
		else if (line[0] != ' ' && line[0] != '\n')
			inside = false;
		if (inside) {
			fputs(line + strspn(line, " "), c);
			fputs(line + strspn(line, " "), cc);
		}
	}
	if (in)
		fclose(in);
	if (c)
		fclose(c);
	if (cc)
		fclose(cc);
	return found;
}

FIXTURE_SETUP(header)
{
	ASSERT_TRUE(extract());
	ASSERT_EQ(0, system("rm -rf inst && mkdir -p inst/include/massif inst/lib/pkgconfig && "
			    "cp " SOURCE "/preload/massif.h inst/include/massif && "
			    "sed \"s|@PREFIX@|$PWD/inst|; s|@VERSION@|0|\" " SOURCE
			    "/preload/massif.pc.in >inst/lib/pkgconfig/massif.pc"));
}

FIXTURE_TEARDOWN(header)
{
	ctl_result_free(&self->result);
	free(self->text);
	ctl_remove_files("massif.out");
	ctl_remove_files("pool");
	if (system("rm -rf inst"))
		fprintf(stderr, "inst is left behind\n");
}

FIXTURE_VARIANT(header) {
	const char *compiler, *file, *flags;
	bool deaf; /* true if the program's client requests must have no effect */
};

FIXTURE_VARIANT_ADD(header, c) { "gcc -std=gnu11", "pool.c", "-O0" };
FIXTURE_VARIANT_ADD(header, c_iso) { "gcc -std=c99 -pedantic", "pool.c", "-O2" };
FIXTURE_VARIANT_ADD(header, c_no_pie) { "gcc", "pool.c", "-O2 -fno-pie -no-pie" };
FIXTURE_VARIANT_ADD(header, c_lto) { "gcc", "pool.c", "-O2 -flto" };
FIXTURE_VARIANT_ADD(header, c_gold) { "gcc", "pool.c", "-O2 -fuse-ld=gold -fno-pie -no-pie" };
FIXTURE_VARIANT_ADD(header, c_hidden) { "gcc", "pool.c", "-O2 -fvisibility=hidden" };
FIXTURE_VARIANT_ADD(header, c_static) { "gcc", "pool.c", "-O2 -static", true };
/* Without --as-needed, the C++ library would be linked although it is not used, and would allocate memory. */
#define AS_NEEDED "-Wl,--as-needed "

FIXTURE_VARIANT_ADD(header, cxx) { "g++ -std=c++11", "pool.cc", AS_NEEDED "-O0" };
FIXTURE_VARIANT_ADD(header, cxx_pedantic) { "g++ -std=c++20 -pedantic", "pool.cc", AS_NEEDED "-O2" };
FIXTURE_VARIANT_ADD(header, cxx_no_pie) { "g++", "pool.cc", AS_NEEDED "-O2 -fno-pie -no-pie" };

static bool compile(const FIXTURE_VARIANT(header) *variant)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "%s -g -Wall -Wextra -Werror -fno-inline -fno-optimize-sibling-calls %s "
		 "$(PKG_CONFIG_PATH=inst/lib/pkgconfig pkg-config --cflags --libs massif) %s -o pool",
		 variant->compiler, variant->flags, variant->file);
	return system(command) == 0;
}

/*
 * Returns whether some line of @text contains @one and, starting at the same position or further along the line,
 * @other.
 */
static bool has_line(const char *text, const char *one, const char *other)
{
	const char *at = text;

	while ((at = strstr(at, one))) {
		const char *end = strchr(at, '\n');
		const char *found = strstr(at, other);

		if (found && end && found < end)
			return true;
		at++;
	}
	return false;
}

TEST_F_TIMEOUT(header, example, 120)
{
	ASSERT_TRUE(compile(variant));
	CTL_RUN(&self->result, "./pool");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("alone\n", self->result.out);
	EXPECT_NE(0, access("pool.snapshot", F_OK));
	ctl_result_free(&self->result);

	CTL_RUN(&self->result, "massif-ctl", "--time-unit=B", "--threshold=0", "--max-snapshots=1000",
		 "--alloc-fn=pool_take",
		"--massif-out-file=massif.out", "./pool");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	if (variant->deaf) {
		EXPECT_STREQ("alone\n", self->result.out);
		return;
	}
	EXPECT_STREQ("profiled\n", self->result.out);
	self->text = ctl_read_file("pool.snapshot");
	ASSERT_NE(NULL, self->text);
	EXPECT_TRUE(ctl_is_massif_file(self->text));
	/* The large block from which the example program's pool takes its blocks is not counted. */
	EXPECT_TRUE(has_line(self->text, "mem_heap_B=440000", ""));
	EXPECT_TRUE(has_line(self->text, "mem_heap_extra_B=6400", ""));
	EXPECT_TRUE(has_line(self->text, ": 400000 0x", "make_page"));
	EXPECT_TRUE(has_line(self->text, ": 40000 0x", "make_name"));
	free(self->text);
	self->text = ctl_read_file("massif.out");
	ASSERT_NE(NULL, self->text);
	EXPECT_TRUE(ctl_is_massif_file(self->text));
	/*
	 * The example program frees the last block allocated in make_page() and resizes the last block of make_name()
	 * to 50 bytes before it calls massif_snapshot(). The resizing call is in main(), so the snapshot shows these 50
	 * bytes under main.
	 */
	EXPECT_TRUE(has_line(self->text, "mem_heap_B=438950", ""));
	EXPECT_TRUE(has_line(self->text, ": 50 0x", "main"));
	/*
	 * The first block that is counted is that of the first make_name() call. The pool's own large block was
	 * allocated earlier, but is not counted.
	 */
	EXPECT_TRUE(has_line(strstr(self->text, "\nsnapshot=1\n"), "time=108", ""));
}

/* This fixture is empty: only a test with a fixture can have a time limit of its own. */
FIXTURE(installed) {
};

FIXTURE_SETUP(installed)
{
}

FIXTURE_TEARDOWN(installed)
{
}

TEST_F_TIMEOUT(installed, by_make_install, 120)
{
	const char *build = getenv("MASSIF_BUILD");
	char command[4096], *text;

	snprintf(command, sizeof(command),
		 "rm -rf dest && env -u MAKEFLAGS make -s -C " SOURCE
		 " O=%s DESTDIR=$PWD/dest PREFIX=/opt/massif install >install.log 2>&1",
		 build ? build : "build");
	ASSERT_EQ(0, system(command));
	EXPECT_EQ(0, access("dest/opt/massif/include/massif/massif.h", R_OK));
	text = ctl_read_file("dest/opt/massif/lib/pkgconfig/massif.pc");
	ASSERT_NE(NULL, text);
	EXPECT_NE(NULL, strstr(text, "prefix=/opt/massif\n"));
	EXPECT_EQ(NULL, strchr(text, '@'));
	free(text);
	snprintf(command, sizeof(command),
		 "env -u MAKEFLAGS make -s -C " SOURCE
		 " O=%s DESTDIR=$PWD/dest PREFIX=/opt/massif uninstall >install.log 2>&1",
		 build ? build : "build");
	EXPECT_EQ(0, system(command)) {
		text = ctl_read_file("install.log");
		TH_LOG("%s", text ? text : "no output");
		free(text);
	}
	EXPECT_NE(0, access("dest/opt/massif/include/massif/massif.h", R_OK));
	EXPECT_NE(0, access("dest/opt/massif/lib/pkgconfig/massif.pc", R_OK));
	EXPECT_EQ(0, system("rm -rf dest install.log"));
}

TEST_HARNESS_MAIN
