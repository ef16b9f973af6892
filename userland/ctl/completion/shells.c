// SPDX-License-Identifier: GPL-2.0
// The scripts that complete the words of massif-ctl in a shell.

#include "shells.h"

#include <string.h>

#include "candidates.h"

#define HEAD "Completes the words of massif-ctl " MASSIF_VERSION "; written by massif-ctl completion"

static bool is_short(const struct mf_candidate *option)
{
	return option->name[1] != '-';
}

/* Calls @write for each command with its options. Returns 0 or -ENOMEM. */
static int for_each(FILE *out, void (*write)(FILE *out, const struct mf_command *command,
					     const struct mf_candidates *candidates))
{
	struct mf_candidates candidates = { 0 };
	int code = 0;

	for (unsigned int i = 0; i < mf_n_commands && !code; i++) {
		code = mf_candidates_of(&mf_commands[i], &candidates);
		if (!code)
			write(out, &mf_commands[i], &candidates);
	}
	mf_candidates_deinit(&candidates);
	return code;
}

/* Prints the names of the commands, separated by blanks. If @programs is false, leaves out those that run a program. */
static void print_commands(FILE *out, bool programs)
{
	const char *between = "";

	for (unsigned int i = 0; i < mf_n_commands; i++) {
		if (!programs && mf_candidates_takes_program(&mf_commands[i]))
			continue;
		fprintf(out, "%s%s", between, mf_commands[i].name);
		between = " ";
	}
}

static void print_bash_names(FILE *out, const struct mf_candidates *candidates)
{
	fputs("\t\toptions='", out);
	for (size_t i = 0; i < candidates->n; i++) {
		const struct mf_candidate *option = &candidates->options[i];

		fprintf(out, "%s%s%s", i ? " " : "", option->name,
			option->value == MF_CANDIDATE_BARE || option->is_optional || is_short(option) ? "" : "=");
		if (option->is_optional)
			fprintf(out, " %s=", option->name);
	}
	fputs("'\n", out);
}

/* Prints how the values of the options that have @value are completed, if there are such options. */
static void print_bash_files(FILE *out, const struct mf_candidates *candidates, enum mf_candidate_value value,
			     const char *action)
{
	bool found = false;

	for (size_t i = 0; i < candidates->n; i++) {
		const struct mf_candidate *option = &candidates->options[i];

		if (option->value != value || is_short(option))
			continue;
		fprintf(out, "%s%s=*", found ? " | " : "\t\t", option->name);
		found = true;
	}
	if (found)
		fprintf(out, ") cur=${cur#*=}; %s; return ;;\n", action);
}

static void print_bash_values(FILE *out, const struct mf_candidates *candidates)
{
	fputs("\t\tcase $cur in\n", out);
	for (size_t i = 0; i < candidates->n; i++)
		if (candidates->options[i].value == MF_CANDIDATE_WORDS)
			fprintf(out, "\t\t%s=*) COMPREPLY=($(compgen -W '%s' -- \"${cur#*=}\")); return ;;\n",
				candidates->options[i].name, candidates->options[i].words);
	print_bash_files(out, candidates, MF_CANDIDATE_FILE, "_filedir");
	print_bash_files(out, candidates, MF_CANDIDATE_DIRECTORY, "_filedir -d");
	fputs("\t\t--*=*) return ;;\n\t\tesac\n", out);
}

static void write_bash_command(FILE *out, const struct mf_command *command, const struct mf_candidates *candidates)
{
	fprintf(out, "\t%s)\n", command->name);
	print_bash_names(out, candidates);
	print_bash_values(out, candidates);
	fputs("\t\t;;\n", out);
}

static int write_bash(FILE *out)
{
	int code;

	fputs("# " HEAD " bash\n"
	      "_massif_ctl()\n{\n"
	      "\tlocal cur prev words cword options= command=run first=1 i\n"
	      "\t_init_completion -n = || return\n"
	      "\tcase ${words[1]} in\n\t", out);
	for (unsigned int i = 0; i < mf_n_commands; i++)
		fprintf(out, "%s%s", i ? " | " : "", mf_commands[i].name);
	fputs(")\n"
	      "\t\t[ \"$cword\" -gt 1 ] && command=${words[1]} first=2 ;;\n"
	      "\tesac\n"
	      "\tcase $command in run | record)\n"
	      "\t\tfor ((i = first; i < cword; i++)); do\n"
	      "\t\t\tcase ${words[i]} in\n"
	      "\t\t\t--) _command_offset $((i + 1)); return ;;\n"
	      "\t\t\t-*) ;;\n"
	      "\t\t\t*) _command_offset \"$i\"; return ;;\n"
	      "\t\t\tesac\n"
	      "\t\tdone ;;\n"
	      "\tesac\n"
	      "\tcase $command in\n", out);
	code = for_each(out, write_bash_command);
	fputs("\tesac\n"
	      "\tcase $cur in\n"
	      "\t-*)\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
	      "\t\t[[ ${COMPREPLY-} == *= ]] && compopt -o nospace\n"
	      "\t\treturn ;;\n"
	      "\tesac\n"
	      "\tif [ \"$cword\" -eq 1 ]; then\n"
	      "\t\tCOMPREPLY=($(compgen -c -W '", out);
	print_commands(out, true);
	fputs("' -- \"$cur\"))\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tcase $command in\n"
	      "\trun | record) COMPREPLY=($(compgen -c -- \"$cur\")) ;;\n"
	      "\tcompletion) COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$cur\")) ;;\n"
	      "\thelp) COMPREPLY=($(compgen -W '", out);
	print_commands(out, true);
	fputs("' -- \"$cur\")) ;;\n"
	      "\t*) _filedir ;;\n"
	      "\tesac\n"
	      "}\n"
	      "complete -F _massif_ctl massif-ctl\n", out);
	return code;
}

/* Prints @text for a zsh description in single quotes and brackets. */
static void print_zsh_text(FILE *out, const char *text)
{
	for (; text && *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (strchr("[]:\\", *text))
			fprintf(out, "\\%c", *text);
		else
			putc(*text, out);
	}
}

static void write_zsh_option(FILE *out, const struct mf_candidate *option)
{
	fprintf(out, "\t\t\t'*%s%s", option->name,
		option->value == MF_CANDIDATE_BARE ? "" : is_short(option) ? "+" : option->is_optional ? "=-" : "=");
	if (option->meaning) {
		putc('[', out);
		print_zsh_text(out, option->meaning);
		putc(']', out);
	}
	if (option->is_optional)
		putc(':', out);
	switch (option->value) {
	case MF_CANDIDATE_BARE: break;
	case MF_CANDIDATE_OTHER: fputs(":value:", out); break;
	case MF_CANDIDATE_WORDS: fprintf(out, ":value:(%s)", option->words); break;
	case MF_CANDIDATE_FILE: fputs(":file:_files", out); break;
	case MF_CANDIDATE_DIRECTORY: fputs(":directory:_files -/", out); break;
	}
	fputs("' \\\n", out);
}

static void print_zsh_commands(FILE *out)
{
	fputs("\t\t\t'1:command:(", out);
	print_commands(out, true);
	fputs(")'", out);
}

static void write_zsh_command(FILE *out, const struct mf_command *command, const struct mf_candidates *candidates)
{
	fprintf(out, "\t%s)\n\t\t_arguments -S \\\n", command->name);
	for (size_t i = 0; i < candidates->n; i++)
		write_zsh_option(out, &candidates->options[i]);
	if (mf_candidates_takes_program(command))
		fputs("\t\t\t'(-)1:program:_command_names -e' '*::arguments:_normal'", out);
	else if (command->run == mf_command_completion)
		fputs("\t\t\t'1:shell:(bash zsh fish)'", out);
	else if (command->run == mf_command_help)
		print_zsh_commands(out);
	else
		fputs("\t\t\t'*:file:_files'", out);
	fputs(" ;;\n", out);
}

static int write_zsh(FILE *out)
{
	int code;

	fputs("#compdef massif-ctl\n# " HEAD " zsh\n"
	      "_massif_ctl()\n{\n"
	      "\tlocal command=run\n"
	      "\tlocal -a verbs=(\n", out);
	for (unsigned int i = 0; i < mf_n_commands; i++) {
		fprintf(out, "\t\t'%s:", mf_commands[i].name);
		print_zsh_text(out, mf_commands[i].summary);
		fputs("'\n", out);
	}
	fputs("\t)\n"
	      "\tif ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n"
	      "\t\t_describe -t commands command verbs\n"
	      "\t\t_command_names -e\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tif ((${#verbs[(r)$words[2]:*]})); then\n"
	      "\t\tcommand=$words[2]\n"
	      "\t\tshift words\n"
	      "\t\t((CURRENT--))\n"
	      "\tfi\n"
	      "\tcase $command in\n", out);
	code = for_each(out, write_zsh_command);
	fputs("\tesac\n}\n_massif_ctl \"$@\"\n", out);
	return code;
}

static void print_fish_text(FILE *out, const char *text)
{
	putc('\'', out);
	for (; text && *text; text++) {
		if (strchr("'\\", *text))
			putc('\\', out);
		putc(*text, out);
	}
	putc('\'', out);
}

static void write_fish_option(FILE *out, const struct mf_command *command, const struct mf_candidate *option)
{
	fputs("complete -c massif-ctl -n '", out);
	if (command->run == mf_command_run) {
		fputs("not __fish_seen_subcommand_from ", out);
		print_commands(out, false);
	} else {
		fprintf(out, "__fish_seen_subcommand_from %s", command->name);
	}
	fprintf(out, "' -%c %s", is_short(option) ? 's' : 'l', option->name + (is_short(option) ? 1 : 2));
	switch (option->value) {
	case MF_CANDIDATE_BARE: break;
	case MF_CANDIDATE_OTHER: fputs(option->is_optional ? "" : " -x", out); break;
	case MF_CANDIDATE_WORDS: fprintf(out, "%s -a '%s'", option->is_optional ? "" : " -x", option->words); break;
	case MF_CANDIDATE_FILE: fputs(" -r -F", out); break;
	case MF_CANDIDATE_DIRECTORY: fputs(" -x -a '(__fish_complete_directories)'", out); break;
	}
	if (option->meaning) {
		fputs(" -d ", out);
		print_fish_text(out, option->meaning);
	}
	putc('\n', out);
}

/* The options of record are those of run, for which one condition is enough. */
static void write_fish_command(FILE *out, const struct mf_command *command, const struct mf_candidates *candidates)
{
	if (command->run == mf_command_record)
		return;
	for (size_t i = 0; i < candidates->n; i++)
		write_fish_option(out, command, &candidates->options[i]);
}

static int write_fish(FILE *out)
{
	fputs("# " HEAD " fish\n", out);
	for (unsigned int i = 0; i < mf_n_commands; i++) {
		fprintf(out, "complete -c massif-ctl -n __fish_use_subcommand -a %s -d ", mf_commands[i].name);
		print_fish_text(out, mf_commands[i].summary);
		putc('\n', out);
	}
	fputs("complete -c massif-ctl -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n"
	      "complete -c massif-ctl -n '__fish_seen_subcommand_from help' -f -a '", out);
	print_commands(out, true);
	fputs("'\n", out);
	return for_each(out, write_fish_command);
}

const struct mf_shell mf_shells[] = {
	{ "bash", write_bash },
	{ "zsh", write_zsh },
	{ "fish", write_fish },
	{ NULL, NULL },
};
