// SPDX-License-Identifier: GPL-2.0
// heap_calls keep|free: calls every allocation function, each with a different size, starting at 70001. With "free",
// also calls every deallocation function.

#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>

/* Deallocation functions that are new in C23; glibc does not have them yet. */
extern "C" void free_sized(void *, size_t) __attribute__((weak));
extern "C" void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));

static void *grown(size_t from, size_t to)
{
	return std::realloc(std::malloc(from), to);
}

static void *posix(size_t size)
{
	void *block = nullptr;

	return posix_memalign(&block, 64, size) ? nullptr : block;
}

/* Calls the operators as functions, because a compiler may omit a new-expression. */
int main(int argc, char **argv)
{
	const std::align_val_t aligned{64};
	void *c[] = {
		std::malloc(70001),
		std::calloc(1, 70002),
		std::realloc(nullptr, 70003),
		grown(10, 70004),
		grown(80000, 70005),
		reallocarray(nullptr, 1, 70006),
		memalign(64, 70007),
		aligned_alloc(64, 70008),
		posix(70009),
		valloc(70010),
		pvalloc(70011),
	};
	void *scalar = operator new(70012), *array = operator new[](70013);
	void *quiet = operator new(70014, std::nothrow), *quiet_array = operator new[](70015, std::nothrow);
	void *wide = operator new(70016, aligned), *wide_array = operator new[](70017, aligned);
	void *quiet_wide = operator new(70018, aligned, std::nothrow);
	void *quiet_wide_array = operator new[](70019, aligned, std::nothrow);
	void *sized = operator new(70020), *sized_array = operator new[](70021);
	void *sized_wide = operator new(70022, aligned);
	void *sized_wide_array = operator new[](70023, aligned);

	if (argc < 2 || std::strcmp(argv[1], "free") != 0)
		return 0;
	for (void *block : c) {
		if (block == c[0] && free_sized)
			free_sized(block, 70001);
		else if (block == c[7] && free_aligned_sized)
			free_aligned_sized(block, 64, 70008);
		else if (block == c[1])
			block = std::realloc(block, 0);
		else
			std::free(block);
	}
	operator delete(scalar);
	operator delete[](array);
	operator delete(quiet, std::nothrow);
	operator delete[](quiet_array, std::nothrow);
	operator delete(wide, aligned);
	operator delete[](wide_array, aligned);
	operator delete(quiet_wide, aligned, std::nothrow);
	operator delete[](quiet_wide_array, aligned, std::nothrow);
	operator delete(sized, 70020);
	operator delete[](sized_array, 70021);
	operator delete(sized_wide, 70022, aligned);
	operator delete[](sized_wide_array, 70023, aligned);
	return 0;
}
