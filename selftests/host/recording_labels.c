// SPDX-License-Identifier: GPL-2.0
// Names in the tables of massif-ctl: shortened step by step until they fit, and then cut, but not their file and line.

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kselftest_harness.h"

#include "base/cleanup.h"
#include "ctl/query/label.h"

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
#define VIEW   "std::basic_string_view<char, std::char_traits<char> >"

static const struct {
	unsigned int columns;
	const char *label, *printed;
} labels[] = {
	/* What fits stays as it is. */
	{ 13, "f<int>(int) x", "f<int>(int) x" },
	{ 90, STRING "::reserve()", STRING "::reserve()" },
	{ 89, STRING "::reserve()", "std::string::reserve()" },
	{ 60, "join<" VIEW ", unsigned int> (text.h:9)", "join<std::string_view, unsigned int> (text.h:9)" },
	{ 46, "join<" VIEW ", unsigned int> (text.h:9)", "join<> (text.h:9)" },
	{ 30, "shop::name[abi:cxx11](int) (file.cc:9)", "shop::name(int) (file.cc:9)" },
	{ 25, "inflate (in /usr/lib/x86_64/libz.so.1)", "inflate (in libz.so.1)" },
	{ 20, "inflate_fast (in /usr/lib/x86_64/libz.so.1)", "inflate_fast (in li…" },
	{ 35, "0x7F3B3A6A57B9 (in /usr/lib/libstdc++.so.6.0.30)", "0x7F3B3A6… (in libstdc++.so.6.0.30)" },
	{ 35, "?\?? (in /usr/lib/a-library-of-much.so)", "?\?? (in a-library-of-much.so)" },
	{ 25, "/usr/lib/x86_64-linux-gnu/libz.so.1", "libz.so.1" },
	{ 35, "/usr/lib/x86_64-linux-gnu/libz.so.1", "/usr/lib/x86_64-linux-gnu/libz.so.1" },
	{ 30, "a (in /b/c/libd.so) < e (in /f/g/libh.so)", "a (in libd.so) < e (in libh.s…" },
	/* Template arguments, also nested ones; operators are no brackets. */
	{ 26, "std::map<int, std::vector<int> >::insert(int)", "std::map<>::insert(int)" },
	{ 20, "bool operator< <A<int> >(A<int> const&)", "bool operator< <>(.…" },
	{ 30, "bool operator< <A<int> >(A<int> const&)", "bool operator< <>(A<> const&)" },
	{ 40, "std::ostream& operator<< <char>(std::ostream<char>&)", "std::ostream& operator<< <>(...)" },
	{ 28, "std::unique_ptr<Table>::operator->() const", "std::unique_ptr<>::operator…" },
	{ 40, "std::unique_ptr<Table>::operator->() const", "std::unique_ptr<>::operator->() const" },
	{ 40, "f<int>::operator()(std::vector<int>, int)", "f<>::operator()(std::vector<>, int)" },
	{ 25, "main::<lambda(int)> (main.cpp:26)", "main::<lam… (main.cpp:26)" },
	{ 30, "with<Pages::view(Id)::<lambda()> > (a.h:1)", "with<> (a.h:1)" },
	/* Parameters. */
	{ 29, "shop::Orders::place(Session&, Request const&) (orders.cpp:39)", "Orders::place (orders.cpp:39)" },
	{ 28, "shop::Orders::place(Session&, Request const&) (orders.cpp:39)", "place (orders.cpp:39)" },
	{ 21, "shop::Orders::place(Session&, Request const&) (orders.cpp:39)", "place (orders.cpp:39)" },
	{ 20, "shop::Orders::place(Session&, Request const&) (orders.cpp:39)", "shop::Orders::place…" },
	{ 34, "shop::Orders::place(Session&, Request const&) (in shop)", "shop::Orders::place(...) (in shop)" },
	{ 30, "std::string shop::text::join<>(...) (text.h:9)", "text::join<> (text.h:9)" },
	{ 20, "(anonymous namespace)::Fn::operator()(int) (a.c:1)", "operator() (a.c:1)" },
	{ 29, "(anonymous namespace)::operator() (main.cpp:26)", "operator() (main.cpp:26)" },
	{ 24, "shop::operator new(unsigned long) (main.cpp:26)", "shop::ope… (main.cpp:26)" },
	{ 40, "shop::Orders::place(Session&, Request const&) (orders.cpp:39)", "shop::Orders::place(...) (orders.cpp:39)" },
	{ 39, "shop::Orders::place(Session&, Request const&) (orders.cpp:39)", "shop::Orders::place (orders.cpp:39)" },
	{ 24, "shop::Orders::place(Session&, Request const&)", "shop::Orders::place(...)" },
	{ 30, "(anonymous namespace)::f(int, int, int)", "(anonymous namespace)::f(...)" },
	{ 20, "f(void (*)(int, int), int)", "f(...)" },
	{ 20, "f(int, int, int) [clone .cold] (a.c:1)", "f(...) [clo… (a.c:1)" },
	/* If the file and line leave too little room for the name, both are cut. */
	{ 22, "function_name (0123.c:10)", "function_… (0123.c:10)" },
	{ 21, "function_name (0123.c:10)", "function_name (0123.…" },
	{ 12, "function_name (file.cpp:10)", "function_na…" },
	/* What is not closed. */
	{ 12, "f<int, std::vector<int", "f<int, std:…" },
	{ 12, "f(int, int, int", "f(int, int,…" },
	{ 3, "", "" },
	{ 3, "((((((", "((…" },
	{ 3, "/////", "//…" },
	{ 9, "äöüäöü (in /ä/öü)", "äöüäöü (…" },
};

static char *print(const char *label, unsigned int columns)
{
	struct mf_terminal terminal = { .utf8 = true };
	char *text = NULL;
	size_t size;

	terminal.out = open_memstream(&text, &size);
	mf_label_print(&terminal, label, columns);
	fclose(terminal.out);
	return text;
}

TEST(are_shortened_until_they_fit)
{
	ASSERT_NE(NULL, setlocale(LC_CTYPE, "C.UTF-8"));
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		mf_auto_free char *text = print(labels[i].label, labels[i].columns);

		EXPECT_STREQ(labels[i].printed, text) {
			TH_LOG("%s, %u columns: '%s'", labels[i].label, labels[i].columns, text);
		}
	}
}

/* Labels can come from files of others: every label in every width, and labels of brackets only, in little time. */
TEST(no_label_takes_long)
{
	static const char *const parts[] = { "<", "(", ">", ")", "operator<", "<a>", " (in /", "a(<", "std::string ",
					     STRING " ", " < ", "\303", "a::", "::" };
	const size_t repeats = 20000;
	clock_t start = clock();

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		mf_auto_free char *label = calloc(repeats + 4, strlen(parts[i]));
		char *end = label;

		for (size_t k = 0; k < repeats; k++)
			end = stpcpy(end, parts[i]);
		strcpy(end, " (x:1)");
		for (unsigned int columns = 0; columns < 30; columns += 7) {
			mf_auto_free char *text = print(label, columns);

			EXPECT_NE(NULL, text);
		}
	}
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		for (unsigned int columns = 0; columns < 80; columns++) {
			mf_auto_free char *text = print(labels[i].label, columns);

			EXPECT_LE(strlen(text), strlen(labels[i].label) + 3);
		}
	}
	EXPECT_LT((clock() - start) / CLOCKS_PER_SEC, 10);
}

TEST_HARNESS_MAIN
