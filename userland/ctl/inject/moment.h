/* SPDX-License-Identifier: GPL-2.0 */
/* Chooses a thread that can be borrowed to call dlopen(). */
#ifndef MASSIF_CTL_MOMENT_H
#define MASSIF_CTL_MOMENT_H

#include <sys/types.h>

#include "target.h"
#include "tracee.h"

/*
 * Returns a thread of the stopped @tracee that is neither in malloc nor in the dynamic linker, nor in a handler of a
 * signal that may have interrupted them; 0 if there is none at this moment. Candidates before @from, an index of a thread,
 * come last.
 */
pid_t mf_moment_choose(const struct mf_tracee *tracee, const struct mf_target *target, size_t from);

/*
 * Is no thread of the stopped @tracee in the code from @start to @end, or has been called by it? The answer may be no if
 * an old address was left on a stack.
 */
bool mf_moment_is_clear_of(const struct mf_tracee *tracee, uint64_t start, uint64_t end);

/* Is no thread of the stopped @tracee executing code of the dynamic linker? */
bool mf_moment_is_linker_idle(const struct mf_tracee *tracee, const struct mf_target *target);

/*
 * The same, and is none on the way to it from a function that is called for the first time, nor in a handler of a signal
 * that has interrupted that? Such a thread would still write to a global offset table.
 */
bool mf_moment_is_binding_idle(const struct mf_tracee *tracee, const struct mf_target *target);

#endif
