/* SPDX-License-Identifier: GPL-2.0 */
/* The C++ library that the program has, if any. */
#ifndef MASSIF_PRELOAD_LIBRARY_H
#define MASSIF_PRELOAD_LIBRARY_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* Its functions that operators.c calls, by their mangled names. */
#define MF_LIBRARY_FUNCTIONS(X)                   \
	X(_Znwm)                                  \
	X(_Znam)                                  \
	X(_ZnwmRKSt9nothrow_t)                    \
	X(_ZnamRKSt9nothrow_t)                    \
	X(_ZnwmSt11align_val_t)                   \
	X(_ZnamSt11align_val_t)                   \
	X(_ZnwmSt11align_val_tRKSt9nothrow_t)     \
	X(_ZnamSt11align_val_tRKSt9nothrow_t)     \
	X(_ZdlPvSt11align_val_t)                  \
	X(_ZdaPvSt11align_val_t)                  \
	X(_ZdlPvmSt11align_val_t)                 \
	X(_ZdaPvmSt11align_val_t)                 \
	X(_ZdlPvSt11align_val_tRKSt9nothrow_t)    \
	X(_ZdaPvSt11align_val_tRKSt9nothrow_t)

#define MF_LIBRARY_NUMBER(name) MF_LIBRARY_##name,

enum mf_cxx_library_function { MF_LIBRARY_FUNCTIONS(MF_LIBRARY_NUMBER) MF_LIBRARY_N };

/* Looks for all of them in the objects that are there. Once, while there is one thread. */
void mf_cxx_library_start(void);

/*
 * An object has come, or one with this load bias has gone. Called with the dynamic linker's lock, or while there is
 * one thread.
 */
void mf_cxx_library_arrived(const struct dl_phdr_info *object);
void mf_cxx_library_gone(uintptr_t bias);

/* @all: all that has come and gone so far was told by the functions above. */
void mf_cxx_library_know(bool all);

/*
 * The function's address, or NULL if no library has it. Unlike dlsym() this leaves dlerror() alone. Takes the
 * dynamic linker's lock only if there was no C++ library at the start (a C program, whose plug-in brings one) and
 * not all that came was told.
 */
void *mf_cxx_library_find(enum mf_cxx_library_function function);

#endif
