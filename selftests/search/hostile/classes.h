/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Building blocks of hostile C++ programs: operators, exceptions, thread-local objects. When compiled as C, they do
 * nothing.
 */
#ifndef MASSIF_SELFTESTS_CLASSES_H
#define MASSIF_SELFTESTS_CLASSES_H

#include "state.h"

#ifdef __cplusplus

#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct alignas(64) wide {
	char bytes[70];
};

static int handled;

static void give_up()
{
	if (++handled % 3 == 0)
		throw std::bad_alloc();
}

static thread_local std::string at_end(100, 'x');

/* The size is volatile, because a compiler that knows the value rejects it as too large. */
static uint64_t fail(volatile size_t size)
{
	try {
		char *volatile block = new char[size];

		delete[] block;
		return 1;
	} catch (const std::bad_alloc &error) {
		return 2;
	}
}

NOINLINE static void throw_up(unsigned int depth)
{
	std::string local(depth * 10, 'y');

	if (!depth)
		throw std::runtime_error(local + "from within");
	throw_up(depth - 1);
}

static uint64_t piece_operators(unsigned int p)
{
	volatile size_t too_large = SIZE_MAX / 4;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 100; i++) {
		wide *one = new wide, *many = new wide[i + 1];
		int *none = new (std::nothrow) int[i + p % 50];

		sum = mix(sum, (uintptr_t)one % 64 + (uintptr_t)many % 64);
		memset(one, 1, sizeof(*one));
		memset(many, 2, sizeof(*many) * (i + 1));
		delete one;
		delete[] many;
		delete[] none;
#ifdef __cpp_sized_deallocation
		::operator delete(::operator new(i), (size_t)i);
#endif
#if __cplusplus >= 201703L
		::operator delete(::operator new(i * 3 + 1, std::align_val_t(32)), std::align_val_t(32));
#endif
	}
	sum = mix(sum, fail(SIZE_MAX / 4));
	std::set_new_handler(give_up);
	sum = mix(sum, fail(SIZE_MAX / 4));
	std::set_new_handler(nullptr);
	sum = mix(sum, ::operator new(too_large, std::nothrow) == nullptr);
	return mix(sum, (uint64_t)handled);
}

static uint64_t piece_exceptions(unsigned int p)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 60; i++) {
		try {
			throw_up((i + p) % 20);
		} catch (const std::exception &error) {
			sum = mix(sum, strlen(error.what()));
		}
	}
	return sum;
}

static uint64_t piece_objects(unsigned int p)
{
	std::map<std::string, std::vector<int>> map;
	std::vector<std::thread> threads;
	std::vector<uint64_t> sums(20);
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 500; i++)
		map[std::to_string(i * p % 97)].push_back((int)i);
	for (const auto &entry : map)
		sum = mix(sum, entry.second.size());
	for (unsigned int i = 0; i < 20; i++)
		threads.emplace_back([i, p, &sums] { sums[i] = churn(i + p, 30) + at_end.size(); });
	for (auto &thread : threads)
		thread.join();
	for (uint64_t part : sums)
		sum = mix(sum, part);
	return sum;
}

#else

UNUSED static uint64_t piece_operators(unsigned int p)
{
	return p;
}

UNUSED static uint64_t piece_exceptions(unsigned int p)
{
	return p;
}

UNUSED static uint64_t piece_objects(unsigned int p)
{
	return p;
}

#endif

#endif
