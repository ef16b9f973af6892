// SPDX-License-Identifier: GPL-2.0
// Recognises calls of the standard libraries of C++ and Rust.

#include "report/standard.h"

#include <string.h>

#include "report/filter.h"
#include "report/location.h"

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/*
 * The directories of the headers: /usr/include/c++/12/bits, /usr/include/x86_64-linux-gnu/c++/12/bits and
 * /usr/lib/llvm-14/include/c++/v1; and those of Rust's library and its parts, /rustc/COMMIT/library/alloc/src,
 * /rust/deps/hashbrown-0.15.2/src, and of Debian's, /usr/src/rustc-1.63.0/library/alloc/src, .../vendor/hashbrown/src.
 */
static bool is_directory(const char *directory)
{
	const char *headers = strstr(directory, "/include/");

	if (begins_with(directory, "/rustc/") || begins_with(directory, "/usr/src/rustc-"))
		return strstr(directory, "/library/") || strstr(directory, "/vendor/");
	if (begins_with(directory, "/rust/deps/"))
		return true;
	return headers && strstr(headers, "/c++/") != NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * In massif.out files, files have no directories, and inlined functions no namespaces. These are the headers of libstdc++
 * through which memory is allocated, without names that programs are likely to use for files of their own.
 */
static bool is_header(const char *file)
{
	static const char *const names[] = {
		"alloc_traits.h", "allocated_ptr.h", "allocator.h", "basic_string.h", "hashtable.h", "hashtable_policy.h",
		"locale_classes.h", "new_allocator.h", "regex_automaton.h", "regex_compiler.h", "shared_ptr.h",
		"shared_ptr_base.h", "std_function.h", "std_thread.h", "string_conversions.h", "unique_ptr.h",
		"unordered_map.h", "unordered_set.h",
	};
	const char *name = base_name(file), *suffix = strrchr(name, '.');

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return suffix && (strcmp(suffix, ".tcc") == 0 || (begins_with(name, "stl_") && strcmp(suffix, ".h") == 0));
}

static bool is_object(const char *path, const char *const *names)
{
	const char *name = base_name(path);

	for (; *names; names++)
		if (begins_with(name, *names))
			return true;
	return false;
}

/*
 * Returns where the name of @function starts. In the name of a template, the type that it returns comes first, as in
 * "void std::vector<int>::f<int>(int)": the name follows the last space before the parameters, outside of brackets.
 */
static const char *start_of_name(const char *function)
{
	const char *start = function;
	size_t length = strlen("operator");
	int depth = 0;

	for (const char *at = function; *at; at++) {
		if (*at == '<')
			depth++;
		else if (*at == '>')
			depth--;
		else if (*at == '(' && !depth)
			break;
		else if (*at == ' ' && !depth && !((size_t)(at - start) >= length && begins_with(at - length, "operator ")))
			start = at + 1;
	}
	return start;
}

bool mf_standard_has(const struct mf_location *location)
{
	static const char *const objects[] = { "libstdc++.so", "libc++.so", "libc++abi.so", NULL };
	const char *name;

	if (location->note)
		return false;
	/* A program can add to the namespace std in files of its own. */
	if (location->file && location->directory)
		return is_directory(location->directory);
	if (location->file && is_header(location->file))
		return true;
	if (location->object && is_object(location->object, objects))
		return true;
	name = location->function ? start_of_name(location->function) : "";
	return begins_with(name, "std::") || begins_with(name, "__gnu_cxx::");
}

/* These call the initialisers of libraries, and the first functions of threads. */
bool mf_standard_is_c(const struct mf_location *location)
{
	static const char *const objects[] = { "libc.so", "libc-", "libpthread", "ld-linux", "ld-2", NULL };

	return location->object && is_object(location->object, objects);
}

size_t mf_standard_calls(const struct mf_call *calls, size_t n)
{
	size_t skipped = 0;

	while (skipped < n && mf_standard_has(calls[skipped].location))
		skipped++;
	return skipped < n && !mf_standard_is_c(calls[skipped].location) ? skipped : 0;
}

static bool is_listed(const struct mf_strings *names, const char *function)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->items[i], function) == 0)
			return true;
	return false;
}

/* In a program that is linked statically, the C library is no object of its own; the names are those of glibc and musl. */
static bool is_linked_in(const char *function)
{
	static const char *const starts[] = {
		"__memset_", "__memcpy_", "__memmove_", "__libc_", "_int_", "_mid_memalign", NULL,
	};
	static const char *const names[] = { "memset", "memcpy", "memmove", "sysmalloc", "free", "brk", "sbrk" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], function) == 0)
			return true;
	return is_object(function, starts);
}

static bool is_allocator(const struct mf_location *location, const struct mf_report_options *options)
{
	static const char *const objects[] = {
		"libjemalloc", "libtcmalloc", "libmimalloc", "libmassif-preload", "ld-musl", "libc.musl", NULL,
	};
	const char *function = mf_location_function(location->function, options);

	if (location->object && is_object(location->object, objects))
		return true;
	return function && (is_listed(&mf_filter_alloc_fns, function) || is_listed(&options->alloc_fns, function) ||
			    is_linked_in(function));
}

size_t mf_standard_touching_calls(const struct mf_call *calls, size_t n, const struct mf_report_options *options)
{
	size_t skipped = 0;

	while (skipped < n && (mf_standard_has(calls[skipped].location) || mf_standard_is_c(calls[skipped].location) ||
			       is_allocator(calls[skipped].location, options)))
		skipped++;
	/* Every program has _start(), which calls the C library: it says nothing. */
	if (skipped == n || (calls[skipped].location->function && strcmp(calls[skipped].location->function, "_start") == 0))
		return 0;
	return skipped;
}
