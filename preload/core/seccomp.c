// SPDX-License-Identifier: GPL-2.0
// True if the program has restricted its own system calls. Set by process/prctl.c.

#include "seccomp.h"

bool mf_seccomp_on;
