// SPDX-License-Identifier: GPL-2.0
// Checks processes against the budgets of a command, and collects the verdicts.

#include "checker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/printable.h"
#include "ctl/check/verdict_writers.h"
#include "elf/text_function.h"
#include "ctl/message/message.h"

struct mf_checker *mf_checker_create(void)
{
	return calloc(1, sizeof(struct mf_checker));
}

void mf_checker_destroy(struct mf_checker *checker)
{
	if (!checker)
		return;
	mf_verdicts_deinit(&checker->verdicts);
	mf_check_deinit(&checker->check);
	free(checker);
}

const struct mf_budget *mf_checker_counted(const struct mf_checker *checker)
{
	const struct mf_budgets *budgets = &checker->check.budgets;

	for (size_t i = 0; i < budgets->count; i++)
		if (mf_measure_kinds[budgets->list[i].measure].counted)
			return &budgets->list[i];
	return NULL;
}

const struct mf_budget *mf_checker_sampled(const struct mf_checker *checker)
{
	const struct mf_budgets *budgets = &checker->check.budgets;

	for (size_t i = 0; i < budgets->count; i++)
		if (mf_measure_is_sampled(budgets->list[i].measure))
			return &budgets->list[i];
	return NULL;
}

static void fail(struct mf_checker *checker, const struct mf_error *err)
{
	checker->failed = true;
	mf_message_say(MF_MESSAGE_ERROR, "%s", err->text);
}

/* Why the suppressions that a program contains are not known. The index is an enum mf_text_function. */
static const char *const unread[] = {
	[MF_TEXT_FUNCTION_COMPUTES] = "it does not only return a constant text, and massif does not call it",
	[MF_TEXT_FUNCTION_LONG] = "its text is too long",
	[MF_TEXT_FUNCTION_UNREAD] = "the files of the program could not be read",
};

/* Reads the suppressions that the program of @process contains, if a budget needs them. Says whether they are used. */
static void read_embedded(const struct mf_checker *checker, const struct mf_check_process *process,
			  struct mf_suppressions *embedded)
{
	const struct mf_facts *facts = process->facts;
	const char *why = facts->unread_suppressions < MF_TEXT_FUNCTION_FOUND ? unread[facts->unread_suppressions] : NULL;
	mf_auto_free char *name = mf_verdicts_name(facts);
	bool is_needed = false;
	struct mf_error err;

	for (size_t i = 0; i < checker->check.budgets.count; i++)
		is_needed |= checker->check.budgets.list[i].measure == MF_MEASURE_LEAK_SITES;
	if (!is_needed || !process->uses_embedded || !name)
		return;
	/* No version records a longer text: it is of a file that is made to be slow to check. */
	if (facts->suppressions && strlen(facts->suppressions) > MF_TEXT_FUNCTION_MAX) {
		why = unread[MF_TEXT_FUNCTION_LONG];
	} else if (facts->suppressions && mf_suppressions_read_text(embedded, facts->suppressions, "line", &err)) {
		mf_suppressions_deinit(embedded);
		/* The message quotes the text, which a recording could have from anywhere. */
		mf_printable_clean(err.text);
		why = err.text;
	}
	if (why)
		mf_message_say(MF_MESSAGE_NOTE, "%s (pid %" PRIu64 "): the suppressions of __lsan_default_suppressions are "
				"not used: %s; give them with --suppressions=FILE", name, facts->pid, why);
	else if (embedded->count)
		mf_message_say(MF_MESSAGE_NOTE, "%s (pid %" PRIu64 "): %zu suppression%s of __lsan_default_suppressions",
			       name, facts->pid, embedded->count, embedded->count == 1 ? "" : "s");
}

void mf_checker_add(struct mf_checker *checker, const struct mf_check_process *process)
{
	__attribute__((cleanup(mf_suppressions_deinit))) struct mf_suppressions embedded = { 0 };
	struct mf_check_process checked = *process;
	struct mf_error err;

	read_embedded(checker, process, &embedded);
	checked.embedded = &embedded;
	if (mf_verdicts_add(&checker->verdicts, &checker->check, &checked, &err))
		fail(checker, &err);
}

void mf_checker_miss(struct mf_checker *checker, const char *process)
{
	checker->failed = true;
	mf_message_say(MF_MESSAGE_ERROR, "%s was not profiled, so its budgets are not checked", process);
}

bool mf_checker_is_certain(const struct mf_checker *checker)
{
	if (checker->verdicts.lost)
		mf_message_say(MF_MESSAGE_PROBLEM, "events were lost, so the measured numbers can be too low");
	return !checker->failed && !checker->verdicts.lost;
}

/* A message can be shorter than all lines together. */
static void say_lines(enum mf_message_level level, char *text)
{
	char *rest = text;

	if (!text)
		mf_message_say(MF_MESSAGE_ERROR, "out of memory");
	for (char *line = strsep(&rest, "\n"); line && rest; line = strsep(&rest, "\n"))
		if (*line)
			mf_message_say(level, "%s", line);
}

bool mf_checker_say(struct mf_checker *checker)
{
	struct mf_verdicts *verdicts = &checker->verdicts;
	mf_auto_free char *text = NULL;
	struct mf_error err;
	size_t size;
	FILE *out;

	if (!mf_checker_has_budgets(checker))
		return true;
	if (mf_verdicts_finish(verdicts, &checker->check, &err)) {
		fail(checker, &err);
		return false;
	}
	out = open_memstream(&text, &size);
	if (out) {
		mf_verdict_writers_find("text")->write(out, verdicts);
		fclose(out);
	}
	say_lines(verdicts->n_over ? MF_MESSAGE_ERROR : MF_MESSAGE_NOTE, text);
	return mf_checker_is_certain(checker) && !verdicts->n_over;
}
