// SPDX-License-Identifier: GPL-2.0
// Callbacks through which thread.c and gate.c call process/fork.c.

#include "fork_calls.h"

struct mf_fork_calls mf_fork_calls;
bool mf_fork_is_newborn;
