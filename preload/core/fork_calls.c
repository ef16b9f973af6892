// SPDX-License-Identifier: GPL-2.0
// What threads and the gate ask of process/fork.c.

#include "fork_calls.h"

struct mf_fork_calls mf_fork_calls;
bool mf_fork_is_newborn;
