// SPDX-License-Identifier: GPL-2.0
// massif-ctl doctor: checks what works on this machine and suggests fixes for what does not.

#include "doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/own_path.h"
#include "base/standard_output.h"
#include "ctl/cmd/command.h"
#include "ctl/message/message.h"

/* A profiling mode (heap or pages) and the checks that say whether it works. */
struct ward {
	const char *name, *job;
	const struct mf_check *checks;
	const size_t *n_checks;
};

static const struct ward wards[] = {
	{ "heap", "profiles of malloc and related functions", mf_doctor_heap, &mf_doctor_n_heap },
	{ "pages", "profiles of pages, and attaching", mf_doctor_pages, &mf_doctor_n_pages },
};

static const char *const words[] = {
	[MF_HEALTH_OK] = "ok",
	[MF_HEALTH_NOTE] = "note",
	[MF_HEALTH_BAD] = "NO",
	[MF_HEALTH_OPEN] = "-",
};

void mf_finding_set(struct mf_finding *finding, enum mf_health health, const char *text, ...)
{
	va_list args;

	finding->health = health;
	va_start(args, text);
	vsnprintf(finding->text, sizeof(finding->text), text, args);
	va_end(args);
}

void mf_finding_advise(struct mf_finding *finding, const char *advice, ...)
{
	va_list args;

	va_start(args, advice);
	vsnprintf(finding->advice, sizeof(finding->advice), advice, args);
	va_end(args);
}

char *mf_doctor_read_line(const char *path)
{
	mf_auto_fclose FILE *file = fopen(path, "re");
	mf_auto_free char *line = NULL;
	size_t room = 0;

	if (!file || getline(&line, &room, file) < 0)
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	return mf_take(line, NULL);
}

/*
 * Called in a child process. Executes massif-ctl, which writes its output file to the descriptor @out and its messages
 * to @err.
 */
static void run_trial(const char *mode, int out, int err) __attribute__((noreturn));

static void run_trial(const char *mode, int out, int err)
{
	char self[PATH_MAX], file[64];
	int null = open("/dev/null", O_RDWR);

	if (mf_own_path(self) || null < 0)
		_exit(1);
	snprintf(file, sizeof(file), "--massif-out-file=/dev/fd/%d", out);
	fcntl(out, F_SETFD, 0);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	execl(self, "massif-ctl", "--command-line-only=yes", "-q", "--time-unit=B", mode, file,
	      "--", self, "version", NULL);
	_exit(1);
}

/* Returns the text in the file @fd. The caller frees it. */
static char *text_of(int fd)
{
	char *text = calloc(1, 65536);
	ssize_t size = text ? pread(fd, text, 65535, 0) : -1;

	if (size < 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* Returns whether a snapshot of the profile @text contains heap bytes. */
static bool has_bytes(const char *text)
{
	while (text && (text = strstr(text, "\nmem_heap_B="))) {
		text += strlen("\nmem_heap_B=");
		if (*text != '0')
			return true;
	}
	return false;
}

void mf_doctor_try(const char *mode, struct mf_finding *finding)
{
	mf_auto_close int out = memfd_create("massif-trial", MFD_CLOEXEC);
	mf_auto_close int err = memfd_create("massif-trial", MFD_CLOEXEC);
	mf_auto_free char *profile = NULL, *said = NULL;
	int status = -1;
	pid_t pid;

	pid = out < 0 || err < 0 ? -1 : fork();
	if (pid < 0) {
		mf_finding_set(finding, MF_HEALTH_BAD, "cannot run a test program: %s",
			       strerror(errno));
		return;
	}
	if (!pid)
		run_trial(mode, out, err);
	waitpid(pid, &status, 0);
	profile = text_of(out);
	said = text_of(err);
	if (status == 0 && has_bytes(profile) && said && !*said) {
		mf_finding_set(finding, MF_HEALTH_OK, "a program was profiled");
		return;
	}
	mf_finding_set(finding, MF_HEALTH_BAD, "profiling a program failed%s%.*s",
		       said && *said ? ": " : "", said ? (int)strcspn(said, "\n") : 0,
		       said ? said : "");
}

static void print(const char *name, const struct mf_finding *finding)
{
	printf("  %-5s %-14s %s\n", words[finding->health], name, finding->text);
	/* Print the advice line by line below the result of the check. */
	for (const char *rest = finding->advice; *rest;) {
		int length = (int)strcspn(rest, "\n");

		printf("  %-5s %-14s -> %.*s\n", "", "", length, rest);
		rest += length + (rest[length] == '\n');
	}
}

/* Runs the checks of a mode and prints the results. Returns whether the mode works. */
static bool visit(const struct ward *ward)
{
	struct mf_patient patient = { .ring = { .fd = -1 } };
	bool fine = true;

	printf("%s mode: %s\n", ward->name, ward->job);
	for (size_t i = 0; i < *ward->n_checks; i++) {
		struct mf_finding finding = { 0 };

		ward->checks[i].look(&patient, &finding);
		print(ward->checks[i].name, &finding);
		fine &= finding.health != MF_HEALTH_BAD;
	}
	printf("  %s\n", fine ? "This mode works." : "This mode does not work.");
	free(patient.module);
	if (patient.session)
		mf_ring_close(&patient.ring);
	return fine;
}

/* @what says what is wrong with @word. */
static int refuse(const char *what, const char *word)
{
	mf_message_say(MF_MESSAGE_ERROR, "%s: %.400s\ndoctor takes --mode=heap, --mode=pages or --mode=all (the default)", what,
		       word);
	return 2;
}

int mf_command_doctor(int argc, char **argv)
{
	static const char option[] = "--mode=";
	const char *mode = "all";
	struct utsname name;
	struct mf_error err;
	bool fine = true, known;

	for (int i = 0; i < argc; i++) {
		if (strncmp(argv[i], option, strlen(option)) != 0)
			return refuse(argv[i][0] == '-' ? "Unknown option" : "Unexpected argument", argv[i]);
		mode = argv[i] + strlen(option);
		known = strcmp(mode, "all") == 0;
		for (size_t j = 0; j < sizeof(wards) / sizeof(wards[0]); j++)
			known |= strcmp(mode, wards[j].name) == 0;
		if (!known)
			return refuse("Bad option", argv[i]);
	}
	uname(&name);
	printf("massif-ctl %s, Linux %s, %s, user %u\n", MASSIF_VERSION, name.release, name.machine,
	       (unsigned int)geteuid());
	for (size_t i = 0; i < sizeof(wards) / sizeof(wards[0]); i++) {
		if (strcmp(mode, "all") == 0 || strcmp(mode, wards[i].name) == 0)
			fine &= visit(&wards[i]);
		if (mf_standard_output_finish(&err)) {
			mf_message_say(MF_MESSAGE_ERROR, "%s", err.text);
			return 1;
		}
	}
	return fine ? 0 : 1;
}
