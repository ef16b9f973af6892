// SPDX-License-Identifier: GPL-2.0
// A random program made of C++ functions with long names; see random_engine.h.

#include "random_engine.h"

#include <new>
#include <string>

static void *go_on(struct walk *walk);

/* The last call of every call chain: the call to an allocation or deallocation function. */
#define ALLOCATE(walk)                                                                        \
	switch ((walk)->call) {                                                               \
	case CALL_MALLOC:                                                                     \
	case CALL_MEMALIGN:                                                                   \
	case CALL_STRDUP: return malloc((walk)->size);                                        \
	case CALL_MALLOC_AGAIN: return malloc((walk)->size);                                  \
	case CALL_CALLOC: return calloc(1, (walk)->size);                                     \
	case CALL_ALIGNED_ALLOC: return aligned_alloc(16, (walk)->size);                      \
	case CALL_POSIX_MEMALIGN:                                                             \
	case CALL_REALLOC: return realloc((walk)->block, (walk)->size);                       \
	case CALL_NEW: return operator new((walk)->size);                                     \
	case CALL_NEW_NOTHROW: return operator new((walk)->size, std::nothrow);               \
	case CALL_NEW_ARRAY: return operator new[]((walk)->size);                             \
	case CALL_NEW_ARRAY_NOTHROW: return operator new[]((walk)->size, std::nothrow);       \
	case CALL_FREE:                                                                       \
	case CALL_FREE_AGAIN: free((walk)->block); return nullptr;                            \
	case CALL_DELETE: operator delete((walk)->block); return nullptr;                     \
	case CALL_DELETE_SIZED: operator delete((walk)->block, (walk)->size); return nullptr; \
	case CALL_DELETE_ARRAY: operator delete[]((walk)->block); return nullptr;             \
	}

#define STEP_BODY                                    \
	{                                            \
		void *block;                         \
		if (walk->step == walk->last) {      \
			ALLOCATE(walk)               \
			abort();                     \
		}                                    \
		if (walk->step->site & 1) {          \
			block = go_on(walk);         \
			walk->returned += 2;         \
		} else {                             \
			block = go_on(walk);         \
			walk->returned += 3;         \
		}                                    \
		return block;                        \
	}

namespace shop {

namespace {

struct Hidden {
	static NOINLINE void *get(struct walk *walk) STEP_BODY
};

} // end of anonymous namespace

template <typename Key, typename Value = std::basic_string<Key>> class Shelf {
public:
	static NOINLINE void *put(struct walk *walk) STEP_BODY

	template <int N> static NOINLINE void *put_many(struct walk *walk) STEP_BODY
};

NOINLINE void *fetch(struct walk *walk, ...) STEP_BODY

NOINLINE void *fetch_again(struct walk *walk) STEP_BODY

struct Order {
	NOINLINE void *operator()(struct walk *walk) const STEP_BODY
	NOINLINE operator bool() const { return here != nullptr; }

	struct walk *here;
};

static NOINLINE void *place_order(struct walk *walk)
{
	Order order{ walk };
	void *block = order(walk);

	return order ? block : nullptr;
}

} // end of namespace shop

template <typename Function>
static NOINLINE void *apply(struct walk *walk, Function &&what)
{
	void *block = what(walk);

	walk->returned++;
	return block;
}

static NOINLINE void *by_lambda(struct walk *walk)
{
	return apply(walk, [](struct walk *walk) __attribute__((noinline)) -> void * STEP_BODY);
}

static NOINLINE void *fetch_any(struct walk *walk)
{
	return shop::fetch(walk, 1, 2.0);
}

static function *const functions[] = {
	shop::Hidden::get,
	shop::Shelf<char>::put,
	shop::Shelf<int, shop::Shelf<wchar_t>>::put_many<-3>,
	fetch_any,
	shop::fetch_again,
	shop::place_order,
	by_lambda,
};

/* A function rather than a macro, because the table is defined after the functions in it. */
static NOINLINE void *go_on(struct walk *walk)
{
	void *block;

	walk->step++;
	block = functions[walk->step->function](walk);
	walk->returned++;
	return block;
}

int main(int, char **argv)
{
	return run_program(argv, functions, sizeof(functions) / sizeof(*functions), true);
}
