// SPDX-License-Identifier: GPL-2.0
// Which programs heap mode can profile, and the messages about the others, which run without being profiled.

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "elf/kind.h"
#include "ctl/launch/program.h"
#include "selftests/lib/ctl_run.h"

#define NOBODY 65534

#define RESOLVE(name) mf_program_resolve(&self->program, name, getenv("PATH"), &self->err)

FIXTURE(program) {
	struct mf_program program;
	struct mf_error err;
	struct ctl_result result;
};

FIXTURE_SETUP(program)
{
	ctl_remove_files("massif.out");
	ctl_remove_files("p.");
}

FIXTURE_TEARDOWN(program)
{
	mf_program_deinit(&self->program);
	ctl_result_free(&self->result);
	ctl_remove_files("massif.out");
	ctl_remove_files("p.");
}

/* Copies @from to @to, with the first occurrence of @old replaced with @new. */
static bool copy_changed(const char *from, const char *to, const void *old, const void *new,
			 size_t size)
{
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	static char bytes[4 << 20];
	size_t length;
	char *at;

	if (!in || !out)
		return false;
	length = fread(bytes, 1, sizeof(bytes), in);
	at = size ? memmem(bytes, length, old, size) : bytes;
	if (!at)
		return false;
	memcpy(at, new, size);
	fwrite(bytes, 1, length, out);
	fclose(in);
	return fclose(out) == 0 && chmod(to, 0755) == 0;
}

TEST_F(program, is_dynamic)
{
	ASSERT_EQ(0, RESOLVE("true"));
	EXPECT_EQ(MF_PROGRAM_DYNAMIC, self->program.kind);
	EXPECT_EQ('/', self->program.path[0]);
	EXPECT_EQ(NULL, self->program.image);
}

TEST_F(program, is_static)
{
	EXPECT_EQ(MF_PROGRAM_STATIC, mf_elf_kind(ctl_target("ctl_static")));
}

/* The dynamic loader is not treated as a static program: it honours LD_PRELOAD when it is executed to run a program. */
TEST_F(program, is_the_loader)
{
	EXPECT_EQ(MF_PROGRAM_DYNAMIC, mf_elf_kind("/lib64/ld-linux-x86-64.so.2"));
}

TEST_F(program, is_of_another_c_library)
{
	ASSERT_TRUE(copy_changed("/bin/true", "p.other", "/ld-linux-x86-64.so.2",
				 "/ld-other-x86-64.so.2", 21));
	EXPECT_EQ(MF_PROGRAM_LOADER, mf_elf_kind("p.other"));
}

TEST_F(program, is_for_another_machine)
{
	const Elf64_Half here[] = { ET_DYN, EM_X86_64 }, there[] = { ET_DYN, EM_AARCH64 };

	ASSERT_TRUE(copy_changed("/bin/true", "p.arm", here, there, sizeof(here)));
	EXPECT_EQ(MF_PROGRAM_MACHINE, mf_elf_kind("p.arm"));
}

TEST_F(program, is_damaged)
{
	static const char *const damaged[] = { "", "\177ELF", "\177ELF\2\1\1", "text" };

	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		ctl_write_file("p.damaged", damaged[i], 0755);
		EXPECT_EQ(MF_PROGRAM_UNKNOWN, mf_elf_kind("p.damaged"));
	}
	EXPECT_EQ(MF_PROGRAM_UNKNOWN, mf_elf_kind("p.missing"));
}

TEST_F(program, script_leads_to_its_interpreter)
{
	char line[4096];

	ctl_write_file("p.script", "#!  /bin/sh\t-e\nexit 3\n", 0755);
	ASSERT_EQ(0, RESOLVE("./p.script"));
	EXPECT_EQ(MF_PROGRAM_DYNAMIC, self->program.kind);
	EXPECT_STREQ("./p.script", self->program.path);
	EXPECT_STREQ("/bin/sh", self->program.image);
	EXPECT_FALSE(self->program.by_shell);
	mf_program_deinit(&self->program);

	/* A script whose interpreter is another script, whose interpreter is a static program. */
	snprintf(line, sizeof(line), "#!%s\n", ctl_target("ctl_static"));
	ctl_write_file("p.inner", line, 0755);
	ctl_write_file("p.outer", "#!./p.inner\n", 0755);
	ASSERT_EQ(0, RESOLVE("./p.outer"));
	EXPECT_EQ(MF_PROGRAM_STATIC, self->program.kind);
	EXPECT_STREQ(ctl_target("ctl_static"), self->program.image);
}

/*
 * A script's interpreter may itself be a script. The kernel limits the depth of such nesting: programs at the limit
 * run, but those one level deeper, or ten times as deep, do not.
 */
TEST_F(program, scripts_of_scripts)
{
	static const struct {
		int scripts;
		bool runs;
	} chains[] = { { 4, true }, { 5, true }, { 6, false }, { 50, false } };
	struct ctl_result alone, profiled;
	char name[64], line[64];

	for (int i = 1; i <= 50; i++) {
		snprintf(name, sizeof(name), "p.chain%d", i);
		if (i == 1)
			strcpy(line, "#!/bin/cat\n");
		else
			snprintf(line, sizeof(line), "#!./p.chain%d\n", i - 1);
		ctl_write_file(name, line, 0755);
	}
	for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
		snprintf(name, sizeof(name), "./p.chain%d", chains[i].scripts);
		CTL_RUN(&alone, name);
		CTL_RUN(&profiled, "massif-ctl", "-q", "--massif-out-file=/dev/null", name);
		EXPECT_EQ(chains[i].runs, alone.status == 0);
		EXPECT_EQ(chains[i].runs, profiled.status == 0);
		EXPECT_EQ(!chains[i].runs, strstr(profiled.err, "too many nested interpreters") != NULL);
		if (chains[i].runs)
			EXPECT_STREQ(alone.out, profiled.out);
		ctl_result_free(&alone);
		ctl_result_free(&profiled);
	}
}

TEST_F(program, script_without_interpreter)
{
	ctl_write_file("p.bare", "exit 3\n", 0755);
	ASSERT_EQ(0, RESOLVE("./p.bare"));
	EXPECT_EQ(MF_PROGRAM_DYNAMIC, self->program.kind);
	EXPECT_TRUE(self->program.by_shell);
}

/* Like execvp(3), the search skips files that may not be executed, and returns EACCES if it finds no other file. */
TEST_F(program, search)
{
	mkdir("p.first", 0755);
	mkdir("p.second", 0755);
	ctl_write_file("p.first/tool", "#!/bin/sh\n", 0644);
	setenv("PATH", "p.first:p.second", 1);
	EXPECT_EQ(-EACCES, RESOLVE("tool"));
	ctl_write_file("p.second/tool", "#!/bin/sh\n", 0755);
	EXPECT_EQ(0, RESOLVE("tool"));
	EXPECT_STREQ("p.second/tool", self->program.path);
	EXPECT_EQ(-ENOENT, RESOLVE("other"));

	/* An empty component of PATH means the current directory. */
	ctl_write_file("p.here", "#!/bin/sh\n", 0755);
	setenv("PATH", "p.first::p.second", 1);
	EXPECT_EQ(0, RESOLVE("p.here"));
	mf_program_deinit(&self->program);
	unsetenv("PATH");
	EXPECT_EQ(0, RESOLVE("true"));

	unlink("p.first/tool");
	unlink("p.second/tool");
	rmdir("p.first");
	rmdir("p.second");
}

/* Expects an empty snapshot, and a message that contains @reason. */
static void expect_blind(struct __test_metadata *_metadata, const struct ctl_result *result,
			 const char *reason)
{
	char name[256], *text;

	EXPECT_NE(NULL, strstr(result->err, reason)) {
		TH_LOG("%s", result->err);
	}
	ASSERT_EQ(1, ctl_find_files("massif.out", name));
	text = ctl_read_file(name);
	ASSERT_NE(NULL, text);
	EXPECT_TRUE(ctl_is_massif_file(text));
	EXPECT_NE(NULL, strstr(text, "#-----------\nsnapshot=0\n#-----------\ntime=0\n"
				     "mem_heap_B=0\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
				     "heap_tree=empty\n"));
	EXPECT_EQ(NULL, strstr(text, "snapshot=1\n"));
	free(text);
}

TEST_F(program, static_one_runs)
{
	CTL_RUN(&self->result, "massif-ctl", "-q", ctl_target("ctl_static"), "a", "b");
	EXPECT_STREQ("2 arguments\n", self->result.out);
	EXPECT_EQ(9, ctl_exit_code(&self->result));
	expect_blind(_metadata, &self->result, "is statically linked, so heap mode cannot profile it; use "
					       "--pages-as-heap=yes\n");
}

/*
 * If MASSIF_PRELOAD names a library other than the shim, nothing in the program connects to massif-ctl, and massif-ctl
 * reports this.
 */
TEST_F(program, without_the_shim)
{
	setenv("MASSIF_PRELOAD", "/lib/x86_64-linux-gnu/libm.so.6", 1);
	CTL_RUN(&self->result, "massif-ctl", "-q", "sh", "-c", "exit 2");
	EXPECT_EQ(2, ctl_exit_code(&self->result));
	expect_blind(_metadata, &self->result, "did not load the preload library");
}

/* A wrapper script executes another program. The file covers only the time before the exec, and a message says so. */
TEST_F(program, replaced_one_is_told_of)
{
	CTL_RUN(&self->result, "massif-ctl", "-q", "sh", "-c", "exec /bin/sleep 1");
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	EXPECT_NE(NULL, strstr(self->result.err, "executed another program, "));
	EXPECT_NE(NULL, strstr(self->result.err, "/bin/sleep, which is not profiled; --trace-children=yes "
						 "profiles it, too\n"));
	EXPECT_EQ(1, ctl_find_files("massif.out", NULL));
}

/* The program executes another one, which ends before massif-ctl first checks which program the process runs. */
TEST_F(program, replaced_for_a_moment_is_told_of)
{
	for (int i = 0; i < 20; i++) {
		CTL_RUN(&self->result, "massif-ctl", "-q", "sh", "-c", "exec /bin/true");
		EXPECT_EQ(0, ctl_exit_code(&self->result));
		EXPECT_NE(NULL, strstr(self->result.err, "executed another program"));
		EXPECT_NE(NULL, strstr(self->result.err, "which is not profiled; --trace-children=yes "
							 "profiles it, too\n"));
	}
}

TEST_F(program, not_replaced_is_not_told_of)
{
	CTL_RUN(&self->result, "massif-ctl", "-q", "sh", "-c", "exec /nowhere/at-all");
	EXPECT_EQ(127, ctl_exit_code(&self->result));
	EXPECT_EQ(NULL, strstr(self->result.err, "executed another program"));
}

static void become_nobody(void)
{
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		_exit(98);
}

/*
 * Creates a set-uid copy of id(1), named p.setuid, that another user can run. Returns NULL, or the reason why
 * that is not possible.
 */
static const char *make_set_uid(void)
{
	struct ctl_result result = { 0 };
	struct statvfs fs;
	int code;

	if (geteuid() != 0)
		return "needs root, to make a set-uid program";
	if (statvfs(".", &fs) || fs.f_flag & ST_NOSUID)
		return "the file system is mounted nosuid";
	/*
	 * Errors from these calls need not be checked here, because they make the test that runs the set-uid program
	 * fail.
	 */
	copy_changed("/usr/bin/id", "p.setuid", NULL, NULL, 0);
	chmod("p.setuid", 04755);
	chmod(".", 0777);
	ctl_run(&result, NULL, become_nobody, (const char *const[]){ ctl_path(), "--version", NULL });
	code = ctl_exit_code(&result);
	ctl_result_free(&result);
	return code ? "other users cannot reach massif-ctl here" : NULL;
}

/* The program gains another user's privileges and runs without the shim. */
TEST_F(program, set_uid_one_runs)
{
	const char *argv[] = { "massif-ctl", "-q", "./p.setuid", "-u", NULL };
	const char *why = make_set_uid();

	if (why)
		SKIP(return, "%s", why);
	ctl_run(&self->result, NULL, become_nobody, argv);
	EXPECT_STREQ("0\n", self->result.out);
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	expect_blind(_metadata, &self->result, "./p.setuid gains privileges (set-uid, set-gid or "
					       "capabilities), so it is not profiled");
}

/* If the profiled program executes a set-uid program, the latter runs without the shim. */
TEST_F(program, set_uid_child_runs)
{
	const char *argv[] = { "massif-ctl", "-q", "--trace-children=yes", "sh", "-c",
			       "./p.setuid -u; ./p.setuid -u; :", NULL };
	const char *why = make_set_uid(), *words;

	if (why)
		SKIP(return, "%s", why);
	ctl_run(&self->result, NULL, become_nobody, argv);
	EXPECT_STREQ("0\n0\n", self->result.out);
	EXPECT_EQ(0, ctl_exit_code(&self->result));
	words = strstr(self->result.err, "/p.setuid gains privileges (set-uid, set-gid or capabilities), "
					 "so it is not profiled");
	ASSERT_NE(NULL, words);
	EXPECT_EQ(NULL, strstr(strchr(words, '\n'), "gains privileges"));
}

/* A set-uid program that belongs to the same user gains nothing, so it is profiled. */
TEST_F(program, own_set_uid_is_ordinary)
{
	ASSERT_TRUE(copy_changed("/bin/true", "p.setuid", NULL, NULL, 0));
	ASSERT_EQ(0, chmod("p.setuid", 06755));
	ASSERT_EQ(0, RESOLVE("./p.setuid"));
	EXPECT_EQ(MF_PROGRAM_DYNAMIC, self->program.kind);
}

TEST_HARNESS_MAIN
