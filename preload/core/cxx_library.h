/* SPDX-License-Identifier: GPL-2.0 */
/* Looks up functions in the program's C++ library, if it has one. */
#ifndef MASSIF_PRELOAD_CXX_LIBRARY_H
#define MASSIF_PRELOAD_CXX_LIBRARY_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* Mangled names of the functions that operators.c calls in the C++ library. */
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

/* Looks up the functions in all currently loaded objects. Called once, while the process has one thread. */
void mf_cxx_library_start(void);

/* The same for a shim that was loaded later than the program's libraries. */
void mf_cxx_library_start_late(void);

/*
 * Update the known addresses of the C++ library's functions after an object has been loaded, or after the object with
 * load bias @bias has been unloaded. Not called before mf_cxx_library_start().
 * Context: the dynamic linker's lock is held, or the process has one thread.
 */
void mf_cxx_library_arrived(const struct dl_phdr_info *object);
void mf_cxx_library_gone(uintptr_t bias);

/*
 * Records whether every object that has been loaded or unloaded so far was reported by a call of
 * mf_cxx_library_arrived() or mf_cxx_library_gone(). @all: true if all were reported.
 */
void mf_cxx_library_know(bool all);

/*
 * Returns the function's address, or NULL if no library defines it. Unlike dlsym() this does not change what dlerror()
 * returns. Takes the dynamic linker's lock only if there was no C++ library at startup (for example, in a C program
 * with a C++ plug-in) and some loads may not have been reported.
 */
void *mf_cxx_library_find(enum mf_cxx_library_function function);

#endif
