// SPDX-License-Identifier: GPL-2.0
// massif-ctl doctor's reading of kernel configurations: each option that is missing, or set but not wanted, is named.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "kselftest_harness.h"

#include "ctl/doctor/kernel_options.h"

#define RELEASE "6.6.6-test"

/* How a configuration file says that an option is not set: by a comment, or not at all. */
enum unset { COMMENT, NOTHING, N_UNSET };

FIXTURE(options) {
	char root[64];
	char text[8192]; /* the configuration */
	struct mf_finding finding;
};

FIXTURE_SETUP(options)
{
	static const char *const directories[] = {
		"proc", "boot", "lib", "lib/modules", "lib/modules/" RELEASE, "lib/modules/" RELEASE "/build",
	};
	char path[256];

	strcpy(self->root, "/tmp/massif-options.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->root));
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", self->root, directories[i]);
		ASSERT_EQ(0, mkdir(path, 0755));
	}
}

FIXTURE_TEARDOWN(options)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", self->root);
	EXPECT_EQ(0, system(command));
}

typedef FIXTURE_DATA(options) fixture;

static void add(fixture *self, const char *name, bool set, enum unset unset)
{
	size_t length = strlen(self->text);

	if (set)
		snprintf(self->text + length, sizeof(self->text) - length, "%s=y\n", name);
	else if (unset == COMMENT)
		snprintf(self->text + length, sizeof(self->text) - length, "# %s is not set\n", name);
}

/*
 * Makes a configuration in which all options are as wanted, except the one with the number @wrong. Options with similar
 * names are there to be ignored.
 */
static void make_configuration(fixture *self, size_t wrong, enum unset unset)
{
	char name[128];

	strcpy(self->text, "#\n# Linux/x86 Kernel Configuration\n#\nCONFIG_CC_VERSION_TEXT=\"gcc 12\"\n");
	for (size_t i = 0; i < mf_n_kernel_options; i++) {
		const struct mf_kernel_option *option = &mf_kernel_options[i];

		add(self, option->name, i == wrong ? !option->wanted : option->wanted, unset);
		snprintf(name, sizeof(name), "%s_LATER", option->name);
		add(self, name, !option->wanted, unset);
	}
}

static void write_file(fixture *self, const char *name, const char *mode, const char *text)
{
	char path[256];
	gzFile file;

	snprintf(path, sizeof(path), "%s/%s", self->root, name);
	file = gzopen(path, mode);
	if (!file || gzputs(file, text) < 0 || gzclose(file) != Z_OK)
		abort();
}

static void check(fixture *self, bool loaded)
{
	memset(&self->finding, 0, sizeof(self->finding));
	mf_kernel_options_check(self->root, RELEASE, loaded, &self->finding);
}

static int lines(const char *text)
{
	int count = *text != '\0';

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

TEST_F(options, all_as_wanted)
{
	for (enum unset unset = COMMENT; unset < N_UNSET; unset++) {
		make_configuration(self, mf_n_kernel_options, unset);
		write_file(self, "proc/config.gz", "w", self->text);
		check(self, false);
		EXPECT_EQ(MF_HEALTH_OK, self->finding.health);
		EXPECT_STREQ("", self->finding.advice);
		EXPECT_NE(NULL, strstr(self->finding.text, "/proc/config.gz has all"));
	}
}

TEST_F(options, each_alone_is_named)
{
	char words[256];

	for (size_t i = 0; i < mf_n_kernel_options; i++) {
		const struct mf_kernel_option *option = &mf_kernel_options[i];

		for (enum unset unset = COMMENT; unset < N_UNSET; unset++) {
			make_configuration(self, i, unset);
			write_file(self, "proc/config.gz", "w", self->text);
			check(self, false);
			EXPECT_EQ(option->otherwise, self->finding.health);
			snprintf(words, sizeof(words), "%s is %s: %s", option->name, option->wanted ? "not set" : "set",
				 option->effect);
			EXPECT_STREQ(words, self->finding.advice);
			/* Whatever the file says: the module is in the kernel. */
			check(self, true);
			EXPECT_EQ(MF_HEALTH_NOTE, self->finding.health);
			EXPECT_STREQ(words, self->finding.advice);
			EXPECT_NE(NULL, strstr(self->finding.text, "the module is loaded nevertheless"));
		}
	}
}

/* The other tests go by the table; this one holds the table to what the module cannot do without. */
TEST_F(options, what_is_needed)
{
	static const char *const needed[] = { "CONFIG_MODULES", "CONFIG_KPROBES", "CONFIG_TRACEPOINTS", "CONFIG_NET" };

	write_file(self, "proc/config.gz", "w", "# CONFIG_PREEMPT_RT is not set\n");
	check(self, false);
	EXPECT_EQ(MF_HEALTH_BAD, self->finding.health);
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		EXPECT_NE(NULL, strstr(self->finding.advice, needed[i]));
	EXPECT_NE(NULL, strstr(self->finding.advice, "CONFIG_MMU_NOTIFIER is not set"));
	EXPECT_NE(NULL, strstr(self->finding.advice, "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS is not set"));
	EXPECT_EQ(NULL, strstr(self->finding.advice, "CONFIG_PREEMPT_RT"));
}

/* "m" does not occur for these options; a module would not do. */
TEST_F(options, all_at_once_are_named)
{
	char *text = self->text;

	for (size_t i = 0; i < mf_n_kernel_options; i++)
		text += sprintf(text, "%s=%s\n", mf_kernel_options[i].name, mf_kernel_options[i].wanted ? "m" : "y");
	write_file(self, "proc/config.gz", "w", self->text);
	check(self, false);
	EXPECT_EQ(MF_HEALTH_BAD, self->finding.health);
	EXPECT_EQ((int)mf_n_kernel_options, lines(self->finding.advice));
	for (size_t i = 0; i < mf_n_kernel_options; i++)
		EXPECT_NE(NULL, strstr(self->finding.advice, mf_kernel_options[i].effect));
}

/* The name of an option inside a long text sets nothing, wherever the text is cut for reading. */
TEST_F(options, long_texts)
{
	for (int count = 0; count < 700; count++) {
		snprintf(self->text, sizeof(self->text), "CONFIG_TEXT=\"%*sCONFIG_MODULES=y\"\n", count, "");
		write_file(self, "boot/config-" RELEASE, "wT", self->text);
		check(self, false);
		ASSERT_NE(NULL, strstr(self->finding.advice, "CONFIG_MODULES is not set"));
	}
}

/* The first file that can be read decides, and is named. */
TEST_F(options, places)
{
	static const char *const places[] = {
		"lib/modules/" RELEASE "/build/.config",
		"lib/modules/" RELEASE "/config",
		"boot/config-" RELEASE,
		"proc/config.gz",
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		/* Another option is wrong in each file. "T": not compressed. */
		make_configuration(self, i, COMMENT);
		write_file(self, places[i], strstr(places[i], ".gz") ? "w" : "wT", self->text);
		check(self, false);
		EXPECT_NE(NULL, strstr(self->finding.text, places[i]));
		EXPECT_EQ(&self->finding.advice[0], strstr(self->finding.advice, mf_kernel_options[i].name));
		EXPECT_EQ(1, lines(self->finding.advice));
	}
}

static void expect_unknown(struct __test_metadata *_metadata, fixture *self)
{
	check(self, false);
	EXPECT_EQ(MF_HEALTH_NOTE, self->finding.health);
	EXPECT_EQ(&self->finding.text[0], strstr(self->finding.text, "unknown: "));
	EXPECT_NE(NULL, strstr(self->finding.text, "/boot/config-" RELEASE));
}

TEST_F(options, none_can_be_read)
{
	char path[256];

	expect_unknown(_metadata, self);
	/* A directory, an empty file, one of another kind, and half of a compressed file. */
	snprintf(path, sizeof(path), "%s/lib/modules/%s/config", self->root, RELEASE);
	ASSERT_EQ(0, mkdir(path, 0755));
	write_file(self, "lib/modules/" RELEASE "/build/.config", "wT", "");
	write_file(self, "boot/config-" RELEASE, "wT", "GRUB=yes\nMODULES=y\n");
	make_configuration(self, mf_n_kernel_options, COMMENT);
	write_file(self, "proc/config.gz", "w", self->text);
	snprintf(path, sizeof(path), "%s/proc/config.gz", self->root);
	ASSERT_EQ(0, truncate(path, 100));
	expect_unknown(_metadata, self);
}

TEST_HARNESS_MAIN
