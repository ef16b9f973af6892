// SPDX-License-Identifier: GPL-2.0
// Options from ~/.massifrc, $MASSIF_OPTS and ./.massifrc: what is read, in which order, and what is refused.
//
// Valgrind reads options from the same places under other names, so each case runs under both profilers.

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

#define VALGRIND "/usr/bin/valgrind"
#define SECONDS	 120
#define OUT	 "d.out"

struct setup {
	/* contents of ~/.massifrc, $MASSIF_OPTS and ./.massifrc; NULL: there is no such file or variable */
	const char *home, *variable, *here;
	const char *options[3]; /* options on the command line */
};

FIXTURE(defaults) {
	struct ctl_result theirs, ours;
	char *their_desc, *our_desc, *home;
};

FIXTURE_SETUP(defaults)
{
	char *here = getcwd(NULL, 0);

	ASSERT_NE(NULL, here);
	ASSERT_LT(0, asprintf(&self->home, "%s/d.home", here));
	free(here);
	mkdir("d.home", 0755);
	setenv("HOME", self->home, 1);
	unsetenv("MASSIF_OPTS");
	unsetenv("VALGRIND_OPTS");
	ctl_remove_files(".massifrc");
	ctl_remove_files(".valgrindrc");
	unlink("d.home/.massifrc");
	unlink("d.home/.valgrindrc");
	unlink(OUT);
}

FIXTURE_TEARDOWN(defaults)
{
	ctl_remove_files(".massifrc");
	ctl_remove_files(".valgrindrc");
	ctl_result_free(&self->theirs);
	ctl_result_free(&self->ours);
	free(self->their_desc);
	free(self->our_desc);
	free(self->home);
}

/* Returns the first line of the profile, or "" if there is none. The caller must free it. */
static char *first_line(void)
{
	char *text = ctl_read_file(OUT);

	unlink(OUT);
	if (!text)
		return strdup("");
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static void put(const char *path, const char *text)
{
	if (text)
		ctl_write_file(path, text, 0644);
	else
		unlink(path);
}

static void put_all(const struct setup *setup)
{
	put("d.home/.massifrc", setup->home);
	put("d.home/.valgrindrc", setup->home);
	put(".massifrc", setup->here);
	put(".valgrindrc", setup->here);
	if (setup->variable) {
		setenv("MASSIF_OPTS", setup->variable, 1);
		setenv("VALGRIND_OPTS", setup->variable, 1);
	}
}

static void run_theirs(FIXTURE_DATA(defaults) *self, const struct setup *setup)
{
	const char *argv[] = { VALGRIND, "-q", "--tool=massif", "--massif-out-file=" OUT,
			       "--time-unit=B", setup->options[0] ?: "-q",
			       setup->options[1] ?: "-q", "true", NULL };

	ctl_run(&self->theirs, NULL, NULL, argv);
	self->their_desc = first_line();
}

static void run_ours(FIXTURE_DATA(defaults) *self, const struct setup *setup)
{
	const char *argv[] = { "massif-ctl", "-q", "--massif-out-file=" OUT, "--time-unit=B",
			       setup->options[0] ?: "-q", setup->options[1] ?: "-q", "true", NULL };

	ctl_run(&self->ours, NULL, NULL, argv);
	self->our_desc = first_line();
}

FIXTURE_VARIANT(defaults) {
	struct setup setup;
};

#define SETUP(name, ...) FIXTURE_VARIANT_ADD(defaults, name) { .setup = { __VA_ARGS__ } }
#define COMMAND(...) .options = { __VA_ARGS__ }

SETUP(none, .home = NULL);
SETUP(order, .home = "--depth=1", .variable = "--depth=2", .here = "--depth=3", COMMAND("--depth=4"));
SETUP(home_only, .home = "--depth=1\n");
SETUP(variable_only, .variable = "--depth=2");
SETUP(here_only, .here = "--depth=3");
SETUP(blanks, .home = " \t\n--depth=1\r\n\v--depth=2\f--threshold=3 \n\n", .here = "",
      .variable = "\n");
SETUP(quoted_word, .home = "'--alloc-fn=a b' --depth=2 \"--alloc-fn=c d\"");
SETUP(quoted_part, .home = "--alloc-fn=\"a b\" --alloc-fn='c d'e' f' --depth=3",
      .variable = "--ignore-fn='x y'");
SETUP(quoted_quote, .home = "--alloc-fn=\"a'b\" --depth=3");
SETUP(open_quote, .home = "--alloc-fn=\"ab --depth=3");
SETUP(end_of_options, .home = "--depth=1 -- --depth=2");
SETUP(prefixed, .home = "--massif:depth=1 --memcheck:leak-check=full");
SETUP(command_line_only, .home = "--depth=1", .variable = "--depth=2", .here = "--depth=3",
      COMMAND("--command-line-only=yes"));
SETUP(command_line_only_later, .home = "--depth=1", .here = "--command-line-only=yes --depth=3");
SETUP(desc, .variable = "--redzone-size=16 --num-callers=3 --stats=no --alignment=32 "
			 "--trace-malloc=no --keep-debuginfo=yes --merge-recursive-frames=0 "
			 "--heap=yes --log-fd=2 --demangle=no -v -q");
SETUP(bad_value, .home = "--depth=1", .here = "--depth=0");
SETUP(bad_variable, .variable = "--nonsense");
SETUP(no_option, .home = "--depth=1 depth");

/* Replaces Valgrind's name with ours at the start of each line. The caller must free the result. */
static char *with_our_name(const char *text)
{
	static const char name[] = "valgrind: ";
	char *result = NULL;
	size_t size;
	FILE *out = open_memstream(&result, &size);

	while (*text) {
		size_t length = strcspn(text, "\n") + 1;

		if (strncmp(text, name, strlen(name)) == 0) {
			text += strlen(name);
			length -= strlen(name);
			fputs("massif-ctl: ", out);
		}
		fwrite(text, 1, length, out);
		text += length;
	}
	fclose(out);
	return result;
}

/* Removes the line, printed only by massif-ctl, that says where an option comes from. */
static void remove_origin(char *text)
{
	char *line = strstr(text, "massif-ctl: This was set in ");
	char *next = line ? strchr(line, '\n') : NULL;

	if (next)
		memmove(line, next + 1, strlen(next + 1) + 1);
}

TEST_F_TIMEOUT(defaults, same, SECONDS)
{
	char *expected;

	if (access(VALGRIND, X_OK))
		SKIP(return, "valgrind is not installed");
	put_all(&variant->setup);
	run_theirs(self, &variant->setup);
	run_ours(self, &variant->setup);
	EXPECT_STREQ(self->their_desc, self->our_desc);
	EXPECT_EQ(ctl_exit_code(&self->theirs), ctl_exit_code(&self->ours));
	expected = with_our_name(self->theirs.err);
	remove_origin(self->ours.err);
	EXPECT_STREQ(expected, self->ours.err);
	free(expected);
}

/* The message about a refused option says where it was set. */
TEST(origins)
{
	static const struct {
		const char *home, *variable, *here, *origin;
	} cases[] = {
		{ "--depth=0", NULL, NULL, "d.home/.massifrc, line 1" },
		{ NULL, "--depth=0", NULL, "MASSIF_OPTS" },
		{ NULL, NULL, "--depth=0", "./.massifrc, line 1" },
		{ NULL, NULL, "--depth=5\n\n# --depth=0\n  --depth=6 --depth=0\n", "./.massifrc, line 4" },
		{ "'--alloc-fn=a\nb'\n--depth=0\n", NULL, NULL, "d.home/.massifrc, line 3" },
		{ "--depth=1", "--depth=2", "--nonsense", "./.massifrc, line 1" },
		{ "--depth=1", "--time-unit=x", "--depth=3", "MASSIF_OPTS" },
		{ NULL, "depth", NULL, "MASSIF_OPTS" },
	};
	char expected[128];

	mkdir("d.home", 0755);
	setenv("HOME", "d.home", 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ctl_result result = { 0 };

		unsetenv("MASSIF_OPTS");
		if (cases[i].variable)
			setenv("MASSIF_OPTS", cases[i].variable, 1);
		put("d.home/.massifrc", cases[i].home);
		put(".massifrc", cases[i].here);
		CTL_RUN(&result, "massif-ctl", "true");
		snprintf(expected, sizeof(expected), "\nmassif-ctl: This was set in %s.\n", cases[i].origin);
		EXPECT_EQ(1, ctl_exit_code(&result));
		EXPECT_NE(NULL, strstr(result.err, expected)) {
			TH_LOG("case %zu: %s", i, result.err);
		}
		ctl_result_free(&result);
	}
	unsetenv("MASSIF_OPTS");
	put("d.home/.massifrc", NULL);
	put(".massifrc", NULL);
}

/* Files that other users may have written are refused. */
FIXTURE(trust) {
	struct ctl_result result;
	char *desc;
};

FIXTURE_SETUP(trust)
{
	mkdir("d.home", 0755);
	setenv("HOME", "d.home", 1);
	unsetenv("MASSIF_OPTS");
	ctl_remove_files(".massifrc");
	unlink("d.home/.massifrc");
}

FIXTURE_TEARDOWN(trust)
{
	ctl_remove_files(".massifrc");
	unlink("d.home/.massifrc");
	ctl_result_free(&self->result);
	free(self->desc);
}

static void run_plain(FIXTURE_DATA(trust) *self)
{
	CTL_RUN(&self->result, "massif-ctl", "--time-unit=B", "--massif-out-file=" OUT, "true");
	self->desc = first_line();
}

#define REFUSED(name) \
	"massif-ctl: " name " was not read: it is not a regular file, belongs to another user, or is " \
	"writable by everybody\n"
#define PLAIN "desc: --time-unit=B --massif-out-file=" OUT

TEST_F(trust, own_files)
{
	ctl_write_file("d.home/.massifrc", "--depth=1", 0600);
	ctl_write_file(".massifrc", "--depth=2", 0664);
	chmod(".massifrc", 0664);
	run_plain(self);
	EXPECT_STREQ("desc: --depth=1 --depth=2 --time-unit=B --massif-out-file=" OUT, self->desc);
}

TEST_F(trust, writable_by_all)
{
	ctl_write_file("d.home/.massifrc", "--depth=1", 0644);
	ctl_write_file(".massifrc", "--depth=2", 0644);
	chmod("d.home/.massifrc", 0666);
	chmod(".massifrc", 0646);
	run_plain(self);
	EXPECT_STREQ(PLAIN, self->desc);
	EXPECT_EQ(self->result.err, strstr(self->result.err, REFUSED("d.home/.massifrc")
							     REFUSED("./.massifrc")));
}

TEST_F(trust, of_another_user)
{
	ctl_write_file(".massifrc", "--depth=2", 0644);
	if (chown(".massifrc", 65534, 65534))
		SKIP(return, "only root can give files away");
	run_plain(self);
	EXPECT_STREQ(PLAIN, self->desc);
	EXPECT_EQ(self->result.err, strstr(self->result.err, REFUSED("./.massifrc")));
}

TEST_F(trust, no_regular_file)
{
	ASSERT_EQ(0, mkfifo(".massifrc", 0600));
	run_plain(self);
	EXPECT_STREQ(PLAIN, self->desc);
	EXPECT_EQ(self->result.err, strstr(self->result.err, REFUSED("./.massifrc")));
}

/* In the home directory, ~/.massifrc and ./.massifrc are the same file, which is read only once. */
TEST_F(trust, at_home)
{
	setenv("HOME", ".", 1);
	ctl_write_file(".massifrc", "--depth=2", 0644);
	run_plain(self);
	EXPECT_STREQ("desc: --depth=2 --time-unit=B --massif-out-file=" OUT, self->desc);
}

TEST_F(trust, homeless)
{
	unsetenv("HOME");
	ctl_write_file(".massifrc", "--depth=2", 0644);
	run_plain(self);
	EXPECT_STREQ("desc: --depth=2 --time-unit=B --massif-out-file=" OUT, self->desc);
}

/* A # at the beginning of a word starts a comment in files, but not in MASSIF_OPTS. */
TEST_F(trust, comments)
{
	ctl_write_file(".massifrc",
		       "# all of it --depth=1\n--depth=2 # behind\n#\n--alloc-fn=a#b\n--depth=3 #--depth=4", 0644);
	run_plain(self);
	EXPECT_STREQ("desc: --depth=2 --alloc-fn=a#b --depth=3 --time-unit=B --massif-out-file=" OUT, self->desc);
	ctl_remove_files(".massifrc");
	setenv("MASSIF_OPTS", "# --depth=1", 1);
	CTL_RUN(&self->result, "massif-ctl", "true");
	EXPECT_NE(NULL, strstr(self->result.err, "massif-ctl: Unknown option: #\n"));
	unsetenv("MASSIF_OPTS");
}

/* A long file is read completely. */
TEST_F(trust, many_words)
{
	char text[20000] = "";
	size_t n = 0;

	while (n < sizeof(text) - 32)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "--alloc-fn=function_%zu\n", n);
	ctl_write_file(".massifrc", text, 0644);
	run_plain(self);
	EXPECT_EQ(strlen("desc: ") + n + strlen("--time-unit=B --massif-out-file=" OUT),
		  strlen(self->desc));
}

TEST_HARNESS_MAIN
