// SPDX-License-Identifier: GPL-2.0
// Runs bash, zsh and fish, and checks which words they complete after massif-ctl. Checks that massif-ctl accepts each option
// that is completed.

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "ctl/cmd/command.h"
#include "selftests/lib/ctl_run.h"

#define SECONDS 60

/*
 * Each prints, in a line each, what the shell completes for the command line $1, of which the cursor is at the end. The
 * script of massif-ctl is in the file $2.
 */
static const char ask_bash[] =
	". /usr/share/bash-completion/bash_completion; . \"$2\"\n"
	"COMP_LINE=$1 COMP_POINT=${#1}\n"
	"read -ra COMP_WORDS <<<\"${1//=/ = }\"\n"
	"[[ $1 == *[=' '] ]] && COMP_WORDS+=('')\n"
	"COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
	"_massif_ctl; printf '%s\\n' \"${COMPREPLY[@]}\"\n";

static const char ask_zsh[] =
	"zmodload zsh/zpty zsh/zselect\n"
	"mkdir -p z.dir; cp \"$2\" z.dir/_massif-ctl\n"
	"zpty -b shell zsh -f -i\n"
	"zpty -w shell \"PS1='>' COLUMNS=400 LISTMAX=1000; fpath=(\\$PWD/z.dir \\$fpath)\"\n"
	"zpty -w shell 'autoload -Uz compinit; compinit -u -d z.dir/dump'\n"
	"zpty -w shell 'report() { zle -R; zle -I; print all\"\"seen }; zle -N report; bindkey \"^X\" report'\n"
	"zpty -w shell 'zle_highlight=(none); print re\"\"ady'\n"
	"until [[ $seen == *ready* ]]; do zpty -r shell out && seen+=$out || zselect -t 2; done\n"
	"seen=\n"
	"zpty -w -n shell \"$1\"$'\\t\\t\\C-x'\n"
	"until [[ $seen == *allseen* ]]; do zpty -r shell out && seen+=$out || zselect -t 2; done\n"
	"zpty -d shell\n"
	"print -r -- ${seen//$'\\e'\\[[0-9;?]#[A-Za-z]/$'\\n'}\n";

static const char ask_fish[] = "source $argv[2]; complete -C $argv[1]";

FIXTURE(completion)
{
	char script[64];
	struct ctl_result made, asked;
};

FIXTURE_VARIANT(completion)
{
	const char *shell, *ask;
	bool lists_all; /* false: what is certain is on the command line instead of in the list */
};

FIXTURE_VARIANT_ADD(completion, bash){ "bash", ask_bash, true };
FIXTURE_VARIANT_ADD(completion, zsh){ "zsh", ask_zsh, false };
FIXTURE_VARIANT_ADD(completion, fish){ "fish", ask_fish, true };

FIXTURE_SETUP(completion)
{
	char command[96];

	memset(self, 0, sizeof(*self));
	CTL_RUN(&self->made, "massif-ctl", "completion", variant->shell);
	ASSERT_EQ(0, ctl_exit_code(&self->made));
	snprintf(self->script, sizeof(self->script), "./c.%s.script", variant->shell);
	ctl_write_file(self->script, self->made.out, 0644);
	snprintf(command, sizeof(command), "command -v %s >/dev/null", variant->shell);
	ASSERT_EQ(0, system(command)) {
		TH_LOG("there is no %s: selftests/tools/packages.sh test installs it", variant->shell);
	}
}

FIXTURE_TEARDOWN(completion)
{
	ctl_result_free(&self->made);
	ctl_result_free(&self->asked);
	ctl_remove_files("c.");
	EXPECT_EQ(0, system("rm -rf z.dir"));
}

static void ask(struct _test_data_completion *self, const struct _fixture_variant_completion *variant, const char *line)
{
	ctl_result_free(&self->asked);
	if (strcmp(variant->shell, "fish") == 0)
		CTL_RUN(&self->asked, "fish", "-c", variant->ask, line, self->script);
	else if (strcmp(variant->shell, "zsh") == 0)
		CTL_RUN(&self->asked, "zsh", "-o", "extendedglob", "-c", variant->ask, "zsh", line, self->script);
	else
		CTL_RUN(&self->asked, "bash", "-c", variant->ask, "bash", line, self->script);
}

/* Returns whether @text has @word, after and before something that is no part of a word. */
static bool has(const char *text, const char *word)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz-_";
	size_t length = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += length)
		if ((at == text || !strchr(letters, at[-1])) && (!at[length] || !strchr(letters, at[length])))
			return true;
	return false;
}

static const struct {
	const char *line;
	const char *with[3], *without[2];
} lines[] = {
	{ "massif-ctl s", { "show", "snapshot", "symbolize" }, { "diff", "record" } },
	{ "massif-ctl show --lif", { "--lifetimes", "--lifetimes=" }, { "--leaks" } },
	{ "massif-ctl show --lifetimes=", { "bytes", "allocations" }, { "peak" } },
	{ "massif-ctl show --s", { "--sort", "--sizes" }, { "--stacks", "--heap" } },
	{ "massif-ctl show --by=", { "site", "library", "thread-name" }, { "peak", "N" } },
	{ "massif-ctl diff --value=", { "temporary", "pinned" }, { "peak" } },
	{ "massif-ctl export --to=", { "massif", "pprof", "speedscope" }, { "FORMAT" } },
	{ "massif-ctl check --format=", { "text", "tap", "junit" }, { "FILE" } },
	{ "massif-ctl top --sort=", { "held", "growth", "allocations" }, { "peak" } },
	{ "massif-ctl run --pages=", { "virtual", "resident", "both" }, { "massif" } },
	{ "massif-ctl record --time-unit=", { "ms", "B" }, { "yes" } },
	{ "massif-ctl --stack", { "--stacks" }, { "--sort" } },
	{ "massif-ctl check --budget=c.", { "script" }, { "--budget=c.=" } },
	{ "massif-ctl completion ", { "bash", "zsh", "fish" }, { "show" } },
	{ "massif-ctl help s", { "show", "snapshot" }, { "diff", "bash" } },
	{ "massif-ctl run -- massif_no_such_program --hea", { NULL }, { "--heap-admin", "--heap-extra" } },
};

TEST_F_TIMEOUT(completion, words, SECONDS)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		ask(self, variant, lines[i].line);
		for (size_t k = 0; k < 3 && lines[i].with[k]; k++) {
			EXPECT_TRUE(has(self->asked.out, lines[i].with[k])) {
				TH_LOG("%s: no %s in: %s%s", lines[i].line, lines[i].with[k], self->asked.out,
				       self->asked.err);
			}
		}
		for (size_t k = 0; k < 2 && lines[i].without[k]; k++) {
			EXPECT_FALSE(has(self->asked.out, lines[i].without[k])) {
				TH_LOG("%s: %s in: %s", lines[i].line, lines[i].without[k], self->asked.out);
			}
		}
	}
}

/* Returns whether massif-ctl knows @option, as the script has it, of @command. */
static bool is_known(struct __test_metadata *_metadata, const char *command, const char *option)
{
	struct ctl_result result;
	char word[128];
	bool known;

	snprintf(word, sizeof(word), "%s%s", option, option[strlen(option) - 1] == '=' ? "1" : "");
	CTL_RUN(&result, "massif-ctl", command, word);
	known = !strstr(result.err, "Unknown option") && !strstr(result.err, "Bad option") &&
		!strstr(result.err, "takes no value");
	if (!known)
		TH_LOG("%s %s: %s", command, word, result.err);
	ctl_result_free(&result);
	return known;
}

FIXTURE(options)
{
};

FIXTURE_SETUP(options)
{
}

FIXTURE_TEARDOWN(options)
{
}

/* Every option that is completed is one that the command takes. */
TEST_F_TIMEOUT(options, are_those_of_the_commands, SECONDS)
{
	struct ctl_result made;
	char command[64] = "", *line, *rest, *option, *save;
	int n = 0;

	CTL_RUN(&made, "massif-ctl", "completion", "bash");
	ASSERT_EQ(0, ctl_exit_code(&made));
	for (line = strtok_r(made.out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (sscanf(line, "\t%63[a-z_]%*[)]", command) == 1 && strchr(line, ')'))
			continue;
		if (strncmp(line, "\t\toptions='", strlen("\t\toptions='")))
			continue;
		line += strlen("\t\toptions='");
		line[strcspn(line, "'")] = '\0';
		for (option = strtok_r(line, " ", &save); option; option = strtok_r(NULL, " ", &save), n++)
			EXPECT_TRUE(is_known(_metadata, command, option));
	}
	EXPECT_LT(150, n);
	ctl_result_free(&made);
}

/* Returns whether @text has @option as a word of its own. */
static bool names(const char *text, const char *option)
{
	size_t length = strlen(option);

	for (const char *at = text; text && (at = strstr(at, option)); at += length)
		if (!isalnum((unsigned char)at[length]) && at[length] != '-')
			return true;
	return false;
}

TEST(help_names_each_option_of_a_command)
{
	int n = 0;

	for (unsigned int i = 0; i < mf_n_commands; i++) {
		const struct mf_command *command = &mf_commands[i];

		for (const char *const *word = command->words; word && *word; word++, n++) {
			/* Help has the short form. */
			const char *option = strcmp(*word, "--output") ? *word : "-o";

			EXPECT_TRUE(names(command->details, option) || names(command->usage, option)) {
				TH_LOG("%s %s", command->name, option);
			}
		}
	}
	EXPECT_LT(60, n);
}

TEST(another_shell_is_refused)
{
	struct ctl_result result;

	CTL_RUN(&result, "massif-ctl", "completion", "csh");
	EXPECT_EQ(1, ctl_exit_code(&result));
	EXPECT_NE(NULL, strstr(result.err, "bash, zsh or fish"));
	EXPECT_STREQ("", result.out);
	ctl_result_free(&result);
}

TEST(output_that_cannot_be_written_is_an_error)
{
	struct ctl_result result;

	CTL_RUN(&result, "/bin/sh", "-c", "exec \"$0\" completion fish >/dev/full", ctl_path());
	EXPECT_EQ(1, ctl_exit_code(&result));
	EXPECT_NE(NULL, strstr(result.err, "cannot write"));
	ctl_result_free(&result);
}

/* massif-ctl print is ms_print, with its status. */
TEST(print_runs_ms_print)
{
	struct ctl_result profile, ours, theirs;
	char *ms_print;

	ASSERT_LT(0, asprintf(&ms_print, "%s/ms_print", getenv("MASSIF_BUILD")));
	CTL_RUN(&profile, "massif-ctl", "--massif-out-file=c.out", "/bin/true");
	CTL_RUN(&ours, "massif-ctl", "print", "--threshold=5", "c.out");
	CTL_RUN(&theirs, ms_print, "--threshold=5", "c.out");
	EXPECT_EQ(0, ctl_exit_code(&ours));
	EXPECT_NE(NULL, strstr(ours.out, "Number of snapshots"));
	EXPECT_STREQ(theirs.out, ours.out);
	ctl_result_free(&ours);
	CTL_RUN(&ours, "massif-ctl", "print", "c.none");
	EXPECT_NE(0, ctl_exit_code(&ours));
	EXPECT_NE(NULL, strstr(ours.err, "c.none"));
	free(ms_print);
	ctl_result_free(&profile);
	ctl_result_free(&ours);
	ctl_result_free(&theirs);
	ctl_remove_files("c.");
}

TEST_HARNESS_MAIN
