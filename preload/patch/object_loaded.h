/* SPDX-License-Identifier: GPL-2.0 */
/* Handles all objects before their code runs, whether they are loaded at startup or later. */
#ifndef MASSIF_PRELOAD_OBJECT_LOADED_H
#define MASSIF_PRELOAD_OBJECT_LOADED_H

#include <stdint.h>

/*
 * Handles all objects that are loaded now. From then on, handles every new object after it and its dependencies have
 * been mapped and before any of them is relocated or run. The table in object_loaded.c lists the functions that are
 * called for each object.
 * Context: the process has only one thread.
 * Return: 0, or -errno if objects that are loaded later will not be handled.
 */
int mf_object_loaded_start(void);

/*
 * The same for a shim that was loaded into a running process: changes no code. Objects that are loaded later are handled
 * once the word at the address that is passed to @write has the value @fresh. Nothing but slots.h looks at the objects.
 */
int mf_object_loaded_prepare(void (*write)(uint64_t address, uint64_t fresh));

#endif
