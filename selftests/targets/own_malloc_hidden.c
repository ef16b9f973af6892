// SPDX-License-Identifier: GPL-2.0
// The same, with definitions that no other object can see.

#define OWN __attribute__((visibility("hidden"), noipa))
#include "own_malloc.c"
