// SPDX-License-Identifier: GPL-2.0
// Recognises blocks that the C and C++ libraries never free, although the program has no leak.

#include "report/runtime.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "report/standard.h"

/*
 * The buffer of stdin or stdout, and a thread's table of thread-local variables: glibc keeps the stacks of threads that
 * have ended, with their tables, for the next threads.
 */
static const char *const keepers[] = { "_IO_file_doallocate", "_dl_allocate_tls" };

/* In debug files, a name can end in a version: _IO_file_doallocate@@GLIBC_2.2.5. */
static bool is_keeper(const struct mf_location *location)
{
	if (!location->function || !mf_standard_is_c(location))
		return false;
	for (size_t i = 0; i < sizeof(keepers) / sizeof(keepers[0]); i++) {
		size_t length = strlen(keepers[i]);

		if (strncmp(location->function, keepers[i], length) == 0 &&
		    (!location->function[length] || location->function[length] == '@'))
			return true;
	}
	return false;
}

static bool is_of_loader(const struct mf_location *location)
{
	const char *slash = location->object ? strrchr(location->object, '/') : NULL;

	return slash && strncmp(slash, "/ld-", strlen("/ld-")) == 0;
}

/*
 * Returns whether the loader has called only libraries of C and C++: then libstdc++ has allocated its pool for exceptions,
 * or the loader something for itself.
 */
static bool is_of_start(const struct mf_moment_stack *stack)
{
	for (size_t i = 0; i < stack->n; i++) {
		const struct mf_location *location = stack->calls[i].location;

		if (!mf_standard_has(location) && !mf_standard_is_c(location))
			return false;
	}
	return stack->n && is_of_loader(stack->calls[stack->n - 1].location);
}

bool mf_runtime_keeps(const struct mf_moment_stack *stack)
{
	for (size_t i = 0; i < stack->n; i++)
		if (is_keeper(stack->calls[i].location))
			return true;
	return is_of_start(stack);
}

struct search {
	const struct mf_profile *profile;
	struct mf_runtime *runtime;
};

static int add_kept(void *data, const struct mf_moment_stack *stack, struct mf_error *err)
{
	const struct search *search = data;
	struct mf_runtime *runtime = search->runtime;

	if (!mf_runtime_keeps(stack))
		return 0;
	runtime->kept[runtime->n_kept++] = (struct mf_leaf){ .context = stack->context, .bytes = stack->bytes };
	runtime->kept_bytes += stack->bytes;
	if (search->profile->counts)
		runtime->kept_blocks += search->profile->counts[stack->context].live;
	return 0;
}

int mf_runtime_find(const struct mf_moment *moment, struct mf_runtime *runtime, struct mf_error *err)
{
	const struct mf_profile *profile = moment->profile;
	uint64_t blocks = 0;
	int code = 0;

	*runtime = (struct mf_runtime){ .kept = calloc(moment->snapshot->n_leaves + 1, sizeof(*runtime->kept)) };
	if (!runtime->kept)
		return mf_error_set(err, -ENOMEM, "out of memory");
	if (!profile->pages)
		code = mf_moment_each(moment, add_kept, &(struct search){ profile, runtime }, err);
	for (uint32_t i = 0; profile->counts && i < profile->n_contexts; i++)
		blocks += profile->counts[i].live;
	runtime->leaked_bytes = moment->snapshot->heap_bytes - runtime->kept_bytes;
	runtime->leaked_blocks = blocks - runtime->kept_blocks;
	return code;
}

void mf_runtime_free(struct mf_runtime *runtime)
{
	free(runtime->kept);
	*runtime = (struct mf_runtime){ 0 };
}
