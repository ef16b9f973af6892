// SPDX-License-Identifier: GPL-2.0
// massif-ctl accepts and refuses options as Valgrind does. Its messages about them are the same, except for the name of
// the program that prints them, and so is the first line ("desc:") of the massif.out file.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"
#include "selftests/lib/skip.h"

#define VALGRIND "/usr/bin/valgrind"
#define SECONDS	 180
#define OUT	 "reference.out"

static const char *const options[] = {
	/* options with values that Valgrind accepts */
	"--depth= 5",
	"--depth=+5",
	"--depth=\t\v\f\r 200",
	"--depth=000001",
	"--heap-admin=",
	"--heap-admin=-0",
	"--heap-admin=1024",
	"--threshold=",
	"--threshold= ",
	"--threshold=-",
	"--threshold=.5",
	"--threshold=100.",
	"--peak-inaccuracy=-1",
	"--peak-inaccuracy=123456789.125",
	"--detailed-freq=1000000",
	"--max-snapshots=1000",
	"--alignment=4096",
	"--time-unit=ms",
	"--time-unit=B",
	"--alloc-fn=",
	"--demangle=no",
	"--show-below-main=yes",
	"--sym-offsets=yes",
	"--fullpath-after=",
	"--read-inline-info=no",
	"--heap=no",
	"--keep-debuginfo=no",
	"--num-callers=500",
	"--redzone-size=4096",
	"--merge-recursive-frames=500",
	"--massif:depth=5",
	"--memcheck:depth=0",
	"--nothing:at=all",
	"--tool=massif",
	"--command-line-only=yes",
	"--xtree-memory=none",
	"--xtree-memory-file=reference.none",
	"--xtree-compress-strings=no",
	"--trace-malloc=no",
	"--log-fd=2",
	"--trace-children=no",
	"--soname-synonyms=somalloc=NONE",
	"--ignore-fn=operator new(unsigned long)",
	"--massif:alloc-fn=a name # of a kind",
	/* options with values that Valgrind refuses */
	"--xtree-memory=",
	"--xtree-memory=Full",
	"--xtree-memory",
	"--depth=2147483648",
	"--depth=-2147483649",
	"--max-snapshots=4294967306",
	"--detailed-freq=4294967297",
	"--heap-admin=4294967297",
	"--num-callers=4294967297",
	"--redzone-size=4294967297",
	"--merge-recursive-frames=4294967297",
	"--log-fd=4294967297",
	"--heap=",
	"--heap=maybe",
	"--trace-malloc=x",
	"--keep-debuginfo=x",
	"--num-callers=0",
	"--num-callers=x",
	"--redzone-size=-1",
	"--redzone-size=5000",
	"--merge-recursive-frames=-1",
	"--merge-recursive-frames=501",
	"--massif:depth=0",
	"--massif:nothing=0",
	"--depth",
	"--depth=",
	"--depth=0",
	"--depth=201",
	"--depth=-5",
	"--depth=5 ",
	"--depth=5k",
	"--depth=0x10",
	"--depth=5.5",
	"--depth= ",
	"--depth=-",
	"--depth=- 5",
	"--depth=--5",
	"--depth=99999999999999999999",
	"--dep=5",
	"--Depth=5",
	"--depth=5=6",
	"--heap-admin=1025",
	"--heap-admin=-1",
	"--threshold",
	"--threshold=101",
	"--threshold=100.00000000001",
	"--threshold=-0.1",
	"--threshold=1e1",
	"--threshold=nan",
	"--threshold=1 ",
	"--threshold=1,5",
	"--threshold=1.5.5",
	"--threshold=0x5",
	"--peak-inaccuracy=inf",
	"--peak-inaccuracy=1%",
	"--detailed-freq=0",
	"--detailed-freq=1000001",
	"--max-snapshots=",
	"--max-snapshots=9",
	"--max-snapshots=1001",
	"--alignment=",
	"--alignment=8",
	"--alignment=15",
	"--alignment=48",
	"--alignment=8192",
	"--alignment=-16",
	"--alignment=4294967312",
	"--alignment=x",
	"--pages-as-heap=",
	"--pages-as-heap=Yes",
	"--pages-as-heap=yess",
	"--pages-as-heap=1",
	"--demangle=maybe",
	"--time-unit",
	"--time-unit=",
	"--time-unit=s",
	"--time-unit=b",
	"--time-unit=ms ",
	"--alloc-fn",
	"--massif-out-file",
	"-q=1",
	"-qq",
	"-x",
	"-",
};

/* Copies @text, replacing each `valgrind: ` at the start of a line with `massif-ctl: `. */
static void put_name(const char *text, char *out, size_t size)
{
	static const char theirs[] = "valgrind: ", ours[] = "massif-ctl: ";
	size_t n = 0;

	while (*text && n + sizeof(ours) < size) {
		size_t length = strcspn(text, "\n");

		if (strncmp(text, theirs, strlen(theirs)) == 0) {
			text += strlen(theirs);
			length -= strlen(theirs);
			n += (size_t)snprintf(out + n, size - n, "%s", ours);
		}
		if (length >= size - n - 1)
			break;
		memcpy(out + n, text, length);
		n += length;
		text += length;
		if (*text == '\n')
			out[n++] = *text++;
	}
	out[n] = '\0';
}

FIXTURE(reference) {
	struct ctl_result theirs, ours;
};

FIXTURE_SETUP(reference)
{
	if (access(VALGRIND, X_OK))
		SKIP_SETUP("valgrind is not installed");
}

FIXTURE_TEARDOWN(reference)
{
}

/*
 * Stores in @desc the first line of the file OUT, which the profiler has just written, or "no file" if it has written
 * none. Removes the file.
 */
static void take_desc(char *desc, size_t size)
{
	char *text = ctl_read_file(OUT);

	snprintf(desc, size, "%.*s", text ? (int)strcspn(text, "\n") : 7, text ? text : "no file");
	free(text);
	unlink(OUT);
}

TEST_F_TIMEOUT(reference, options, SECONDS)
{
	unlink(OUT);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		char expected[4096], their_desc[256], our_desc[256];

		CTL_RUN(&self->theirs, VALGRIND, "-q", "--tool=massif", "--massif-out-file=" OUT,
			options[i], "true");
		take_desc(their_desc, sizeof(their_desc));
		CTL_RUN(&self->ours, "massif-ctl", "-q", "--massif-out-file=" OUT, options[i],
			"true");
		take_desc(our_desc, sizeof(our_desc));
		EXPECT_STREQ(their_desc, our_desc);
		put_name(self->theirs.err, expected, sizeof(expected));
		EXPECT_EQ(ctl_exit_code(&self->theirs), ctl_exit_code(&self->ours)) {
			TH_LOG("%s", options[i]);
		}
		/*
		 * Massif may reject an option as unknown because of its value. In this case, our message also lists the
		 * possible values.
		 */
		if (strstr(expected, "Unknown option: ")) {
			char *name = strstr(expected, "option: ");

			name[strcspn(name, "\n")] = '\0';
			EXPECT_NE(NULL, strstr(self->ours.err, name));
		} else {
			EXPECT_STREQ(expected, self->ours.err);
		}
		ctl_result_free(&self->theirs);
		ctl_result_free(&self->ours);
	}
}

/*
 * Finds the next option that starts a line of --help, and stores its name in @name. Returns NULL if there are no
 * more.
 */
static const char *next_option(const char *help, char *name, size_t size)
{
	size_t length;

	for (; help; help = strchr(help, '\n')) {
		help += strspn(help, "\n ");
		if (*help != '-')
			continue;
		length = strcspn(help, "=, \n[");
		if (length < 2 || length >= size)
			continue;
		memcpy(name, help, length);
		name[length] = '\0';
		return help + length;
	}
	return NULL;
}

/* Each option of Valgrind is either supported or refused with a reason. */
TEST_F_TIMEOUT(reference, every_option_is_known, SECONDS)
{
	char name[64];
	unsigned int n = 0;

	CTL_RUN(&self->theirs, VALGRIND, "--tool=massif", "--help-debug");
	for (const char *at = self->theirs.out; (at = next_option(at, name, sizeof(name))); n++) {
		/*
		 * Append an invalid value if the option takes a value. Do not append one to an option that takes none:
		 * Massif itself does not recognise an option such as -h=x.
		 */
		char with_value[80], unknown[128];

		snprintf(with_value, sizeof(with_value), "%s%s", name, *at == '=' ? "=?" : "");
		CTL_RUN(&self->ours, "massif-ctl", with_value);
		snprintf(unknown, sizeof(unknown), "Unknown option: %s", with_value);
		EXPECT_EQ(NULL, strstr(self->ours.err, unknown)) {
			TH_LOG("%s", with_value);
		}
		ctl_result_free(&self->ours);
	}
	EXPECT_LT(100, n);
	ctl_result_free(&self->theirs);
}

TEST_HARNESS_MAIN
