// SPDX-License-Identifier: GPL-2.0
// Attaching to a process that runs: who may, what is told, that nothing is left of it afterwards.
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_model.h"
#include "selftests/lib/kmod_session.h"

#define RING	(8 << 20)
#define STACK	4096
#define USER	1000
#define OTHER	1001
#define PAGE	4096ul

static int attach(int fd, pid_t pid)
{
	struct massif_attach arg = { .size = sizeof(arg), .pid = pid };

	return ioctl(fd, MASSIF_IOC_ATTACH, &arg) ? -errno : 0;
}

/* One that may be amid an exec. */
static int attach_patiently(int fd, pid_t pid)
{
	int err;

	while ((err = attach(fd, pid)) == -EAGAIN)
		usleep(1000);
	return err;
}

static pid_t start(void (*run)(void))
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Or a session would live as long as its target. */
		close_range(3, ~0u, 0);
		run();
		_exit(0);
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void sleep_on(void)
{
	for (;;)
		pause();
}

/* Of as many pages as differ from call to call, so that mappings do not merge to one. */
static void map_on(void)
{
	for (unsigned long i = 0;; i++) {
		void *at = mmap(NULL, (1 + i % 7) * PAGE, PROT_READ | (i % 3 ? PROT_WRITE : 0),
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (i % 2)
			munmap((char *)at + PAGE * (i % 5 ? 1 : 0), (1 + i % 7) * PAGE);
		if (i % 64 == 63)
			usleep(1000);
		if (i > 20000)
			pause();
	}
}

static void *map_in_thread(void *arg)
{
	map_on();
	return NULL;
}

static void map_in_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, map_in_thread, NULL);
	map_on();
}

/* The first thread is gone, as far as the kernel lets it. */
static void map_without_leader(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, map_in_thread, NULL);
	syscall(SYS_exit, 0);
}

static void exec_on(void)
{
	execl("/bin/sh", "sh", "-c", "exec \"$0\" -c \"$1\" \"$0\" \"$1\"", "/bin/sh",
	      "exec \"$0\" -c \"$1\" \"$0\" \"$1\"", NULL);
}

static void fork_on(void)
{
	for (;;) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

FIXTURE(attach)
{
	struct kmod_session session;
	struct kmod_model model;
};

FIXTURE_SETUP(attach)
{
	kmod_model_init(&self->model);
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, STACK));
}

FIXTURE_TEARDOWN(attach)
{
	kmod_session_close(&self->session);
	kmod_model_destroy(&self->model);
}

/* What there is now. */
static void read_all(struct kmod_session *session, struct kmod_model *model)
{
	const struct massif_record *rec;

	while ((rec = kmod_session_next(session)))
		kmod_model_apply(rec, model);
	kmod_session_release(session);
}

static bool equals_maps(struct kmod_target *target, pid_t pid)
{
	struct kmod_intervals truth;
	char path[64];
	bool same;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	if (!target || kmod_intervals_read(&truth, path))
		return false;
	/* Its first thread has ended: any other will do. */
	for (pid_t tid = pid + 1; !truth.count && tid < pid + 20; tid++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", (int)pid, (int)tid);
		if (kmod_intervals_read(&truth, path))
			truth = (struct kmod_intervals){ 0 };
	}
	same = kmod_intervals_equal(&truth, &target->map);
	kmod_intervals_destroy(&truth);
	return same;
}

TEST_F(attach, says_all_that_is_mapped)
{
	pid_t pid = start(sleep_on);
	const struct massif_record *rec;
	bool attached = false, resynced = false;

	usleep(100000);
	ASSERT_EQ(0, attach(self->session.fd, pid));
	while ((rec = kmod_session_next(&self->session))) {
		if (rec->type == MASSIF_REC_ATTACH) {
			const struct massif_rec_enrol *told = (const void *)rec;

			EXPECT_FALSE(resynced);
			EXPECT_EQ(pid, told->tgid);
			EXPECT_EQ(0, strncmp("kmod_attach", told->comm, sizeof(told->comm)));
			attached = true;
		}
		if (rec->type == MASSIF_REC_RESYNC_BEGIN || rec->type == MASSIF_REC_RESYNC_END) {
			EXPECT_EQ(MASSIF_RESYNC_ATTACH,
				  ((const struct massif_rec_resync *)rec)->reason);
			resynced = true;
		}
		kmod_model_apply(rec, &self->model);
	}
	EXPECT_TRUE(attached);
	EXPECT_TRUE(resynced);
	ASSERT_EQ(1, self->model.count);
	EXPECT_TRUE(equals_maps(&self->model.targets[0], pid));
	EXPECT_EQ(0, self->model.wrong + self->model.lost + self->model.gaps);
	end(pid);
	EXPECT_EQ(0, kmod_session_drain(&self->session, 10000, kmod_model_apply, &self->model));
	EXPECT_EQ(1, self->model.records[MASSIF_REC_EXIT]);
	EXPECT_EQ(1, self->model.records[MASSIF_REC_END]);
	EXPECT_EQ(0, self->model.wrong);
}

TEST_F(attach, refuses_with_a_reason)
{
	struct kmod_session second;
	pid_t pid = start(map_in_threads), dead = start(sleep_on), zombie;

	end(dead);
	zombie = fork();
	if (!zombie)
		_exit(0);
	usleep(200000);
	EXPECT_EQ(-ESRCH, attach(self->session.fd, dead));
	EXPECT_EQ(-ESRCH, attach(self->session.fd, zombie));
	waitpid(zombie, NULL, 0);
	EXPECT_EQ(-EINVAL, attach(self->session.fd, 0));
	EXPECT_EQ(-EINVAL, attach(self->session.fd, -1));
	EXPECT_EQ(-ESRCH, attach(self->session.fd, 0x7fffffff));
	/* kthreadd, and a thread of it. */
	EXPECT_EQ(-EOPNOTSUPP, attach(self->session.fd, 2));
	/* A thread is no process: the first that was made after the process. */
	for (pid_t tid = pid + 1; tid < pid + 20; tid++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
		if (!access(path, F_OK))
			EXPECT_EQ(-ESRCH, attach(self->session.fd, tid));
	}

	ASSERT_EQ(0, attach(self->session.fd, pid));
	EXPECT_EQ(-EBUSY, attach(self->session.fd, pid));
	ASSERT_EQ(0, kmod_session_open(&second, RING, STACK));
	EXPECT_EQ(-EBUSY, attach(second.fd, pid));
	kmod_session_close(&second);
	end(pid);
}

static const struct {
	const char *name;
	void (*run)(void);
} busy[] = {
	{ "one thread", map_on },
	{ "threads", map_in_threads },
	{ "no leader", map_without_leader },
};

/* While mappings change all the time, each total is right from the first resync on. */
TEST_F_TIMEOUT(attach, to_busy_processes, 250)
{
	for (size_t i = 0; i < sizeof(busy) / sizeof(busy[0]); i++) {
		for (int n = 0; n < 15; n++) {
			pid_t pid = start(busy[i].run);
			struct massif_status status;
			struct kmod_session session;
			struct kmod_model model;
			struct kmod_target *target;

			kmod_model_init(&model);
			ASSERT_EQ(0, kmod_session_open(&session, RING, 0));
			usleep(20000 + 3000 * n);
			ASSERT_EQ(0, attach(session.fd, pid));
			usleep(20000);
			kill(pid, SIGSTOP);
			waitpid(pid, NULL, WUNTRACED);
			read_all(&session, &model);
			target = model.count ? &model.targets[0] : NULL;
			ASSERT_NE(NULL, target);
			EXPECT_TRUE(target->synced);
			EXPECT_TRUE(equals_maps(target, pid)) {
				TH_LOG("%s, %d", busy[i].name, n);
			}
			EXPECT_EQ(0, model.wrong + model.gaps + model.lost) {
				TH_LOG("%s, %d: %s", busy[i].name, n, model.first_wrong);
			}
			ASSERT_EQ(0, kmod_session_status(&session, &status));
			EXPECT_EQ(0, status.unseen + status.missed);
			EXPECT_EQ(1, status.targets);
			/* Gone while it is stopped, with whatever is owed to its threads. */
			kmod_session_close(&session);
			kill(pid, SIGCONT);
			usleep(5000);
			EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
			end(pid);
			kmod_model_destroy(&model);
		}
	}
}

/* Whatever it is doing, it can be told what it is, and its children and programs follow. */
TEST_F_TIMEOUT(attach, amid_exec_and_fork, 120)
{
	static void (*const runs[])(void) = { exec_on, fork_on };

	for (size_t i = 0; i < 2; i++) {
		unsigned int expected = i ? MASSIF_REC_FORK : MASSIF_REC_EXEC;

		for (int n = 0; n < 10; n++) {
			pid_t pid = start(runs[i]);
			struct kmod_session session;
			struct kmod_model model;

			kmod_model_init(&model);
			ASSERT_EQ(0, kmod_session_open(&session, RING, STACK));
			usleep(20000 + 2500 * n);
			ASSERT_EQ(0, attach_patiently(session.fd, pid));
			for (int t = 0; t < 1000 && !model.records[expected]; t++) {
				usleep(10000);
				read_all(&session, &model);
			}
			end(pid);
			EXPECT_EQ(0, kmod_session_drain(&session, 10000, kmod_model_apply,
							&model));
			EXPECT_EQ(0, model.wrong + model.gaps + model.lost) {
				TH_LOG("run %zu, %d: %s", i, n, model.first_wrong);
			}
			EXPECT_EQ(1, model.records[MASSIF_REC_ATTACH]);
			EXPECT_LE(1, model.records[expected]);
			kmod_session_close(&session);
			kmod_model_destroy(&model);
		}
	}
}

/* EXEC has the path, ARGS what the program was given. */
TEST_F(attach, exec_and_its_arguments)
{
	char *argv[] = { "/bin/echo", "two words", "", "last", NULL };
	static const char args[] = "/bin/echo\0two words\0\0last";
	const struct massif_record *rec;
	bool path = false, told = false;
	pid_t pid = kmod_session_spawn(&self->session, argv);

	ASSERT_LT(0, pid);
	waitpid(pid, NULL, 0);
	while ((rec = kmod_session_next(&self->session))) {
		const struct massif_rec_exec *exec = (const void *)rec;
		const struct massif_rec_args *given = (const void *)rec;

		if (rec->type == MASSIF_REC_EXEC) {
			path = !strcmp(exec->path, "/bin/echo");
			EXPECT_EQ(pid, exec->tgid);
		}
		if (rec->type == MASSIF_REC_ARGS) {
			EXPECT_TRUE(path);
			EXPECT_EQ(pid, given->tgid);
			ASSERT_EQ(sizeof(args), given->bytes);
			told = !memcmp(args, given->args, sizeof(args));
		}
	}
	EXPECT_TRUE(told);
}

static bool kernel_has_our_hooks(void)
{
	FILE *file = fopen("/sys/kernel/debug/kprobes/list", "r");
	char line[512];
	bool found = false;

	while (file && fgets(line, sizeof(line), file))
		found |= strstr(line, "mmap_region") || strstr(line, "exit_mmap");
	if (file)
		fclose(file);
	file = fopen("/sys/kernel/debug/tracing/enabled_functions", "r");
	while (file && fgets(line, sizeof(line), file))
		found |= strstr(line, "massif") != NULL;
	if (file)
		fclose(file);
	return found;
}

static int module_users(void)
{
	FILE *file = fopen("/sys/module/massif/refcnt", "r");
	int users = -1;

	if (file) {
		if (fscanf(file, "%d", &users) != 1)
			users = -1;
		fclose(file);
	}
	return users;
}

TEST_F_TIMEOUT(attach, detaching_leaves_nothing, 60)
{
	pid_t pid = start(map_in_threads);

	if (access("/sys/kernel/debug/kprobes/list", F_OK) &&
	    system("mount -t debugfs none /sys/kernel/debug"))
		TH_LOG("no debugfs");
	usleep(50000);
	ASSERT_EQ(0, attach(self->session.fd, pid));
	EXPECT_TRUE(kernel_has_our_hooks());
	EXPECT_LE(1, module_users());
	kmod_session_close(&self->session);
	EXPECT_FALSE(kernel_has_our_hooks());
	/* What was owed to a thread goes when it next returns from a system call. */
	for (int i = 0; i < 100 && module_users(); i++)
		usleep(20000);
	EXPECT_EQ(0, module_users());
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	/* And it can be attached to again. */
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, STACK));
	EXPECT_EQ(0, attach(self->session.fd, pid));
	end(pid);
}

/* Who, with which device opened by whom, may attach to what: one row each. */
static const struct permission {
	const char *name;
	uid_t ruid, euid, suid;	/* of the target */
	gid_t rgid, egid, sgid;
	bool dumpable;
	bool by_root;
	int expected;
} permissions[] = {
	{ "own", USER, USER, USER, USER, USER, USER, true, false, 0 },
	{ "own, not dumpable", USER, USER, USER, USER, USER, USER, false, false, -EPERM },
	{ "another's", OTHER, OTHER, OTHER, USER, USER, USER, true, false, -EPERM },
	{ "another real uid", OTHER, USER, USER, USER, USER, USER, true, false, -EPERM },
	{ "another effective uid", USER, OTHER, USER, USER, USER, USER, true, false, -EPERM },
	{ "another saved uid", USER, USER, OTHER, USER, USER, USER, true, false, -EPERM },
	{ "another real gid", USER, USER, USER, OTHER, USER, USER, true, false, -EPERM },
	{ "another effective gid", USER, USER, USER, USER, OTHER, USER, true, false, -EPERM },
	{ "another saved gid", USER, USER, USER, USER, USER, OTHER, true, false, -EPERM },
	{ "root's", 0, 0, 0, 0, 0, 0, true, false, -EPERM },
	{ "a user's, by root", OTHER, OTHER, OTHER, OTHER, OTHER, OTHER, true, true, 0 },
	{ "not dumpable, by root", USER, USER, USER, USER, USER, USER, false, true, 0 },
};

static void be_target(const struct permission *row)
{
	if (setgroups(0, NULL) || setresgid(row->rgid, row->egid, row->sgid) ||
	    setresuid(row->ruid, row->euid, row->suid) ||
	    prctl(PR_SET_DUMPABLE, row->dumpable))
		_exit(9);
	sleep_on();
}

/* The errno of attaching with a device that a user has opened, in a child. */
static int attach_as_user(pid_t pid)
{
	struct kmod_session session;

	if (setgroups(0, NULL) || setresgid(USER, USER, USER) || setresuid(USER, USER, USER) ||
	    kmod_session_open(&session, 1 << 20, STACK))
		return 99;
	return -attach(session.fd, pid);
}

TEST_F_TIMEOUT(attach, who_may, 60)
{
	ASSERT_EQ(0, chown(MASSIF_DEVICE, 0, USER));
	for (size_t i = 0; i < sizeof(permissions) / sizeof(permissions[0]); i++) {
		const struct permission *row = &permissions[i];
		pid_t pid = fork(), user;
		int status;

		if (!pid)
			be_target(row);
		usleep(100000);
		EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
		user = row->by_root ? 0 : fork();
		if (row->by_root) {
			EXPECT_EQ(row->expected, attach(self->session.fd, pid)) {
				TH_LOG("%s", row->name);
			}
		} else if (!user) {
			_exit(attach_as_user(pid));
		} else {
			waitpid(user, &status, 0);
			EXPECT_EQ(-row->expected, WEXITSTATUS(status)) {
				TH_LOG("%s", row->name);
			}
		}
		end(pid);
	}
	EXPECT_EQ(0, chown(MASSIF_DEVICE, 0, 0));
}

TEST_HARNESS_MAIN
