// SPDX-License-Identifier: GPL-2.0
// own_malloc.c with definitions that are not visible to other objects.

#define OWN __attribute__((visibility("hidden"), noipa))
#include "own_malloc.c"
