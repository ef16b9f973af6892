// SPDX-License-Identifier: GPL-2.0
// Calls of the standard libraries of C++ and Rust, which say little about who allocates: show, diff and check skip them.

#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"

#include "report/standard.h"
#include "selftests/lib/ctl_run.h"

static const struct {
	struct mf_location location;
	bool standard;
} places[] = {
	{ { "allocate", "/usr/include/c++/12/bits", "new_allocator.h" }, true },
	{ { "allocate", "/usr/include/x86_64-linux-gnu/c++/12/bits", "new_allocator.h" }, true },
	{ { "allocate", "/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/bits", "x.h" }, true },
	{ { "allocate", "/usr/lib/llvm-14/include/c++/v1", "memory" }, true },
	{ { "alloc::alloc::alloc", "/rustc/90b35a623/library/alloc/src", "alloc.rs" }, true },
	{ { "do_alloc", "/rust/deps/hashbrown-0.15.2/src/raw", "alloc.rs" }, true },
	{ { "alloc::alloc::alloc", "/usr/src/rustc-1.63.0/library/alloc/src", "alloc.rs" }, true },
	{ { "do_alloc", "/usr/src/rustc-1.63.0/vendor/hashbrown/src/raw", "alloc.rs" }, true },
	{ { "do_alloc", "/home/me/vendor/hashbrown/src/raw", "alloc.rs" }, false },
	{ { "main", "/usr/src/rustc-1.63.0/compiler/src", "main.rs" }, false },
	{ { "main", "/rustc/90b35a623/compiler/src", "main.rs" }, false },
	/* A program's own specialisation, and headers of others. */
	{ { "std::hash<Key>::operator()(Key const&) const", "/home/me/src", "key.h" }, false },
	{ { "make", "/usr/include/boost", "make_shared.hpp" }, false },
	{ { "make", "/home/me/c++/project", "a.cpp" }, false },
	{ { "std::f()", "/home/me/src", NULL, 0, "/home/me/prog" }, true },
	/* Without debug information: by the name, or the library. */
	{ { "std::string::reserve(unsigned long)", .object = "/home/me/prog" }, true },
	{ { "__gnu_cxx::__pool<true>::_M_reserve_block(unsigned long)", .object = "/home/me/prog" }, true },
	{ { "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)", .object = "/p" }, true },
	{ { "bool std::operator< <char>(std::pair<char> const&)", .object = "/p" }, true },
	{ { NULL, .object = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30" }, true },
	{ { NULL, .object = "/usr/lib/x86_64-linux-gnu/libc++.so.1" }, true },
	{ { "std::vector<int> shop::make<int>(int)", .object = "/p" }, false },
	{ { "shop::T::operator std::string() const", .object = "/p" }, false },
	{ { "shop::f(std::vector<int>)", .object = "/p" }, false },
	{ { "(anonymous namespace)::f(std::string)", .object = "/p" }, false },
	{ { "stdio_read", .object = "/p" }, false },
	{ { "strdup", .object = "/usr/lib/x86_64-linux-gnu/libc.so.6" }, false },
	{ { NULL, .object = "/p/libstdc.so" }, false },
	/* In massif.out files, files have no directories. */
	{ { "append", .file = "basic_string.h" }, true },
	{ { "allocate", .file = "/usr/include/c++/12/bits/new_allocator.h" }, true },
	{ { "_M_create_node", .file = "stl_tree.h" }, true },
	{ { "reserve", .file = "vector.tcc" }, true },
	{ { "append", "/home/me/src", "basic_string.h" }, false },
	{ { "append", .file = "my_basic_string.h" }, false },
	{ { "append", .file = "basic_string.h.in" }, false },
	{ { "read", .file = "stl_file.c" }, false },
	{ { "read", .file = "tcc" }, false },
	{ { "f", .file = "key.h" }, false },
	{ { NULL }, false },
	{ { .note = "[heap]" }, false },
};

TEST(what_is_standard)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		EXPECT_EQ(places[i].standard, mf_standard_has(&places[i].location)) {
			TH_LOG("%zu: %s", i, places[i].location.function);
		}
	}
}

/* Calls are letters: s of the standard library, c of the C library, p of the program. */
static const struct {
	const char *stack;
	size_t skipped;
} stacks[] = {
	{ "", 0 }, { "p", 0 }, { "sp", 1 }, { "ssp", 2 }, { "ps", 0 }, { "s", 0 }, { "ss", 0 }, { "sc", 0 },
	{ "scp", 0 }, { "spc", 1 }, { "cp", 0 }, { "spsp", 1 },
};

TEST(how_many_calls_are_skipped)
{
	static const struct mf_location standard = { "std::f()", .object = "/p" };
	static const struct mf_location c[] = { { "start_thread", .object = "/usr/lib/libc.so.6" },
						{ "_dl_init", .object = "/usr/lib64/ld-linux-x86-64.so.2" } };
	static const struct mf_location own = { "f", .object = "/p" };

	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		struct mf_call calls[8] = { 0 };
		size_t n = strlen(stacks[i].stack);

		for (size_t k = 0; k < n; k++)
			calls[k].location = stacks[i].stack[k] == 's' ? &standard :
					    stacks[i].stack[k] == 'c' ? &c[i % 2] : &own;
		EXPECT_EQ(stacks[i].skipped, mf_standard_calls(calls, n)) {
			TH_LOG("%s", stacks[i].stack);
		}
	}
}

FIXTURE(standard) {
	struct ctl_result result;
};

/* Runs @argv; returns its exit status, and keeps its output until the next run. */
#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))
#define HAS(text) (strstr(self->result.out, text) != NULL)

/* Two tables and a string that are held, and a thread, which has ended. */
#define PROGRAM(bytes) \
	"#include <cstdio>\n#include <string>\n#include <thread>\n#include <vector>\n"				\
	"namespace shop {\n"											\
	"struct Table { std::vector<char> cells; explicit Table(size_t n) { cells.reserve(n); } };\n"		\
	"[[gnu::noinline]] Table *sales() { return new Table(30000); }\n"					\
	"[[gnu::noinline]] Table *stock() { return new Table(" #bytes "); }\n"					\
	"[[gnu::noinline]] std::string *name() { auto *s = new std::string; s->reserve(5000); return s; }\n"	\
	"void *volatile kept[3];\n"										\
	"}\n"													\
	"int main()\n{\n"											\
	"	shop::kept[0] = shop::sales();\n	shop::kept[1] = shop::stock();\n"			\
	"	shop::kept[2] = shop::name();\n	std::thread t([] { puts(\"a line\"); });\n	t.join();\n}\n"

static bool record(FIXTURE_DATA(standard) *self, const char *text, const char *option, const char *level)
{
	ctl_write_file("massif.cc", text, 0644);
	return !RUN("c++", level, "-g", "-pthread", "-o", "massif.prog", "massif.cc") &&
	       !RUN("massif-ctl", "record", "-q", option, "--massif-out-file=massif.out", "./massif.prog");
}

FIXTURE_SETUP(standard)
{
	ctl_remove_files("massif.");
	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("COLUMNS", "200", 1);
	ASSERT_TRUE(record(self, PROGRAM(20000), "--record=massif.rec", "-O2"));
}

FIXTURE_TEARDOWN(standard)
{
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
}

static const struct {
	const char *option[2];
	const char *says;
} views[] = {
	{ { "--by=site" }, "\n  48.83 KB   48.83 KB " },
	{ { "--by=site" }, "  Table (massif.cc:6)\n" },
	{ { "--by=function" }, "  Table\n" },
	{ { "--by=place" }, "  shop::name[abi:cxx11]() (massif.cc)\n" },
	{ { "--by=site", "--all-calls" }, "  allocate (new_allocator.h:" },
	{ { "--by=file" }, "  massif.cc\n" },
	{ { "--by=file", "--all-calls" }, "  new_allocator.h\n" },
	{ { "--by=stack" }, "  allocate (new_allocator.h:" },
	{ { "--tree" }, "%  Table (massif.cc:6)\n" },
	{ { "--tree" }, "%    shop::sales() (massif.cc:7)\n" },
	{ { "--tree", "--all-calls" }, "%  allocate (new_allocator.h:" },
	{ { "--tree", "--all-calls" }, "%          Table (massif.cc:6)\n" },
};

TEST_F_TIMEOUT(standard, sites_are_of_the_program, 120)
{
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		EXPECT_EQ(0, RUN("massif-ctl", "show", views[i].option[0], views[i].option[1] ?: "--top=20", "massif.rec"));
		EXPECT_TRUE(HAS(views[i].says)) {
			TH_LOG("%s: '%s' is not in:\n%s", views[i].option[0], views[i].says, self->result.out);
		}
	}
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--inclusive", "--by=function", "--top=50", "massif.rec"));
	EXPECT_TRUE(HAS(" shop::sales()\n"));
	EXPECT_FALSE(HAS("_M_allocate"));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--tree", "massif.rec"));
	EXPECT_FALSE(HAS("new_allocator.h"));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--inclusive", "--all-calls", "--by=function", "--top=50", "massif.rec"));
	EXPECT_TRUE(HAS(" _M_allocate\n"));
}

/* A string that is grown by libstdc++'s own code: the tree shows it only where it branches. */
TEST_F_TIMEOUT(standard, tree_shows_where_it_branches, 120)
{
	ASSERT_TRUE(record(self, "#include <string>\nstd::string *volatile p;\n"
				 "[[gnu::noinline]] void one() { p = new std::string; p->reserve(5000); }\n"
				 "[[gnu::noinline]] void two() { p = new std::string; p->reserve(4000); }\n"
				 "int main(int n, char **a) { one(); if (n > 1) two(); }\n", "--record=massif.one", "-O1"));
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.two", "--massif-out-file=massif.out",
			 "./massif.prog", "2"));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--tree", "massif.one"));
	EXPECT_FALSE(HAS("reserve")) TH_LOG("%s", self->result.out);
	EXPECT_TRUE(HAS("%  one() (massif.cc:3)\n"));
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--tree", "massif.two"));
	EXPECT_TRUE(HAS("reserve(")) TH_LOG("%s", self->result.out);
	EXPECT_TRUE(HAS("%    one() (massif.cc:3)\n"));
	EXPECT_TRUE(HAS("%    two() (massif.cc:4)\n"));
	/* libstdc++ allocates for itself when it is loaded: its pool for exceptions. */
	EXPECT_TRUE(HAS("\n  71.00 KB ")) TH_LOG("%s", self->result.out);
	EXPECT_TRUE(HAS("(in /usr/lib/x86_64-linux-gnu/libstdc++.so"));
}

/* The vectors of both functions are told apart, so that a change of one is seen. */
TEST_F_TIMEOUT(standard, diff_compares_places_of_the_program, 120)
{
	ASSERT_TRUE(record(self, "// A line more.\n" PROGRAM(24000), "--record=massif.new", "-O2"));
	EXPECT_EQ(1, RUN("massif-ctl", "diff", "massif.rec", "massif.new"));
	EXPECT_TRUE(HAS("  Table (massif.cc)\n")) TH_LOG("%s", self->result.out);
	EXPECT_EQ(1, RUN("massif-ctl", "diff", "--all-calls", "massif.rec", "massif.new"));
	EXPECT_TRUE(HAS("  allocate (new_allocator.h)\n"));
	/* Stacks are compared without lines, too: one has changed. */
	EXPECT_EQ(1, RUN("massif-ctl", "diff", "--by=stack", "massif.rec", "massif.new"));
	EXPECT_TRUE(HAS("+3.906 KB   19.53 KB   23.44 KB  allocate (new_allocator.h) < ")) TH_LOG("%s", self->result.out);
	EXPECT_FALSE(HAS("(came)"));
	EXPECT_FALSE(HAS("(went)"));
}

/*
 * The libraries hold libstdc++'s pool, the buffer of stdout and the thread's table until the end. They are no
 * leaks of the program, which has leaks of its own.
 */
TEST_F_TIMEOUT(standard, leaks_are_of_the_program, 120)
{
	EXPECT_EQ(1, RUN("massif-ctl", "check", "--max-leak-sites=0", "massif.rec"));
	EXPECT_FALSE(HAS("libstdc++")) TH_LOG("%s", self->result.out);
	EXPECT_FALSE(HAS("_IO_file_doallocate"));
	EXPECT_FALSE(HAS("rtld-malloc"));
	EXPECT_TRUE(HAS("  Table (massif.cc:6)\n"));
	/* They are only no leaks: everything that is held counts for the other budgets, and is shown. */
	EXPECT_EQ(0, RUN("massif-ctl", "show", "--leaks", "massif.rec"));
	EXPECT_TRUE(HAS("_IO_file_doallocate"));
	EXPECT_TRUE(HAS("\n\nnever freed ") && HAS(" blocks; the other 75.") &&
		    HAS(" KB are the C and C++ libraries' own, and no leak\n")) {
		TH_LOG("%s", self->result.out);
	}
	EXPECT_EQ(0, RUN("massif-ctl", "show", "massif.rec"));
	EXPECT_FALSE(HAS("never freed "));
	ASSERT_TRUE(record(self, "#include <cstdio>\n#include <thread>\n"
				 "int main() { std::thread t([] { puts(\"\"); }); t.join(); }\n",
			   "--record=massif.none", "-O2"));
	EXPECT_EQ(0, RUN("massif-ctl", "check", "--max-leak-sites=0", "massif.none")) {
		TH_LOG("%s", self->result.out);
	}
	EXPECT_EQ(1, RUN("massif-ctl", "check", "--max-end=1K", "massif.none"));
	/* What the program makes the libraries allocate is a leak. */
	ASSERT_TRUE(record(self, "#include <cstdio>\n#include <cstring>\nchar *volatile p;\nFILE *volatile f;\n"
				 "int main() { p = strdup(\"a\"); f = fopen(\"/dev/null\", \"r\"); }\n",
			   "--record=massif.two", "-O0"));
	EXPECT_EQ(1, RUN("massif-ctl", "check", "--max-leak-sites=1", "massif.two"));
	EXPECT_EQ(0, RUN("massif-ctl", "check", "--max-leak-sites=2", "massif.two"));
}

TEST_HARNESS_MAIN
