// SPDX-License-Identifier: GPL-2.0
// diff_new MODE: allocates in C++ in several ways: with all forms of operator new, in functions whose names vary in
// length, and in the C++ library.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#define NOINLINE __attribute__((noinline))

static void *volatile seen;

template <typename T> NOINLINE T *see(T *block)
{
	seen = (void *)block;
	return block;
}

static void forms()
{
	constexpr std::align_val_t usual{ 16 };
	void *blocks[] = {
		operator new(100),
		operator new[](200),
		operator new(300, std::nothrow),
		operator new[](400, std::nothrow),
		operator new(500, usual),
		operator new[](600, usual),
		operator new(700, usual, std::nothrow),
		operator new[](800, usual, std::nothrow),
		operator new(0),
		operator new[](0, std::nothrow),
	};

	operator delete(blocks[0]);
	operator delete[](blocks[1]);
	operator delete(blocks[2], std::nothrow);
	operator delete[](blocks[3], std::nothrow);
	operator delete(blocks[4], usual);
	operator delete[](blocks[5], usual);
	operator delete(blocks[6], 700, usual);
	operator delete[](blocks[7], 800, usual);
	operator delete(blocks[8], (size_t)0);
	operator delete[](blocks[9], std::nothrow);
	operator delete(nullptr);
	operator delete[](nullptr);
}

static void wide_forms()
{
	constexpr std::align_val_t more{ 64 }, most{ 128 };

	see(operator new(500, more));
	see(operator new[](600, most));
	see(operator new(700, more, std::nothrow));
	see(operator new[](800, most, std::nothrow));
	operator delete(see(operator new(900, more)), more);
	operator delete[](see(operator new[](1000, most)), (size_t)1000, most);
}

/* diff_new MODE thrown: throws an exception instead of calling a nothrow operator new that returns NULL. */
static bool thrown;

static NOINLINE void throw_and_catch()
{
	try {
		throw std::bad_alloc();
	} catch (const std::bad_alloc &) {
	}
}

static void failing()
{
	for (int i = 0; i < 2; i++) {
		if (thrown)
			throw_and_catch();
		else
			see(operator new((size_t)1 << 60, std::nothrow));
	}
	see(new char[100]);
}

struct alignas(16) four {
	double values[4];
	virtual ~four() = default;
};

struct five : four {
	int more[10];
};

static void objects()
{
	four *one = see(new five);
	four *many = see(new four[7]);
	auto shared = std::make_shared<four>();
	std::unique_ptr<four> unique(new five);

	see(shared.get());
	delete one;
	delete[] many;
}

template <typename... Types> struct wide {
	template <int N> static NOINLINE void *allocate(std::tuple<Types...> *)
	{
		return see(operator new(sizeof(std::tuple<Types...>) + N));
	}
};

template <int N> struct deep {
	template <typename T> static NOINLINE void *allocate(T value)
	{
		void *block = deep<N - 1>::allocate(std::pair<T, T>(value, value));

		see(block);
		return block;
	}
};

template <> struct deep<0> {
	template <typename T> static NOINLINE void *allocate(T)
	{
		return see(operator new(sizeof(T)));
	}
};

namespace outer
{
namespace
{
struct hidden {
	NOINLINE void *operator()(int n) const
	{
		return see(operator new(n));
	}
	NOINLINE operator void *() const
	{
		return see(operator new(17));
	}
	NOINLINE hidden &operator<<(int n)
	{
		see(operator new(n * 2));
		return *this;
	}
};
} // end of anonymous namespace
} // end of namespace outer

static void names()
{
	outer::hidden hidden;
	auto lambda = [](int n) NOINLINE { return see(operator new(n)); };
	std::function<void *(int)> function = lambda;

	wide<int, char, std::string>::allocate<5>(nullptr);
	wide<std::map<std::string, std::vector<int>>, void (*)(int &, const char *)>::allocate<-1>(
		nullptr);
	deep<7>::allocate('c');
	hidden(40);
	see((void *)hidden);
	hidden << 20 << 30;
	lambda(60);
	function(70);
}

static void containers()
{
	std::vector<std::string> strings;
	std::map<int, std::string> ordered;
	std::unordered_map<std::string, int> hashed;

	strings.reserve(8);
	for (int i = 0; i < 8; i++) {
		strings.emplace_back(20 + i, 'x');
		ordered[i] = strings.back();
		hashed[strings.back()] = i;
	}
}

static NOINLINE void throw_it(int n)
{
	throw std::runtime_error(std::string(n, 'e'));
}

static void exceptions()
{
	for (int i = 20; i < 25; i++) {
		try {
			throw_it(i);
		} catch (const std::exception &e) {
			see(new char[strlen(e.what())]);
		}
	}
}

/* Type of global objects, which are created before main and destroyed after it. */
struct early {
	early() : block(nullptr)
	{
	}
	void fill()
	{
		block = new char[900];
	}
	~early()
	{
		if (block)
			see(new char[1000]);
		delete[] block;
	}
	char *block;
};

static early global;

static void globals()
{
	static std::string text(100, 't');

	global.fill();
	see(&text);
}

static const struct {
	const char *name;
	void (*run)();
} modes[] = {
	{ "forms", forms },
	{ "wide", wide_forms },
	{ "failing", failing },
	{ "objects", objects },
	{ "names", names },
	{ "containers", containers },
	{ "exceptions", exceptions },
	{ "globals", globals },
};

int main(int argc, char **argv)
{
	thrown = argc > 2 && strcmp(argv[2], "thrown") == 0;
	for (const auto &mode : modes) {
		if (argc > 1 && strcmp(argv[1], mode.name) == 0) {
			mode.run();
			return 0;
		}
	}
	return 2;
}
