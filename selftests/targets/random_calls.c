// SPDX-License-Identifier: GPL-2.0
// A random program made of C functions; see random_engine.h.

#include "random_engine.h"

#include <malloc.h>

/* random_inlined.c includes this file with another definition of MAY_INLINE. */
#ifndef MAY_INLINE
#define MAY_INLINE NOINLINE
#endif

static function *const functions[];

/* NEXT and ALLOCATE are macros, so that each function that uses them contains the calls itself, several on one line. */
#define NEXT(walk) ((walk)->step++, functions[(walk)->step->function](walk))

#define ALLOCATE(walk)                                                                        \
	({                                                                                    \
		void *block = NULL;                                                           \
		switch ((walk)->call) {                                                       \
		case CALL_MALLOC: block = malloc((walk)->size); break;                        \
		case CALL_MALLOC_AGAIN: block = malloc((walk)->size); (walk)->returned++; break; \
		case CALL_CALLOC: block = calloc((walk)->size, 1); break;                     \
		case CALL_MEMALIGN: block = memalign(16, (walk)->size); break;                \
		case CALL_ALIGNED_ALLOC: block = aligned_alloc(16, (walk)->size); break;      \
		case CALL_POSIX_MEMALIGN:                                                     \
			if (posix_memalign(&block, 8, (walk)->size))                          \
				block = NULL;                                                 \
			break;                                                                \
		case CALL_STRDUP: block = strdup(program.text + TEXT_MAX + 1 - (walk)->size); break; \
		case CALL_REALLOC: block = realloc((walk)->block, (walk)->size); break;       \
		case CALL_FREE: free((walk)->block); break;                                   \
		case CALL_FREE_AGAIN: free((walk)->block); (walk)->returned++; break;         \
		default: abort();                                                             \
		}                                                                             \
		block;                                                                        \
	})

/*
 * The compiler may inline these two functions. If it does, one or both appear in reported call stacks as inlined calls,
 * without a frame of their own.
 */
static MAY_INLINE void *inlined_inner(struct walk *walk)
{
	void *block = NEXT(walk);

	walk->returned += 2;
	return block;
}

static MAY_INLINE void *inlined_outer(struct walk *walk)
{
	void *block;

	if (walk->size & 32)
		block = inlined_inner(walk);
	else
		block = NEXT(walk);
	walk->returned += 3;
	return block;
}

#define DEFINE_STEP(name, through)                                                            \
	static NOINLINE void *name(struct walk *walk)                                         \
	{                                                                                     \
		void *block;                                                                  \
		if (walk->step == walk->last) {                                               \
			block = ALLOCATE(walk);                                               \
		} else if (walk->step->site == 0) {                                           \
			block = NEXT(walk);                                                   \
			walk->returned += 5;                                                  \
		} else if (walk->step->site == 1) {                                           \
			block = NEXT(walk);                                                   \
			walk->returned += 7;                                                  \
		} else {                                                                      \
			block = through(walk);                                                \
		}                                                                             \
		walk->returned++;                                                             \
		return block;                                                                 \
	}

DEFINE_STEP(step_a, inlined_inner)
DEFINE_STEP(step_b, inlined_outer)
DEFINE_STEP(step_c, inlined_outer)
DEFINE_STEP(step_d, NEXT)
DEFINE_STEP(step_e, NEXT)

/* Functions that command-line options of the profiler name as allocation functions. They contain no inlined calls. */
DEFINE_STEP(wrap_a, NEXT)
DEFINE_STEP(wrap_b, NEXT)
DEFINE_STEP(wrap_c, NEXT)

/* The compiler may turn the last call of this function into a jump. */
static NOINLINE void *jump_on(struct walk *walk)
{
	if (walk->step == walk->last)
		return ALLOCATE(walk);
	return NEXT(walk);
}

static function *const functions[] = { step_a, step_b, step_c, step_d, step_e,
				       wrap_a, wrap_b, wrap_c, jump_on };

int main(int argc, char **argv)
{
	(void)argc;
	return run_program(argv, functions, sizeof(functions) / sizeof(*functions), false);
}
