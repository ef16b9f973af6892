/* SPDX-License-Identifier: GPL-2.0 */
/* Keeps the names of threads up to date, if the profile tells threads apart. */
#ifndef MASSIF_PRELOAD_THREAD_NAME_H
#define MASSIF_PRELOAD_THREAD_NAME_H

#include "core/session.h"

/* Notes the name that the current thread has just been given. */
void mf_thread_name_note(const char *name) MF_HIDDEN;

#endif
