// SPDX-License-Identifier: GPL-2.0
// Prints how the C++ library's operator new behaves in edge cases: alignments that it rejects, space that it adds, and
// new-handlers that throw, longjmp or free memory. Some blocks are never freed; each of them has a unique size, from
// 70101 upwards.

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <malloc.h>
#include <new>
#include <string>
#include <sys/resource.h>

static const std::size_t too_much = std::size_t(1) << 45;

static int calls;
static std::jmp_buf out;
static struct rlimit unlimited;

struct refusal {
};

static void allocate_and_give_up()
{
	std::string text(100, 'x');

	if (++calls == 3)
		std::set_new_handler(nullptr);
}

static void refuse()
{
	calls++;
	throw refusal();
}

static void leave()
{
	calls++;
	std::longjmp(out, 1);
}

/* A new-handler that lifts the limit that caused the first attempt to fail. */
static void lift_limit()
{
	calls++;
	setrlimit(RLIMIT_AS, &unlimited);
}

template <typename Operator> static void try_one(const char *name, Operator allocate)
{
	calls = 0;
	try {
		void *block = allocate();

		std::printf("%s: %s, %d calls\n", name, block ? "a block" : "null", calls);
		std::free(block);
	} catch (std::bad_alloc &) {
		std::printf("%s: bad_alloc, %d calls\n", name, calls);
	} catch (refusal &) {
		std::printf("%s: refused, %d calls\n", name, calls);
	}
}

static void alignments()
{
	for (std::size_t alignment : { 0ul, 1ul, 2ul, 3ul, 4ul, 5ul, 6ul, 7ul, 8ul, 48ul, ~0ul }) {
		std::printf("alignment %zu\n", alignment);
		try_one(" new", [=] { return operator new(100, std::align_val_t(alignment)); });
		try_one(" new[]", [=] { return operator new[](100, std::align_val_t(alignment)); });
		try_one(" nothrow",
			[=] { return operator new(100, std::align_val_t(alignment), std::nothrow); });
	}
	for (std::size_t alignment : { 16ul, 32ul, 64ul, 4096ul })
		for (std::size_t size : { 0ul, 10ul, 40ul, 64ul, 100ul, 4097ul }) {
			void *block = operator new[](size, std::align_val_t(alignment));

			std::printf("%zu bytes at %zu: %zu usable\n", size, alignment,
				    malloc_usable_size(block));
			/*
			 * Write to all memory that the library's own operator provides: the size rounded up to the
			 * alignment.
			 */
			std::memset(block, 1, (size + alignment - 1) & ~(alignment - 1));
			operator delete[](block, size, std::align_val_t(alignment));
		}
	for (std::size_t size : { ~0ul, ~0ul - 62, ~0ul - 63, ~0ul / 2 + 1 })
		try_one("all there is", [=] { return operator new(size, std::align_val_t(64)); });
}

static void handlers()
{
	const std::align_val_t wide{ 64 };

	for (auto handler : { allocate_and_give_up, refuse }) {
		auto again = [=] { std::set_new_handler(handler); };

		again(), try_one("new", [] { return operator new(too_much); });
		again(), try_one("new[]", [] { return operator new[](too_much); });
		again(), try_one("aligned", [=] { return operator new(too_much, wide); });
		again(), try_one("aligned[]", [=] { return operator new[](too_much, wide); });
		again(), try_one("nothrow", [] { return operator new(too_much, std::nothrow); });
		again(), try_one("aligned nothrow", [=] { return operator new[](too_much, wide, std::nothrow); });
	}
	std::set_new_handler(leave);
	calls = 0;
	if (!setjmp(out))
		std::free(operator new(too_much));
	if (!setjmp(out))
		std::free(operator new(too_much, wide));
	std::printf("left %d times\n", calls);
}

/*
 * Allocates blocks for which only the second attempt succeeds. The new-handler removes the limit, frees a block of
 * 90001 bytes and allocates one of 90002 bytes.
 */
template <typename Operator> static void second_attempt(const char *name, Operator allocate)
{
	static void *reserve;
	struct rlimit limit;

	getrlimit(RLIMIT_AS, &unlimited);
	limit = { 256ul << 20, unlimited.rlim_max };
	reserve = std::malloc(90001);
	calls = 0;
	std::set_new_handler([] {
		lift_limit();
		std::free(reserve);
		reserve = std::malloc(90002);
	});
	setrlimit(RLIMIT_AS, &limit);
	if (allocate())
		std::printf("%s at the second attempt: %d calls\n", name, calls);
}

static void keep()
{
	const std::align_val_t wide{ 4096 };
	void *kept[] = { operator new(70101, wide), operator new[](70102, wide),
			 operator new(70103, wide, std::nothrow), operator new[](70104, wide, std::nothrow) };
	void *given[] = { operator new(70111, wide), operator new[](70112, wide),
			  operator new(70113, wide, std::nothrow), operator new[](70114, wide, std::nothrow),
			  operator new(70115, wide), operator new[](70116, wide) };

	std::printf("%d\n", kept[0] && kept[1] && kept[2] && kept[3]);
	operator delete(given[0], wide);
	operator delete[](given[1], wide);
	operator delete(given[2], wide, std::nothrow);
	operator delete[](given[3], wide, std::nothrow);
	operator delete(given[4], 70115, wide);
	operator delete[](given[5], 70116, wide);
	operator delete(nullptr, wide);
	operator delete[](nullptr, 10, wide);
	second_attempt("new", [] { return operator new((1ul << 30) + 1); });
	second_attempt("aligned", [=] { return operator new((1ul << 30) + 2, wide); });
	second_attempt("aligned nothrow", [=] { return operator new[]((1ul << 30) + 3, wide, std::nothrow); });
}

int main()
{
	alignments();
	handlers();
	keep();
	return 0;
}
