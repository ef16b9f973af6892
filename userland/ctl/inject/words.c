// SPDX-License-Identifier: GPL-2.0
// Changes words of a process, and gives them back their old values.

#include "words.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>

#include "tracee.h"

int mf_words_read(pid_t pid, const struct mf_late *late, struct mf_late_word **words, struct mf_error *err)
{
	uint32_t n = late->n_words;

	if (n > MF_LATE_WORDS_MAX)
		return mf_error_set(err, -EPROTO, "the shim in process %d has gone wrong", (int)pid);
	*words = calloc(n + 1, sizeof(**words));
	if (!*words)
		return mf_error_set(err, -ENOMEM, "out of memory");
	if (n && !mf_tracee_read(pid, late->words, *words, n * sizeof(**words)))
		return mf_error_set(err, -EPROTO, "the shim in process %d has gone wrong", (int)pid);
	return 0;
}

bool mf_words_poke(pid_t tid, uint64_t address, uint64_t value)
{
	return !ptrace(PTRACE_POKEDATA, tid, address, value);
}

bool mf_words_write(pid_t pid, pid_t tid, const struct mf_late_word *words, uint32_t n, bool forward)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct mf_late_word *word = &words[i];
		uint64_t from = forward ? word->old : word->fresh, to = forward ? word->fresh : word->old, now;

		if (!mf_tracee_read_word(pid, word->address, &now) || (now != from && !(forward && now == word->bound)))
			continue;
		if (mf_words_poke(tid, word->address, to))
			continue;
		/* Undo what has been done. */
		if (forward)
			mf_words_write(pid, tid, words, i, false);
		return false;
	}
	return true;
}
