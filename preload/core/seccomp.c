// SPDX-License-Identifier: GPL-2.0
// Whether the program has restricted its own system calls. process/prctl.c notices it.

#include "seccomp.h"

bool mf_seccomp_on;
