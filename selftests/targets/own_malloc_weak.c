// SPDX-License-Identifier: GPL-2.0
// The same, with definitions that give way to others.

#define OWN __attribute__((weak, noipa))
#include "own_malloc.c"
