// SPDX-License-Identifier: GPL-2.0
// Suppressions that a program contains (__lsan_default_suppressions): in programs of C and C++, as compilers make them, in
// libraries; functions that compute; the limit of the text.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "elf/text_function.h"
#include "recording/facts.h"
#include "recording/section.h"
#include "selftests/lib/ctl_run.h"

/* Two leaks; SUPPRESSIONS is the text of the first one's suppression, or another body of the function. */
#define LEAKS								\
	"#include <stdlib.h>\n"						\
	"void *volatile sink;\n"					\
	"void known_leak(void) { sink = malloc(500); }\n"		\
	"void leak(void) { sink = malloc(1000); }\n"			\
	"int main(void) { known_leak(); leak(); return 0; }\n"
#define DECLARATION							\
	"#ifdef __cplusplus\n"						\
	"extern \"C\"\n"						\
	"#endif\n"							\
	"const char *__lsan_default_suppressions(void)\n"
#define PROGRAM(text) DECLARATION "{ return " text "; }\n" LEAKS
#define KNOWN	      "\"# of the program\\nleak:^known_leak\\n\""

FIXTURE(embedded) {
	struct ctl_result result;
};

#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))
#define RECORD() RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.out", "./program")
#define CHECK(...) RUN("massif-ctl", "check", "--max-leak-sites=0", ##__VA_ARGS__, "massif.rec")
#define SAYS(text) (strstr(self->result.err, text) != NULL)

FIXTURE_SETUP(embedded)
{
	ctl_remove_files("massif.");
}

FIXTURE_TEARDOWN(embedded)
{
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
	ctl_remove_files("program");
	ctl_remove_files("libprogram");
}

/* Returns how many sites of leaks the check that was run has counted; -1 if there was none. */
static int sites(const struct ctl_result *result)
{
	const char *line = strstr(result->out, "OVER ");

	if (!line)
		return strstr(result->out, "\n1 kept, 0 over\n") ? 0 : -1;
	return atoi(line + strlen("OVER "));
}

static const char *const builds[] = {
	"gcc -O0", "gcc -O2", "gcc -O0 -fno-pie -no-pie", "gcc -O2 -fno-pie -no-pie", "gcc -O0 -fcf-protection=full",
	"gcc -O2 -fno-omit-frame-pointer", "g++ -x c++ -O0", "g++ -x c++ -O2", "g++ -x c++ -O0 -fno-pie -no-pie",
	"g++ -x c++ -O2 -fno-pie -no-pie", "clang -O0", "clang -O2", "clang -O2 -fno-omit-frame-pointer",
	"clang -O0 -fno-pie -no-pie", "clang++ -x c++ -O0", "clang++ -x c++ -O2",
};

TEST_F_TIMEOUT(embedded, of_any_build, 120)
{
	char command[256];

	ctl_write_file("program.c", PROGRAM(KNOWN), 0644);
	for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
		snprintf(command, sizeof(command), "%s -g -fno-inline -o program program.c", builds[i]);
		ASSERT_EQ(0, RUN("sh", "-c", command)) {
			TH_LOG("%s: %s", command, self->result.err);
		}
		ASSERT_EQ(0, RECORD());
		EXPECT_EQ(1, CHECK());
		EXPECT_EQ(1, sites(&self->result)) {
			TH_LOG("%s: %s%s", command, self->result.out, self->result.err);
		}
		EXPECT_TRUE(SAYS("): 1 suppression of __lsan_default_suppressions\n"));
	}
}

/* Only the dynamic symbol is left; the names of the leaks are not, but that of the file. */
TEST_F_TIMEOUT(embedded, of_a_stripped_program, 120)
{
	ctl_write_file("program.c", PROGRAM("\"leak:program\""), 0644);
	ASSERT_EQ(0, RUN("gcc", "-O2", "-rdynamic", "-s", "-o", "program", "program.c"));
	ASSERT_EQ(0, RECORD());
	EXPECT_EQ(0, CHECK());
	EXPECT_EQ(0, sites(&self->result));
	/* Without the symbol, nothing of the function is left. */
	ASSERT_EQ(0, RUN("gcc", "-O2", "-s", "-o", "program", "program.c"));
	ASSERT_EQ(0, RECORD());
	EXPECT_EQ(1, CHECK());
	EXPECT_STREQ("", self->result.err);
}

/* In the last of more libraries than one child of massif-ctl reads. */
TEST_F_TIMEOUT(embedded, of_a_library, 120)
{
	ctl_write_file("libprogram.c", PROGRAM(KNOWN), 0644);
	ctl_write_file("libprogram_none.c", "int none;\n", 0644);
	ctl_write_file("program.c", "#include <dlfcn.h>\n#include <stdio.h>\n"
		       "static char names[100][32];\n"
		       "static void open_all(void) __attribute__((constructor));\n"
		       "static void open_all(void)\n{\n\tfor (int i = 0; i < 100; i++) {\n"
		       "\t\tsnprintf(names[i], sizeof(names[i]), \"./libprogram%d.so\", i);\n"
		       "\t\tif (!dlopen(names[i], RTLD_NOW)) __builtin_abort();\n\t}\n}\n" LEAKS, 0644);
	ASSERT_EQ(0, RUN("gcc", "-g", "-o", "program", "program.c", "-ldl"));
	ASSERT_EQ(0, RUN("sh", "-c", "gcc -shared -fPIC -o libprogram99.so libprogram.c -Dmain=other && "
				     "gcc -shared -fPIC -o libprogram0.so libprogram_none.c && "
				     "for i in $(seq 98); do cp libprogram0.so libprogram$i.so; done"));
	ASSERT_EQ(0, RECORD());
	/* The loader's own blocks are left out. */
	ctl_write_file("massif.budget", "function main leak-sites 0\n", 0644);
	EXPECT_EQ(1, RUN("massif-ctl", "check", "--budget=massif.budget", "massif.rec"));
	EXPECT_EQ(1, sites(&self->result)) {
		TH_LOG("%s%s", self->result.out, self->result.err);
	}
}

/* Functions whose text massif does not know without calling them. */
static const char *const computing[] = {
	"{ return getenv(\"HOME\") ? \"leak:known_leak\" : \"\"; }\n",
	"{ static char text[] = \"leak:known_leak\"; return text; }\n",
	"{ sink = 0; return \"leak:known_leak\"; }\n",
};

TEST_F_TIMEOUT(embedded, that_are_computed_are_not_used, 120)
{
	char text[1024];

	for (size_t i = 0; i < sizeof(computing) / sizeof(computing[0]); i++) {
		snprintf(text, sizeof(text), "#include <stdlib.h>\nextern void *volatile sink;\n%s%s%s", DECLARATION,
			 computing[i], LEAKS);
		ctl_write_file("program.c", text, 0644);
		ASSERT_EQ(0, RUN("gcc", "-g", "-o", "program", "program.c"));
		ASSERT_EQ(0, RECORD());
		EXPECT_EQ(1, CHECK());
		EXPECT_EQ(2, sites(&self->result));
		EXPECT_TRUE(SAYS("are not used: it does not only return a constant text, and massif does not call it; "
				 "give them with --suppressions=FILE\n")) {
			TH_LOG("%s", self->result.err);
		}
	}
}

/* Texts of the greatest length, of one more byte, and of ten times as many. */
TEST_F_TIMEOUT(embedded, length_of_the_text, 120)
{
	static const size_t sizes[] = { MF_TEXT_FUNCTION_MAX, MF_TEXT_FUNCTION_MAX + 1, 10 * MF_TEXT_FUNCTION_MAX };
	static const char rule[] = "leak:known_leak\\n#";
	static char text[11 * MF_TEXT_FUNCTION_MAX];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int length = snprintf(text, sizeof(text), DECLARATION "{ return \"%s", rule);
		/* One of the rule's characters is written with two. */
		size_t comment = sizes[i] - (sizeof(rule) - 2);

		memset(text + length, 'x', comment);
		snprintf(text + length + comment, sizeof(text) - (size_t)length - comment, "\"; }\n" LEAKS);
		ctl_write_file("program.c", text, 0644);
		ASSERT_EQ(0, RUN("gcc", "-g", "-o", "program", "program.c"));
		ASSERT_EQ(0, RECORD());
		EXPECT_EQ(1, CHECK());
		EXPECT_EQ(i ? 2 : 1, sites(&self->result)) {
			TH_LOG("%zu: %s%.200s", sizes[i], self->result.out, self->result.err);
		}
		EXPECT_EQ(i != 0, SAYS("are not used: its text is too long"));
	}
}

/* Copies a recording of one process to massif.made, with @text as the suppressions of its program. */
static bool make_recording(const char *path, const char *text)
{
	static uint8_t data[1 << 20];
	FILE *in = fopen(path, "re"), *out = fopen("massif.made", "we");
	struct mf_section_reader reader = mf_section_reader(data, in ? fread(data, 1, sizeof(data), in) : 0);
	struct mf_bytes file = { 0 };
	struct mf_error err;
	uint32_t type;
	uint8_t *contents;
	size_t size;
	bool ok = in && out && !mf_section_check_magic(&reader, &err);

	mf_section_add_magic(&file);
	while (ok && mf_section_read(&reader, &type, &contents, &size, &err) > 0) {
		struct mf_cursor cursor = { contents, contents + size, false };
		struct mf_bytes section = { 0 };
		struct mf_facts facts;

		if (type == MF_SECTION_PROCESS) {
			mf_facts_take(&cursor, &facts);
			facts.suppressions = text;
			mf_facts_add(&section, &facts);
		} else {
			mf_bytes_add(&section, contents, size);
		}
		ok = !mf_section_add(&file, type, &section);
		mf_bytes_deinit(&section);
		free(contents);
	}
	ok = ok && fwrite(file.data, 1, file.size, out) == file.size;
	mf_bytes_deinit(&file);
	return (!in || !fclose(in)) && out && !fclose(out) && ok;
}

/* A recording can have any text, whatever the program contained. */
TEST_F_TIMEOUT(embedded, length_of_the_text_in_a_file, 120)
{
	static const size_t sizes[] = { MF_TEXT_FUNCTION_MAX, MF_TEXT_FUNCTION_MAX + 1, 10 * MF_TEXT_FUNCTION_MAX };
	static const char rule[] = "leak:known_leak\n#";
	static char text[10 * MF_TEXT_FUNCTION_MAX + 1];

	ctl_write_file("program.c", LEAKS, 0644);
	ASSERT_EQ(0, RUN("gcc", "-g", "-o", "program", "program.c"));
	ASSERT_EQ(0, RECORD());
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(text, 'x', sizes[i]);
		text[sizes[i]] = '\0';
		memcpy(text, rule, sizeof(rule) - 1);
		ASSERT_TRUE(make_recording("massif.rec", text));
		EXPECT_EQ(1, RUN("massif-ctl", "check", "--max-leak-sites=0", "massif.made"));
		EXPECT_EQ(i ? 2 : 1, sites(&self->result)) {
			TH_LOG("%zu: %s%.200s", sizes[i], self->result.out, self->result.err);
		}
		EXPECT_EQ(i != 0, SAYS("are not used: its text is too long"));
	}
}

TEST_F_TIMEOUT(embedded, can_be_left_out, 120)
{
	ctl_write_file("program.c", PROGRAM(KNOWN), 0644);
	ASSERT_EQ(0, RUN("gcc", "-g", "-o", "program", "program.c"));
	ASSERT_EQ(0, RECORD());
	EXPECT_EQ(1, CHECK("--embedded-suppressions=no"));
	EXPECT_EQ(2, sites(&self->result));
	EXPECT_STREQ("", self->result.err);
	/* With those of a file, nothing is left. */
	ctl_write_file("massif.supp", "leak:^leak\n", 0644);
	EXPECT_EQ(0, CHECK("--suppressions=massif.supp"));
	EXPECT_EQ(1, CHECK("--suppressions=massif.supp", "--embedded-suppressions=no"));
	/* A check that does not count leaks needs none. */
	EXPECT_EQ(0, RUN("massif-ctl", "check", "--max-peak=1M", "massif.rec"));
	EXPECT_STREQ("", self->result.err);
}

TEST_F_TIMEOUT(embedded, that_are_wrong_are_not_used, 120)
{
	ctl_write_file("program.c", PROGRAM("\"leak:known_leak\\n\\nrace:\\033x\\n\""), 0644);
	ASSERT_EQ(0, RUN("gcc", "-g", "-o", "program", "program.c"));
	ASSERT_EQ(0, RECORD());
	EXPECT_EQ(1, CHECK());
	EXPECT_EQ(2, sites(&self->result));
	EXPECT_TRUE(SAYS("are not used: line:3: 'race:?x' is no suppression")) {
		TH_LOG("%s", self->result.err);
	}
}

/* Each process has those of its own program. */
TEST_F_TIMEOUT(embedded, of_several_processes, 120)
{
	ctl_write_file("program.c", PROGRAM(KNOWN), 0644);
	ctl_write_file("program_none.c", LEAKS, 0644);
	ASSERT_EQ(0, RUN("gcc", "-g", "-o", "program", "program.c"));
	ASSERT_EQ(0, RUN("gcc", "-g", "-o", "program_none", "program_none.c"));
	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.out.%p",
			 "--trace-children=yes", "sh", "-c", "./program; ./program_none; true"));
	ctl_write_file("massif.budget", "program program leak-sites 1\nprogram program_none leak-sites 1\n", 0644);
	EXPECT_EQ(1, RUN("massif-ctl", "check", "--budget=massif.budget", "massif.rec"));
	EXPECT_NE(NULL, strstr(self->result.out, "ok             1          1  program (pid "));
	EXPECT_NE(NULL, strstr(self->result.out, "OVER           2          1  program_none (pid "));
	EXPECT_NE(NULL, strstr(self->result.out, "\n1 kept, 1 over\n")) {
		TH_LOG("%s", self->result.out);
	}
}

TEST_F_TIMEOUT(embedded, while_it_runs, 120)
{
	ctl_write_file("program.c", PROGRAM(KNOWN), 0644);
	ASSERT_EQ(0, RUN("gcc", "-g", "-o", "program", "program.c"));
	EXPECT_EQ(0, RUN("massif-ctl", "run", "--massif-out-file=massif.out", "--max-leak-sites=1", "./program"));
	EXPECT_TRUE(SAYS("): 1 suppression of __lsan_default_suppressions\n"));
	EXPECT_EQ(1, RUN("massif-ctl", "run", "--massif-out-file=massif.out", "--max-leak-sites=1",
			 "--embedded-suppressions=no", "./program"));
	EXPECT_FALSE(SAYS("__lsan_default_suppressions"));
}

TEST_HARNESS_MAIN
