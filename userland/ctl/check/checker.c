// SPDX-License-Identifier: GPL-2.0
// Checks processes against the budgets of a command, and collects the verdicts.

#include "checker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "ctl/check/verdict_writers.h"
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

void mf_checker_add(struct mf_checker *checker, const struct mf_check_process *process)
{
	struct mf_error err;

	if (mf_verdicts_add(&checker->verdicts, &checker->check, process, &err))
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
