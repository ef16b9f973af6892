// SPDX-License-Identifier: GPL-2.0
// massif-ctl report: the data in the page equal those of massif-ctl export --to=json to the byte; nothing in them can
// leave its element; of very many stacks, names and processes, what does not fit is added up and counted.

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "html/calls.h"
#include "html/data.h"
#include "html/page.h"
#include "html/process.h"
#include "recording/section.h"
#include "selftests/lib/ctl_run.h"
#include "selftests/lib/page_data.h"

#define PERL   "/usr/bin/perl"
#define SCRIPT "my %h; $h{$_} = $_ . ('x' x ($_ % 100)) for 1 .. 3000; delete $h{$_} for 1 .. 1000;"

FIXTURE(html)
{
	struct ctl_result result;
};

FIXTURE_SETUP(html)
{
	ctl_remove_files("massif.");
	ctl_remove_files("out.");
}

FIXTURE_TEARDOWN(html)
{
	ctl_result_free(&self->result);
	ctl_remove_files("massif.");
	ctl_remove_files("out.");
}

/* Runs @argv; returns its exit status, and keeps its output until the next run. */
#define RUN(...) (ctl_result_free(&self->result), CTL_RUN(&self->result, __VA_ARGS__), ctl_exit_code(&self->result))

static const struct {
	const char *name, *words[8];
} runs[] = {
	{ "perl", { "--time-unit=B", PERL, "-e", SCRIPT } },
	{ "all stacks", { "--time-unit=B", "--detailed-freq=1", "--max-snapshots=20", PERL, "-e", SCRIPT } },
	{ "threads", { "--separate-threads=yes", "--time-unit=B", "python3", "-c",
		       "import threading\n"
		       "[threading.Thread(target=lambda: [str(i) * 99 for i in range(999)]).start() for k in range(3)]" } },
	{ "git", { "--stacks=yes", "/usr/bin/git", "--version" } },
};

TEST_F_TIMEOUT(html, data_are_those_of_the_export, 180)
{
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		const char *argv[16] = { "massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.out" };
		char difference[2048];

		for (size_t k = 0; runs[i].words[k]; k++)
			argv[5 + k] = runs[i].words[k];
		ctl_result_free(&self->result);
		ctl_run(&self->result, NULL, NULL, argv);
		ASSERT_EQ(0, ctl_exit_code(&self->result));
		for (int is_text = 0; is_text < 2; is_text++) {
			const char *file = is_text ? "massif.out" : "massif.rec";

			ASSERT_EQ(0, RUN("massif-ctl", "export", "--to=json", "-o", "out.json", file));
			ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", file));
			ASSERT_TRUE(page_data_extract("out.html", "out.data"));
			EXPECT_TRUE(page_data_equal_export("out.data", "out.json", is_text, difference)) {
				TH_LOG("%s, %s: %s", runs[i].name, file, difference);
			}
		}
	}
}

/* Stacks whose bytes add up to more than 2^64: main() calls two functions, each of which has half of that. */
static void write_overflow(const char *path)
{
	FILE *out = fopen(path, "we");

	fputs("desc: (none)\ncmd: ./text\ntime_unit: B\n#-----------\nsnapshot=0\n#-----------\n"
	      "time=0\nmem_heap_B=1000\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=peak\n"
	      "n3: 1000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n", out);
	for (int i = 0; i < 2; i++)
		fprintf(out, " n1: 9223372036854775808 0x10%d: inner%d (text.c:7)\n"
			     "  n1: 9223372036854775808 0x20%d: outer%d (text.c:8)\n"
			     "   n0: 9223372036854775808 0x300: main (text.c:9)\n", i, i, i, i);
	fputs(" n0: 1000 0x400: other (text.c:10)\n", out);
	fclose(out);
}

/* However little room there is, the entries that are left out are added up in one that is there. */
TEST_F(html, sums_that_overflow_have_their_entries)
{
	struct mf_recording recording;
	struct mf_report_options options;
	struct mf_error err = { 0 };

	write_overflow("massif.out");
	mf_report_options_init(&options);
	ASSERT_EQ(0, mf_recording_read("massif.out", &recording, &err)) TH_LOG("%s", err.text);
	for (size_t room = 0; room < 2000; room += 20) {
		const struct mf_html_source source = {
			.sides[MF_HTML_NEW] = { "file", recording.processes, recording.n_processes, NULL }, .options = &options,
		};
		size_t size;
		char *text;

		ASSERT_EQ(0, mf_html_data_make(&source, room, &text, &size, &err)) TH_LOG("%s", err.text);
		free(text);
	}
	mf_recording_release(&recording);
}

/* A massif.out file with one snapshot, whose tree has @n entries that differ by @name, which has a %zu for the number. */
static void write_text(const char *path, size_t n, const char *name)
{
	FILE *out = fopen(path, "we");
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += 16 + i % 9;
	fprintf(out, "desc: (none)\ncmd: ./text\ntime_unit: B\n#-----------\nsnapshot=0\n#-----------\n"
		     "time=%zu\nmem_heap_B=%zu\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=peak\n"
		     "n%zu: %zu (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n", sum, sum, n, sum);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, " n0: %zu 0x%zX: ", 16 + i % 9, i + 4096);
		fprintf(out, name, i);
		fputs(" (text.c:7)\n", out);
	}
	fclose(out);
}

TEST_F(html, names_cannot_leave_their_element)
{
	char *data;

	write_text("massif.out", 1, "</script><script>alert(%zu)</script><!--&amp;\xe2\x80\xa8\xe2\x80\xae\"'\\");
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.out"));
	data = page_data_of("out.html");
	ASSERT_NE(NULL, data);
	EXPECT_NE(NULL, strstr(data, "\\u003c/script\\u003e\\u003cscript\\u003ealert(0)\\u003c/script\\u003e\\u003c!--"
				     "\\u0026amp;\\u2028"));
	EXPECT_EQ(NULL, strpbrk(data, "<>&"));
	EXPECT_EQ(NULL, strstr(data, "\xe2\x80\xa8"));
	free(data);
	ASSERT_TRUE(page_data_extract("out.html", "out.data"));
	EXPECT_EQ(0, RUN("jq", "-e", ".strings | index(\"</script><script>alert(0)</script><!--&amp;\\u2028\\u202e\\\"'\\\\\") "
				     "!= null", "out.data"));
}

/* JavaScript's numbers have 53 bits. */
TEST_F(html, large_numbers_are_strings)
{
	FILE *out = fopen("massif.out", "we");

	fputs("desc: (none)\ncmd: ./text\ntime_unit: B\n", out);
	for (int i = 0; i < 3; i++) {
		const uint64_t heap = i < 2 ? (1ull << 53) + (uint64_t)i : UINT64_MAX;

		fprintf(out, "#-----------\nsnapshot=%d\n#-----------\ntime=%d\nmem_heap_B=%" PRIu64 "\nmem_heap_extra_B=0\n"
			     "mem_stacks_B=0\nheap_tree=detailed\n"
			     "n1: %" PRIu64 " (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"
			     " n0: %" PRIu64 " 0x1000: large (text.c:7)\n", i, i, heap, heap, heap);
	}
	fclose(out);
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.out"));
	ASSERT_TRUE(page_data_extract("out.html", "out.data"));
	EXPECT_EQ(0, RUN("jq", "-e", ".sides[0].processes[0] | .heap[1:] == "
				     "[\"9007199254740993\", \"18446744073709551615\"] and (.heap[0] | type) == \"number\" "
				     "and [.moments[1:][].changes[1]] == .heap[1:]", "out.data"));
}

static off_t size_of(const char *path)
{
	struct stat status;

	return stat(path, &status) ? -1 : status.st_size;
}

/* The sums of the values in the tree of the only snapshot: of all nodes, of the nodes of others, and of the sites of these. */
#define SUMS											\
	"def sums: . as $p | ($p.depth | length) as $n | reduce range(0; $p.moments[0].changes | length; 2) as $i"	\
	"	([-1, 0, 0, 0]; .[0] += $p.moments[0].changes[$i] | $p.moments[0].changes[$i + 1] as $value |"	\
	"	if .[0] >= $n then .[3] += $value else .[1] += $value |"				\
	"	if $p.call[.[0]] == -1 then .[2] += $value else . end end) | .[1:];"

TEST_F_TIMEOUT(html, many_stacks_are_added_up_and_counted, 120)
{
	write_text("massif.out", 300000, "function_with_a_number_%zu");
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.out"));
	EXPECT_GE(MF_HTML_PAGE_MAX, size_of("out.html"));
	EXPECT_LT(MF_HTML_PAGE_MAX / 2, size_of("out.html"));
	ASSERT_TRUE(page_data_extract("out.html", "out.data"));
	EXPECT_EQ(0, RUN("jq", "-e", ".sides[0].processes[0] | .hidden > 100000 and .hidden == (.others | add) and "
				     ".below > 0 and .below < 0.0001", "out.data"));
	EXPECT_EQ(0, RUN("jq", "-e", SUMS ".sides[0].processes[0] | .heap[0] as $heap | sums | .[0] == $heap and .[1] > 0 and "
				     ".[1] == .[2]", "out.data"));
	/* Here each stack has a site of its own: of those of others, as many are in the page as there are nodes. */
	EXPECT_EQ(0, RUN("jq", "-e", ".sides[0].processes[0] | (.depth | length) == (.sites | length) - 1 and "
				     ".sites[-1] == -1 and .rest + (.sites | length) - 1 == .hidden", "out.data"));
	/* And the places that are shown, and those that are not, are all. */
	EXPECT_EQ(0, RUN("jq", "-e", ".sides[0].processes[0] | ([.call[] | select(. >= 0)] | length) + .hidden == 300000",
			 "out.data"));
	write_text("massif.out", 1000, "function_with_a_number_%zu");
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.out"));
	ASSERT_TRUE(page_data_extract("out.html", "out.data"));
	EXPECT_EQ(0, RUN("jq", "-e", ".sides[0].processes[0] | .hidden == 0 and .others == []", "out.data"));
}

TEST_F(html, long_names_are_cut)
{
	static const size_t lengths[] = { MF_HTML_NAME_MAX, MF_HTML_NAME_MAX + 1, 10 * MF_HTML_NAME_MAX };

	for (size_t i = 0; i < 3; i++) {
		char *name = malloc(lengths[i] + 1), query[256];

		memset(name, 'n', lengths[i]);
		name[lengths[i]] = '\0';
		write_text("massif.out", 1, name);
		free(name);
		ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.out"));
		ASSERT_TRUE(page_data_extract("out.html", "out.data"));
		snprintf(query, sizeof(query), ".strings | map(select(startswith(\"nnn\")))[0] | . == (\"n\" * %u) + \"%s\"",
			 MF_HTML_NAME_MAX, i == 0 ? "" : i == 1 ? "... (1 more bytes)" : "... (147456 more bytes)");
		EXPECT_EQ(0, RUN("jq", "-e", query, "out.data")) {
			TH_LOG("%zu bytes", lengths[i]);
		}
	}
}

/* Writes a recording of @n processes: that of a recording of one, after the file's magic, again and again. */
static bool repeat(const char *from, const char *to, size_t n)
{
	FILE *in = fopen(from, "re"), *out = fopen(to, "we");
	static char bytes[1 << 20];
	size_t size = in ? fread(bytes, 1, sizeof(bytes), in) : 0;
	const size_t head = sizeof(MF_SECTION_MAGIC) - 1 + sizeof(uint32_t); /* and a version */

	for (size_t i = 0; i < n && out; i++)
		fwrite(bytes + (i ? head : 0), 1, size - (i ? head : 0), out);
	return in && !fclose(in) && out && !fclose(out) && size < sizeof(bytes);
}

TEST_F_TIMEOUT(html, processes_beyond_the_limit_are_counted, 300)
{
	static const size_t numbers[] = { MF_HTML_PROCESSES_MAX, MF_HTML_PROCESSES_MAX + 1, 10 * MF_HTML_PROCESSES_MAX };

	ASSERT_EQ(0, RUN("massif-ctl", "record", "-q", "--record=massif.rec", "--massif-out-file=massif.out",
			 "--max-snapshots=10", "/bin/true"));
	for (size_t i = 0; i < 3; i++) {
		char query[256];

		ASSERT_TRUE(repeat("massif.rec", "massif.many", numbers[i]));
		ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.many"));
		EXPECT_GE(MF_HTML_PAGE_MAX, size_of("out.html"));
		ASSERT_TRUE(page_data_extract("out.html", "out.data"));
		snprintf(query, sizeof(query), ".sides[0] | (.processes | length) == %u and .hidden == %zu and .damage == null",
			 MF_HTML_PROCESSES_MAX, numbers[i] - MF_HTML_PROCESSES_MAX);
		EXPECT_EQ(0, RUN("jq", "-e", query, "out.data")) {
			TH_LOG("%zu processes", numbers[i]);
		}
	}
}

/* The peak and the end are always there: the second snapshot, and the last. */
TEST_F_TIMEOUT(html, snapshots_beyond_the_limit_are_left_out, 120)
{
	static const unsigned int numbers[] = { MF_HTML_SNAPSHOTS_MAX, MF_HTML_SNAPSHOTS_MAX + 1, 10 * MF_HTML_SNAPSHOTS_MAX };

	for (size_t i = 0; i < 3; i++) {
		FILE *out = fopen("massif.out", "we");
		char query[512];

		fputs("desc: (none)\ncmd: ./text\ntime_unit: B\n", out);
		for (unsigned int k = 0; k < numbers[i]; k++)
			fprintf(out, "#-----------\nsnapshot=%u\n#-----------\ntime=%u\nmem_heap_B=%u\nmem_heap_extra_B=0\n"
				     "mem_stacks_B=0\nheap_tree=%s\n%s", k, 10 * k, k == 1 ? 10 : 5,
				k == 1 ? "peak" : k == numbers[i] - 1 ? "detailed" : "empty",
				k == 1 ? "n0: 10 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n" :
				k == numbers[i] - 1 ? "n0: 5 (heap allocation functions) malloc/new/new[], --alloc-fns, "
						      "etc.\n" : "");
		fclose(out);
		ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.out"));
		ASSERT_TRUE(page_data_extract("out.html", "out.data"));
		snprintf(query, sizeof(query), ".sides[0].processes[0] | (.time | length) as $n | $n <= %u and $n >= %u - 5 "
					       "and "
					       "(.numbers == null) == %s and .heap[.peak] == 10 and .time[.end] == %u and "
					       "(.numbers // [range($n)] | .[-1]) == %u",
			 MF_HTML_SNAPSHOTS_MAX, MF_HTML_SNAPSHOTS_MAX, i == 0 ? "true" : "false", 10 * (numbers[i] - 1),
			 numbers[i] - 1);
		EXPECT_EQ(0, RUN("jq", "-e", query, "out.data")) {
			TH_LOG("%u snapshots", numbers[i]);
		}
	}
}

TEST_F(html, an_older_file_is_the_second_side)
{
	write_text("massif.new", 3, "name_%zu");
	write_text("massif.old", 2, "name_%zu");
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "out.html", "massif.new", "massif.old"));
	ASSERT_TRUE(page_data_extract("out.html", "out.data"));
	EXPECT_EQ(0, RUN("jq", "-e", "[.sides[] | [.file, .processes[0].heap[0]]] == "
				     "[[\"massif.new\", 51], [\"massif.old\", 33]]", "out.data"));
}

TEST_F(html, is_named_after_the_recording)
{
	write_text("massif.new", 3, "name_%zu");
	ASSERT_EQ(0, RUN("massif-ctl", "report", "massif.new"));
	EXPECT_STREQ("massif.new.html\n", self->result.out);
	EXPECT_TRUE(page_data_extract("massif.new.html", "out.data"));
	ASSERT_EQ(0, RUN("massif-ctl", "report", "-o", "-", "massif.new"));
	EXPECT_EQ(0, strncmp(self->result.out, "<!DOCTYPE html>\n", 16));
}

static const struct {
	const char *words[4], *says;
} mistakes[] = {
	{ { NULL }, "no recording specified" },
	{ { "massif.missing" }, "massif.missing': No such file or directory" },
	{ { "massif.new", "massif.missing" }, "massif.missing': No such file or directory" },
	{ { "massif.new", "massif.new", "massif.new" }, "one file too many" },
	{ { "--pid=7", "massif.new" }, "has no process 7" },
	{ { "--at=end", "massif.new" }, "Bad option: --at=end" },
	{ { "-o", "/nowhere/out.html", "massif.new" }, "cannot write '/nowhere/out.html': No such file or directory" },
	{ { "-o", "/dev/full", "massif.new" }, "No space left on device" },
	{ { "--through=nothing", "massif.new" }, "no such stack has a function of this name" },
};

TEST_F(html, mistakes_have_messages)
{
	write_text("massif.new", 3, "name_%zu");
	setenv("TMPDIR", "/proc", 1);
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		const char *const *words = mistakes[i].words;

		EXPECT_EQ(1, RUN("massif-ctl", "report", words[0], words[1], words[2], words[3]));
		EXPECT_NE(NULL, strstr(self->result.err, mistakes[i].says)) {
			TH_LOG("it says %s", self->result.err);
		}
		EXPECT_EQ(NULL, strstr(self->result.out, "<html"));
	}
}

TEST_HARNESS_MAIN
