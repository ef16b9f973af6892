// SPDX-License-Identifier: GPL-2.0
// Expands %p, %n, %q{VAR} and %% in names of output files.

#include "outname.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* The state while the pattern of one file name is expanded. */
struct expansion {
	const char *rest; /* rest of the pattern, after the % and its letter */
	FILE *out;
	pid_t pid;
	unsigned int number; /* value of the next %n */
	bool is_foreign; /* the pattern is from a profiled program */
};

static int expand_percent(struct expansion *e, struct mf_error *err)
{
	fputc('%', e->out);
	return 0;
}

static int expand_pid(struct expansion *e, struct mf_error *err)
{
	if (e->pid)
		fprintf(e->out, "%d", (int)e->pid);
	else
		fputs("%p", e->out);
	return 0;
}

static int expand_number(struct expansion *e, struct mf_error *err)
{
	fprintf(e->out, "%u", e->number++);
	return 0;
}

static int expand_variable(struct expansion *e, struct mf_error *err)
{
	mf_auto_free char *variable = NULL;
	const char *end, *value;

	if (e->is_foreign)
		return mf_error_set(err, -EINVAL, "%%q is not expanded in names that the program chooses, because the "
						  "program would learn massif-ctl's environment");
	if (*e->rest != '{')
		return mf_error_set(err, -EINVAL, "Expected '{' after '%%q'");
	end = strchr(e->rest, '}');
	if (!end)
		return mf_error_set(err, -EINVAL, "Missing '}' in %%q specifier");
	variable = strndup(e->rest + 1, (size_t)(end - e->rest - 1));
	if (!variable)
		return mf_error_set(err, -ENOMEM, "out of memory");
	value = getenv(variable);
	if (!value)
		return mf_error_set(err, -EINVAL, "Environment variable '%.400s' is not set",
				    variable);
	fputs(value, e->out);
	e->rest = end + 1;
	return 0;
}

static const struct {
	char letter;
	int (*expand)(struct expansion *e, struct mf_error *err);
} specifiers[] = {
	{ '%', expand_percent },
	{ 'p', expand_pid },
	{ 'n', expand_number },
	{ 'q', expand_variable },
};

static int expand_specifier(struct expansion *e, struct mf_error *err)
{
	for (size_t i = 0; i < sizeof(specifiers) / sizeof(specifiers[0]); i++) {
		if (*e->rest == specifiers[i].letter) {
			e->rest++;
			return specifiers[i].expand(e, err);
		}
	}
	return mf_error_set(err, -EINVAL, "Expected 'p' or 'q' or '%%' after '%%'");
}

static int expand_all(struct expansion *e, struct mf_error *err)
{
	while (*e->rest) {
		char c = *e->rest++;
		int ret;

		if (c != '%') {
			fputc(c, e->out);
			continue;
		}
		ret = expand_specifier(e, err);
		if (ret)
			return ret;
	}
	return 0;
}

static const char tilde[] =
	"Filename begins with '~'\n"
	"You probably expected the shell to expand the '~', but it\n"
	"didn't.  The rules for '~'-expansion vary from shell to shell.\n"
	"You might have more luck using $HOME instead.";

static int expand(struct expansion e, char **name, struct mf_error *err)
{
	mf_auto_free char *text = NULL;
	const char *pattern = e.rest;
	size_t size;
	int ret;

	if (!*pattern)
		return mf_error_set(err, -EINVAL, "No filename given");
	if (*pattern == '~')
		return mf_error_set(err, -EINVAL, "%s", tilde);
	e.out = open_memstream(&text, &size);
	if (!e.out)
		return mf_error_set(err, -ENOMEM, "out of memory");
	ret = expand_all(&e, err);
	if (fclose(e.out) && !ret)
		ret = mf_error_set(err, -ENOMEM, "out of memory");
	if (ret)
		return ret;
	if (!*text)
		return mf_error_set(err, -EINVAL, "No filename given");
	*name = mf_take(text, NULL);
	return 0;
}

int mf_outname_expand(const char *pattern, pid_t pid, unsigned int number, char **name,
		      struct mf_error *err)
{
	return expand((struct expansion){ .rest = pattern, .pid = pid, .number = number }, name, err);
}

int mf_outname_expand_foreign(const char *pattern, pid_t pid, unsigned int number, char **name, struct mf_error *err)
{
	return expand((struct expansion){ .rest = pattern, .pid = pid, .number = number, .is_foreign = true }, name, err);
}
