// SPDX-License-Identifier: GPL-2.0
// Output files that cannot be written when the program ends are saved elsewhere, with a message. If that fails, too,
// the exit status shows it.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "selftests/lib/ctl_run.h"

static char refuge[PATH_MAX];

static void give_up(void)
{
	perror("the test cannot set up its file systems");
	_exit(98);
}

static void write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		give_up();
	close(fd);
}

/* Enters a mount namespace, so that newly mounted file systems are private. */
static void isolate(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];

	if (unshare(uid ? CLONE_NEWNS | CLONE_NEWUSER : CLONE_NEWNS))
		give_up();
	if (uid) {
		write_to("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "0 %d 1", (int)uid);
		write_to("/proc/self/uid_map", map);
		snprintf(map, sizeof(map), "0 %d 1", (int)gid);
		write_to("/proc/self/gid_map", map);
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		give_up();
}

/* Mounts a full file system at @path. */
static void mount_full(const char *path)
{
	char file[PATH_MAX], block[4096] = { 0 };
	int fd;

	if (mount("none", path, "tmpfs", 0, "size=64k"))
		give_up();
	snprintf(file, sizeof(file), "%s/filler", path);
	fd = open(file, O_WRONLY | O_CREAT, 0600);
	if (fd < 0)
		give_up();
	while (write(fd, block, sizeof(block)) > 0)
		;
	if (errno != ENOSPC)
		give_up();
	close(fd);
}

static void fill_disk(void)
{
	isolate();
	mount_full("u.disk");
}

static void fill_disk_and_refuge(void)
{
	isolate();
	mount_full("u.disk");
	mount_full("u.refuge");
}

/* Makes /tmp read-only without hiding its contents, which include this test. */
static void lock_tmp(void)
{
	isolate();
	if (mount("/tmp", "/tmp", NULL, MS_BIND | MS_REC, NULL) ||
	    mount(NULL, "/tmp", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL))
		give_up();
}

static void lock_tmp_and_refuge(void)
{
	lock_tmp();
	setenv("TMPDIR", "/nonexistent", 1);
}

static void lose_refuge(void)
{
	setenv("TMPDIR", "/nonexistent", 1);
}

static void relative_refuge(void)
{
	setenv("TMPDIR", "u.refuge", 1);
}

/* Lengthens the path of a directory to @length bytes with additional slashes. */
static void lengthen_refuge(size_t length)
{
	char path[4000];
	size_t own = strlen(refuge);

	if (own > length || length >= sizeof(path))
		give_up();
	memset(path, '/', length);
	memcpy(path + length - own, refuge, own + 1);
	setenv("TMPDIR", path, 1);
}

static void longest_refuge(void)
{
	lengthen_refuge(300);
}

static void longer_refuge(void)
{
	lengthen_refuge(301);
}

static void much_longer_refuge(void)
{
	lengthen_refuge(3000);
}

static void go_into(void)
{
	if (chdir("u.directory"))
		give_up();
}

enum place {
	NOWHERE,
	REFUGE,
	TMP,
};

FIXTURE(unwritable) {
	struct ctl_result result;
};

FIXTURE_VARIANT(unwritable) {
	void (*before)(void);
	const char *options[4];
	const char *deed; /* command that the program runs before it exits with 3 */
	const char *name, *why; /* file name and reason in the message saying that a file cannot be written */
	enum place place;
	int status; /* exit status as a shell reports it; 0 means the usual status, 3 */
	bool isolated;
};

FIXTURE_VARIANT_ADD(unwritable, full_device) {
	.options = { "--massif-out-file=/dev/full" },
	.name = "/dev/full", .why = "No space left on device", .place = REFUGE,
};
FIXTURE_VARIANT_ADD(unwritable, full_disk) {
	.before = fill_disk, .isolated = true, .options = { "--massif-out-file=u.disk/out" },
	.name = "u.disk/out", .why = "No space left on device", .place = REFUGE,
};
FIXTURE_VARIANT_ADD(unwritable, full_disk_and_refuge) {
	.before = fill_disk_and_refuge, .isolated = true, .options = { "--massif-out-file=u.disk/out" },
	.name = "u.disk/out", .why = "No space left on device", .place = TMP,
};
FIXTURE_VARIANT_ADD(unwritable, directory_goes) {
	.options = { "--massif-out-file=u.directory/out" }, .deed = "rmdir u.directory",
	.name = "u.directory/out", .why = "No such file or directory", .place = REFUGE,
};
FIXTURE_VARIANT_ADD(unwritable, working_directory_goes) {
	.before = go_into, .options = { "--massif-out-file=out" }, .deed = "rmdir ../u.directory",
	.name = "out", .why = "No such file or directory", .place = REFUGE,
};
FIXTURE_VARIANT_ADD(unwritable, becomes_a_file) {
	.options = { "--massif-out-file=u.directory/out" },
	.deed = "rmdir u.directory; echo >u.directory",
	.name = "u.directory/out", .why = "Not a directory", .place = REFUGE,
};
FIXTURE_VARIANT_ADD(unwritable, becomes_a_directory) {
	.options = { "--massif-out-file=u.out" }, .deed = "mkdir u.out",
	.name = "u.out", .why = "Is a directory", .place = REFUGE,
};
FIXTURE_VARIANT_ADD(unwritable, reader_is_gone) {
	.options = { "--massif-out-file=/dev/fd/90" },
	.name = "/dev/fd/90", .why = "Broken pipe", .place = REFUGE,
};
FIXTURE_VARIANT_ADD(unwritable, no_refuge) {
	.before = lose_refuge, .options = { "--massif-out-file=/dev/full" },
	.name = "/dev/full", .why = "No space left on device", .place = TMP,
};
FIXTURE_VARIANT_ADD(unwritable, relative_refuge) {
	.before = relative_refuge, .options = { "--massif-out-file=/dev/full" },
	.name = "/dev/full", .why = "No space left on device", .place = TMP,
};
/* The name of the file in TMPDIR must fit into massif-ctl's message; if it is too long, the file is saved in /tmp. */
FIXTURE_VARIANT_ADD(unwritable, longest_refuge) {
	.before = longest_refuge, .options = { "--massif-out-file=/dev/full" },
	.name = "/dev/full", .why = "No space left on device", .place = REFUGE,
};
FIXTURE_VARIANT_ADD(unwritable, longer_refuge) {
	.before = longer_refuge, .options = { "--massif-out-file=/dev/full" },
	.name = "/dev/full", .why = "No space left on device", .place = TMP,
};
FIXTURE_VARIANT_ADD(unwritable, much_longer_refuge) {
	.before = much_longer_refuge, .options = { "--massif-out-file=/dev/full" },
	.name = "/dev/full", .why = "No space left on device", .place = TMP,
};
FIXTURE_VARIANT_ADD(unwritable, nowhere) {
	.before = lock_tmp_and_refuge, .isolated = true,
	.options = { "--massif-out-file=/dev/full" },
	.name = "/dev/full", .why = "No space left on device; cannot write '/tmp': Read-only file system; "
				    "it is lost\n",
	.status = 125,
};
FIXTURE_VARIANT_ADD(unwritable, nowhere_and_killed) {
	.before = lock_tmp_and_refuge, .isolated = true,
	.options = { "--massif-out-file=/dev/full" }, .deed = "kill -9 $$",
	.name = "/dev/full", .why = "No space left on device; cannot write '/tmp'", .status = 125,
};
FIXTURE_VARIANT_ADD(unwritable, saved_and_killed) {
	.options = { "--massif-out-file=/dev/full" }, .deed = "kill -9 $$",
	.name = "/dev/full", .why = "No space left on device", .place = REFUGE, .status = 128 + SIGKILL,
};
/* The exit status is 125 even if the file of only one process is lost. */
FIXTURE_VARIANT_ADD(unwritable, nowhere_of_a_child) {
	.before = lock_tmp_and_refuge, .isolated = true,
	.options = { "--massif-out-file=/dev/shm/u.out.%p/out" },
	.deed = "mkdir /dev/shm/u.out.$$; (:)", .name = "/dev/shm/u.out.", .why = NULL, .status = 125,
};
FIXTURE_VARIANT_ADD(unwritable, tree) {
	.options = { "--xtree-memory=allocs", "--xtree-memory-file=/dev/full",
		     "--massif-out-file=/dev/null" },
	.name = "/dev/full", .why = "No space left on device", .place = REFUGE,
};
FIXTURE_VARIANT_ADD(unwritable, tree_nowhere) {
	.before = lock_tmp_and_refuge, .isolated = true,
	.options = { "--xtree-memory=allocs", "--xtree-memory-file=/dev/full",
		     "--massif-out-file=/dev/null" },
	.name = "/dev/full", .why = "No space left on device", .status = 125,
};

static void remove_all(void)
{
	if (system("rm -rf u.disk u.refuge u.directory u.out* /dev/shm/u.out*"))
		exit(98);
}

FIXTURE_SETUP(unwritable)
{
	remove_all();
	setenv("HOME", "/nonexistent", 1);
	unsetenv("MASSIF_OPTS");
	ASSERT_EQ(0, mkdir("u.disk", 0755));
	ASSERT_EQ(0, mkdir("u.refuge", 0755));
	ASSERT_EQ(0, mkdir("u.directory", 0755));
	ASSERT_NE(NULL, getcwd(refuge, sizeof(refuge) - sizeof("/u.refuge")));
	strcat(refuge, "/u.refuge");
	setenv("TMPDIR", refuge, 1);
}

FIXTURE_TEARDOWN(unwritable)
{
	EXPECT_EQ(0, ctl_find_files(".massif-", NULL));
	ctl_result_free(&self->result);
	remove_all();
}

static bool can_isolate(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		isolate();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status == 0;
}

/* Makes descriptor 90 the write end of a pipe without a reader. */
static void break_pipe(void)
{
	int ends[2];

	if (pipe(ends) || dup2(ends[1], 90) < 0)
		give_up();
	close(ends[0]);
	close(ends[1]);
}

static void (*before_run)(void);

static void prepare(void)
{
	break_pipe();
	if (before_run)
		before_run();
}

static void expect_place(struct __test_metadata *_metadata, enum place place, const char *saved)
{
	const char *directory = place == TMP ? "/tmp" : refuge, *rest = saved;
	struct stat status;
	char *text;

	/* Skip additional slashes at the beginning of the path. */
	while (!strncmp(rest, "//", 2))
		rest++;
	EXPECT_EQ(0, strncmp(directory, rest, strlen(directory))) {
		TH_LOG("%s", saved);
	}
	ASSERT_EQ(0, lstat(saved, &status));
	EXPECT_EQ(S_IFREG | 0600, status.st_mode);
	text = ctl_read_file(saved);
	EXPECT_TRUE(ctl_is_massif_file(text) || strstr(text, "\nevents: "));
	free(text);
	unlink(saved);
}

/* Returns the reason why /tmp cannot be made unusable here, or NULL. */
static const char *no_tmp(void)
{
	return access("/tmp", W_OK | X_OK) ? "/tmp is not writable here" : NULL;
}

TEST_F(unwritable, is_saved)
{
	const char *argv[16] = { "massif-ctl", "-q", "--time-unit=B" };
	size_t n = 3;
	char script[128], said[512], *saved;

	if (variant->isolated && !can_isolate())
		SKIP(return, "needs root, or user namespaces, to mount file systems");
	if (variant->place == TMP && no_tmp())
		SKIP(return, "%s", no_tmp());
	for (size_t i = 0; i < 4 && variant->options[i]; i++)
		argv[n++] = variant->options[i];
	snprintf(script, sizeof(script), "%s; exit 3", variant->deed ? variant->deed : ":");
	argv[n++] = "sh";
	argv[n++] = "-c";
	argv[n++] = script;
	before_run = variant->before;
	ctl_run(&self->result, NULL, prepare, argv);
	EXPECT_EQ(variant->status ? variant->status : 3, ctl_exit_code(&self->result));
	snprintf(said, sizeof(said), "massif-ctl: cannot write '%s%s%s", variant->name,
		 variant->why ? "': " : "", variant->why ? variant->why : "");
	EXPECT_EQ(self->result.err, strstr(self->result.err, said)) {
		TH_LOG("%s", self->result.err);
	}
	saved = ctl_saved_file(self->result.err);
	EXPECT_EQ(variant->place != NOWHERE, saved != NULL);
	if (saved)
		expect_place(_metadata, variant->place, saved);
	free(saved);
}

FIXTURE(others) {
	struct ctl_result result;
};

FIXTURE_SETUP(others)
{
	remove_all();
	setenv("HOME", "/nonexistent", 1);
	unsetenv("MASSIF_OPTS");
	ASSERT_EQ(0, mkdir("u.disk", 0755));
	ASSERT_EQ(0, mkdir("u.refuge", 0755));
	ASSERT_NE(NULL, getcwd(refuge, sizeof(refuge) - sizeof("/u.refuge")));
	strcat(refuge, "/u.refuge");
	setenv("TMPDIR", refuge, 1);
}

FIXTURE_TEARDOWN(others)
{
	ctl_result_free(&self->result);
	remove_all();
}

/* No partial file is left behind on the full file system. */
TEST_F(others, nothing_half_is_left)
{
	char script[512];

	if (!can_isolate())
		SKIP(return, "needs root, or user namespaces, to mount file systems");
	if (no_tmp())
		SKIP(return, "%s", no_tmp());
	snprintf(script, sizeof(script),
		 "%s -q --massif-out-file=u.disk/out true 2>u.out; ls -A u.disk u.refuge", ctl_path());
	ctl_run(&self->result, NULL, fill_disk_and_refuge, (const char *const[]){ "sh", "-c", script, NULL });
	EXPECT_STREQ("u.disk:\nfiller\n\nu.refuge:\nfiller\n", self->result.out);
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "sh", "-c", "rm $(sed 's/.*saved as \\(.*\\) instead/\\1/' u.out)");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
}

/* If the log cannot be written, the messages go to standard error. */
TEST_F(others, log)
{
	CTL_RUN(&self->result, "massif-ctl", "--time-unit=B", "--log-file=/dev/full",
		"--massif-out-file=u.out", "sh", "-c", "exit 3");
	EXPECT_EQ(3, ctl_exit_code(&self->result));
	EXPECT_EQ(self->result.err,
		  strstr(self->result.err, "massif-ctl: cannot write to the log: No space left on device; "
					   "further messages appear here\nmassif-ctl: Parent PID: "));
	EXPECT_NE(NULL, strstr(self->result.err, "; wrote u.out\n"));
}

/*
 * The file that a monitor command requests is written by the program itself. If that fails, massif-ctl saves the file
 * elsewhere.
 */
TEST_F(others, monitor_command)
{
	char *saved, *text;

	CTL_RUN(&self->result, "massif-ctl", "-q", "--time-unit=B", "--massif-out-file=u.out",
		ctl_target("ctl_monitor"), "detailed_snapshot /dev/full");
	saved = ctl_saved_file(self->result.err);
	ASSERT_NE(NULL, saved) {
		TH_LOG("%s", self->result.err);
	}
	EXPECT_NE(NULL, strstr(self->result.err, "cannot write '/dev/full': No space left on device"));
	text = ctl_read_file(saved);
	EXPECT_TRUE(ctl_is_massif_file(text));
	free(text);
	free(saved);
}

/* The program does not learn massif-ctl's environment from the names of the files that its monitor commands write. */
TEST_F(others, monitor_command_with_a_variable)
{
	setenv("U_SECRET", "u.secret", 1);
	CTL_RUN(&self->result, "massif-ctl", "-q", "--time-unit=B", "--massif-out-file=u.out",
		ctl_target("ctl_monitor"), "xtmemory u.%q{U_SECRET}");
	unsetenv("U_SECRET");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_STREQ("massif-ctl: %q is not expanded in names that the program chooses, because the program would learn "
		     "massif-ctl's environment\n", self->result.err);
	EXPECT_EQ(0, ctl_find_files("u.u.", NULL));
}

/* Where nothing can be mounted, a limit on the file size simulates a full disk. */
static void limit_size(void)
{
	const struct rlimit limit = { 100, 100 };

	signal(SIGXFSZ, SIG_DFL);
	if (setrlimit(RLIMIT_FSIZE, &limit))
		give_up();
}

static void say_to_file(void)
{
	int fd = open("u.out.said", O_WRONLY | O_CREAT, 0644);

	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
		give_up();
}

/* A command requests a snapshot of a running program, and the snapshot cannot be written. */
TEST_F_TIMEOUT(others, snapshot, 200)
{
	pid_t ctl = ctl_start(say_to_file,
			      (const char *const[]){ "massif-ctl", "-q", "--time-unit=B",
						     "--massif-out-file=u.out", ctl_target("ctl_grow"), "3",
						     NULL });
	char *text = NULL, *saved, pid[16];

	for (int i = 0; i < 6000 && !(text && ctl_number(text, "ready ")); i++) {
		usleep(10000);
		free(text);
		text = ctl_read_file("u.out.said");
	}
	ASSERT_NE(NULL, text);
	ASSERT_LT(0, ctl_number(text, "ready "));
	snprintf(pid, sizeof(pid), "%lu", ctl_number(text, "ready "));
	free(text);
	/* Wait until massif-ctl finds the program: the control socket may not exist yet when the program starts. */
	for (int i = 0; i < 1000 && !(self->result.out && strstr(self->result.out, pid)); i++) {
		ctl_result_free(&self->result);
		CTL_RUN(&self->result, "massif-ctl", "list");
	}
	ctl_result_free(&self->result);
	/*
	 * If `massif-ctl all_snapshots` exceeds the file size limit, it fails with a message rather than being killed
	 * by SIGXFSZ.
	 */
	ctl_run(&self->result, NULL, limit_size,
		(const char *const[]){ "massif-ctl", "all_snapshots", "--pid", pid, "u.out.now", NULL });
	EXPECT_EQ(1, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "cannot write 'u.out.now': File too large; ")) {
		TH_LOG("%s", self->result.err);
	}
	EXPECT_NE(NULL, strstr(self->result.err, "it is lost"));
	EXPECT_EQ(0, ctl_find_files("u.out.now", NULL));
	EXPECT_EQ(0, ctl_find_files(".massif-", NULL));
	ctl_result_free(&self->result);
	CTL_RUN(&self->result, "massif-ctl", "all_snapshots", "--pid", pid, "/dev/full");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	saved = ctl_saved_file(self->result.err);
	ASSERT_NE(NULL, saved);
	EXPECT_EQ(0, strncmp(saved, refuge, strlen(refuge)));
	text = ctl_read_file(saved);
	EXPECT_TRUE(ctl_is_massif_file(text));
	free(text);
	free(saved);
	kill(atoi(pid), SIGTERM);
	waitpid(ctl, NULL, 0);
}

TEST_HARNESS_MAIN
