// SPDX-License-Identifier: GPL-2.0
// Tests attaching to a process at any point in its life: all records are written, and nothing is left behind.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_model.h"
#include "selftests/lib/kmod_session.h"
#include "selftests/lib/process_state.h"
#include "selftests/lib/take_descriptor.h"

#define RING	(8 << 20)
#define STACK	4096
#define PAGE	4096ul

/* Attaches to a process. Retries, because it may be in the middle of an exec. */
static int attach_patiently(int fd, pid_t pid)
{
	int err;

	while ((err = kmod_session_attach(fd, pid)) == -EAGAIN)
		usleep(1000);
	return err;
}

static pid_t start(void (*run)(void))
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Close all inherited descriptors, because one of them would keep a session open. */
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

/* Waits until a process has @wanted threads. */
static void wait_for_threads(pid_t pid, unsigned long wanted)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	while (!stat(path, &st) && st.st_nlink < wanted + 2)
		usleep(1000);
}

static void sleep_on(void)
{
	for (;;)
		pause();
}

/*
 * Maps a different number of pages on each call to mmap(), so that mappings do not merge, and unmaps all but the first
 * or the last page of every second mapping. Never unmaps beyond the mapping, because a library or the data of a new
 * thread may be there.
 */
static void map_on(void)
{
	for (unsigned long i = 0;; i++) {
		void *at = mmap(NULL, (2 + i % 7) * PAGE, PROT_READ | (i % 3 ? PROT_WRITE : 0),
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

/* State of a process that enrols itself while its other threads map memory. */
static int enrols_by;
static unsigned int enrols_after; /* delay in microseconds before the process enrols itself */

static void map_in_threads_and_enrol(void)
{
	struct massif_enrol enrol = { .size = sizeof(enrol) };
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, map_in_thread, NULL);
	usleep(enrols_after);
	if (ioctl(enrols_by, MASSIF_IOC_ENROL, &enrol))
		_exit(1);
	close(enrols_by);
	map_on();
}

/* Ends the first thread, which the kernel keeps as a zombie, while another thread continues to map memory. */
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

static bool equals_maps(struct kmod_target *target, pid_t pid)
{
	struct kmod_intervals truth;
	char path[64];
	bool same;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	if (!target || kmod_intervals_read(&truth, path))
		return false;
	/* If the first thread has ended, read the maps of another thread. */
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

	ASSERT_EQ(0, kmod_session_attach(self->session.fd, pid));
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
	struct dirent *task;
	siginfo_t info;
	int threads = 0;
	char path[64];
	DIR *tasks;

	end(dead);
	zombie = fork();
	if (!zombie)
		_exit(0);
	ASSERT_EQ(0, waitid(P_PID, zombie, &info, WEXITED | WNOWAIT));
	wait_for_threads(pid, 4);
	EXPECT_EQ(-ESRCH, kmod_session_attach(self->session.fd, dead));
	EXPECT_EQ(-ESRCH, kmod_session_attach(self->session.fd, zombie));
	waitpid(zombie, NULL, 0);
	EXPECT_EQ(-EINVAL, kmod_session_attach(self->session.fd, 0));
	EXPECT_EQ(-EINVAL, kmod_session_attach(self->session.fd, -1));
	EXPECT_EQ(-ESRCH, kmod_session_attach(self->session.fd, 0x7fffffff));
	/* Process 2 is kthreadd, a kernel thread, which cannot be attached to. */
	EXPECT_EQ(-EOPNOTSUPP, kmod_session_attach(self->session.fd, 2));
	/* The id of a thread other than the first is not the id of a process, so attaching to it fails. */
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	ASSERT_NE(NULL, tasks);
	while ((task = readdir(tasks))) {
		pid_t tid = (pid_t)atoi(task->d_name);

		if (tid <= 0 || tid == pid)
			continue;
		EXPECT_EQ(-ESRCH, kmod_session_attach(self->session.fd, tid));
		threads++;
	}
	closedir(tasks);
	EXPECT_EQ(3, threads);

	ASSERT_EQ(0, kmod_session_attach(self->session.fd, pid));
	EXPECT_EQ(-EBUSY, kmod_session_attach(self->session.fd, pid));
	ASSERT_EQ(0, kmod_session_open(&second, RING, STACK));
	EXPECT_EQ(-EBUSY, kmod_session_attach(second.fd, pid));
	kmod_session_close(&second);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	end(pid);
}

/*
 * Stops @pid, a member of @session that continuously maps and unmaps memory. Checks that all totals were correct and
 * that the model's mappings equal the kernel's.
 */
static void check_busy(struct __test_metadata *_metadata, struct kmod_session *session, pid_t pid, const char *name, int n)
{
	struct massif_status status;
	struct kmod_model model;
	struct kmod_target *target;

	kmod_model_init(&model);
	usleep(20000);
	kill(pid, SIGSTOP);
	waitpid(pid, NULL, WUNTRACED);
	kmod_session_read(session, kmod_model_apply, &model);
	target = model.count ? &model.targets[0] : NULL;
	ASSERT_NE(NULL, target) {
		TH_LOG("%s, %d", name, n);
	}
	EXPECT_TRUE(target->synced);
	EXPECT_TRUE(equals_maps(target, pid)) {
		TH_LOG("%s, %d", name, n);
	}
	EXPECT_EQ(0, model.wrong + model.gaps + model.lost) {
		TH_LOG("%s, %d: %s", name, n, model.first_wrong);
	}
	ASSERT_EQ(0, kmod_session_status(session, &status));
	EXPECT_EQ(0, status.unseen + status.missed);
	EXPECT_EQ(1, status.targets);
	/* Close the session while the process is stopped and its threads still have pending work. */
	kmod_session_close(session);
	kill(pid, SIGCONT);
	usleep(5000);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	end(pid);
	kmod_model_destroy(&model);
}

static const struct {
	const char *name;
	void (*run)(void);
} busy[] = {
	{ "one thread", map_on },
	{ "threads", map_in_threads },
	{ "no leader", map_without_leader },
};

/* Even if mappings change continuously, every total is correct after the first resync. */
TEST_F_TIMEOUT(attach, to_busy_processes, 250)
{
	for (size_t i = 0; i < sizeof(busy) / sizeof(busy[0]); i++) {
		for (int n = 0; n < 15; n++) {
			pid_t pid = start(busy[i].run);
			struct kmod_session session;

			ASSERT_EQ(0, kmod_session_open(&session, RING, 0));
			usleep(20000 + 3000 * n);
			ASSERT_EQ(0, kmod_session_attach(session.fd, pid));
			check_busy(_metadata, &session, pid, busy[i].name, n);
		}
	}
}

/*
 * While some threads of a process map memory continuously, another of its threads enrols the process in the session
 * (MASSIF_IOC_ENROL).
 */
TEST_F_TIMEOUT(attach, while_threads_map_one_enrols, 250)
{
	for (int n = 0; n < 100; n++) {
		struct kmod_session session;
		struct massif_status status = { .processes = 0 };
		pid_t pid;

		ASSERT_EQ(0, kmod_session_open(&session, RING, 0));
		enrols_by = session.fd;
		enrols_after = 10000 + 500 * n;
		pid = fork();
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			map_in_threads_and_enrol();
		}
		for (unsigned int i = 0; i < 60000 * patience() && !status.processes; i++) {
			usleep(1000);
			ASSERT_EQ(0, kmod_session_status(&session, &status));
		}
		check_busy(_metadata, &session, pid, "a thread that enrols", n);
	}
}

/*
 * Creates a userfaultfd and registers a page with it. A fault on the page (or a fork, depending on @features) blocks
 * until another process handles the event.
 */
static int wait_for_others(char **page, uint64_t features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	struct uffdio_register range = {
		.range.len = PAGE, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(SYS_userfaultfd, O_NONBLOCK);

	*page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)*page;
	if (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		return -1;
	return fd;
}

/*
 * Waits for the next message from the userfaultfd. Returns whether it reports an @event, that is, whether such an event
 * has blocked a process.
 */
static bool await(int fd, uint8_t event, struct uffd_msg *message)
{
	for (int i = 0; i < 10000; i++) {
		if (read(fd, message, sizeof(*message)) == sizeof(*message))
			return message->event == event;
		usleep(1000);
	}
	return false;
}

/* Returns whether the process is blocked in fork(), for which the C library may use any of three system calls. */
static bool waits_in_fork(pid_t pid)
{
	char path[64], state = 0;
	long number = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (fscanf(file, "%ld", &number) != 1)
		number = -1;
	fclose(file);
	state = process_state(pid);
	return state != 'R' && (number == SYS_fork || number == SYS_clone || number == SYS_clone3);
}

static void wait_for_record(struct kmod_session *session, struct kmod_model *model, int type)
{
	for (int i = 0; i < 10000 && !model->records[type]; i++) {
		kmod_session_read(session, kmod_model_apply, model);
		usleep(1000);
	}
}

/* The process is blocked while the kernel reads its arguments; at this point the exec can still fail. */
TEST_F_TIMEOUT(attach, at_the_beginning_of_an_exec, 60)
{
	struct uffdio_copy copy = { .len = PAGE };
	int told[2], theirs = -1, fd;
	struct uffd_msg message;
	struct kmod_target *target;
	pid_t pid;

	copy.src = (uintptr_t)mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	strcpy((char *)(uintptr_t)copy.src, "60");
	ASSERT_EQ(0, pipe2(told, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		char *page;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fd = wait_for_others(&page, 0);
		if (write(told[1], &fd, sizeof(fd)) != sizeof(fd))
			_exit(1);
		/* The exec closes the inherited descriptor of the session. */
		execl("/bin/sleep", "sleep", page, NULL);
		_exit(2);
	}
	ASSERT_EQ(sizeof(theirs), read(told[0], &theirs, sizeof(theirs)));
	fd = take_descriptor(pid, theirs);
	ASSERT_LE(0, fd);
	ASSERT_TRUE(await(fd, UFFD_EVENT_PAGEFAULT, &message));

	ASSERT_EQ(0, kmod_session_attach(self->session.fd, pid));
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	ASSERT_EQ(1, self->model.count);
	EXPECT_TRUE(equals_maps(&self->model.targets[0], pid));
	EXPECT_EQ(0, self->model.records[MASSIF_REC_EXEC]);
	copy.dst = message.arg.pagefault.address & ~(PAGE - 1);
	ASSERT_EQ(0, ioctl(fd, UFFDIO_COPY, &copy));
	wait_for_record(&self->session, &self->model, MASSIF_REC_EXEC);
	EXPECT_EQ(1, self->model.records[MASSIF_REC_EXEC]);
	end(pid);
	EXPECT_EQ(0, kmod_session_drain(&self->session, 10000, kmod_model_apply, &self->model));
	EXPECT_EQ(0, self->model.wrong + self->model.gaps + self->model.lost) {
		TH_LOG("%s", self->model.first_wrong);
	}
	target = kmod_model_find(&self->model, pid, 1);
	ASSERT_NE(NULL, target);
	EXPECT_TRUE(target->exited);
	close(fd);
	close(told[0]);
	close(told[1]);
}

/*
 * The process is blocked while the kernel opens its interpreter. Attaching must be retried, and then sees the new
 * program.
 */
TEST_F_TIMEOUT(attach, in_the_middle_of_an_exec, 60)
{
	struct fanotify_event_metadata event = { .fd = -1 };
	struct fanotify_response response = { .response = FAN_ALLOW };
	int fd = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY);
	char interpreter[256], script[300], text[300];
	FILE *file;
	pid_t pid;

	snprintf(interpreter, sizeof(interpreter), "%.200s/sleep", getenv("TMPDIR") ?: "/tmp");
	snprintf(script, sizeof(script), "%s.script", interpreter);
	snprintf(text, sizeof(text), "cp /bin/sleep %s", interpreter);
	ASSERT_EQ(0, system(text));
	file = fopen(script, "we");
	ASSERT_NE(NULL, file);
	fprintf(file, "#!%s\n", interpreter);
	fclose(file);
	ASSERT_EQ(0, chmod(script, 0700));
	if (fd < 0 || fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN_EXEC_PERM, AT_FDCWD, interpreter))
		SKIP(return, "this kernel asks nobody whether a program may be opened");

	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(self->session.fd);
		/*
		 * If exec succeeds, sleep, which is the script's interpreter, is given the script's path as its
		 * argument and fails, because a path is not a number.
		 */
		execl(script, script, NULL);
		_exit(2);
	}
	ASSERT_LE((ssize_t)sizeof(event), read(fd, &event, sizeof(event)));
	for (int i = 0; i < 10; i++)
		EXPECT_EQ(-EAGAIN, kmod_session_attach(self->session.fd, pid));
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	EXPECT_EQ(0, self->model.count);
	/* Stop the process, so that it does not end before the test has read its records. */
	kill(pid, SIGSTOP);
	response.fd = event.fd;
	ASSERT_EQ(sizeof(response), write(fd, &response, sizeof(response)));
	close(event.fd);
	ASSERT_EQ(0, attach_patiently(self->session.fd, pid));
	ASSERT_EQ(pid, waitpid(pid, NULL, WUNTRACED));
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	EXPECT_EQ(0, self->model.records[MASSIF_REC_EXEC]);
	ASSERT_EQ(1, self->model.count);
	EXPECT_TRUE(equals_maps(&self->model.targets[0], pid));
	EXPECT_EQ(0, self->model.wrong + self->model.gaps + self->model.lost) {
		TH_LOG("%s", self->model.first_wrong);
	}
	end(pid);
	close(fd);
}

/*
 * Attaches to a process in the middle of a fork: the child exists, but its parent stays blocked until the userfaultfd
 * event is handled.
 */
TEST_F_TIMEOUT(attach, in_the_middle_of_a_fork, 60)
{
	int told[2], theirs = -1, fd;
	struct uffd_msg message;
	struct kmod_target *child;
	pid_t pid;

	ASSERT_EQ(0, pipe2(told, O_CLOEXEC));
	pid = fork();
	if (!pid) {
		char *page;
		pid_t made;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fd = wait_for_others(&page, UFFD_FEATURE_EVENT_FORK);
		if (write(told[1], &fd, sizeof(fd)) != sizeof(fd))
			_exit(1);
		close(self->session.fd);
		made = fork();
		if (!made)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		else if (write(told[1], &made, sizeof(made)) != sizeof(made))
			_exit(1);
		sleep_on();
	}
	ASSERT_EQ(sizeof(theirs), read(told[0], &theirs, sizeof(theirs)));
	fd = take_descriptor(pid, theirs);
	ASSERT_LE(0, fd);
	/*
	 * At this point in the fork, the child has hardly any mappings. Wait until /proc shows that the parent is
	 * blocked in fork().
	 */
	for (int i = 0; i < 10000 && !waits_in_fork(pid); i++)
		usleep(1000);
	ASSERT_TRUE(waits_in_fork(pid));

	ASSERT_EQ(0, kmod_session_attach(self->session.fd, pid));
	kmod_session_read(&self->session, kmod_model_apply, &self->model);
	EXPECT_EQ(0, self->model.records[MASSIF_REC_FORK]);
	EXPECT_TRUE(equals_maps(&self->model.targets[0], pid));
	ASSERT_TRUE(await(fd, UFFD_EVENT_FORK, &message));
	ASSERT_EQ(sizeof(theirs), read(told[0], &theirs, sizeof(theirs)));
	wait_for_record(&self->session, &self->model, MASSIF_REC_FORK);
	EXPECT_EQ(1, self->model.records[MASSIF_REC_FORK]);
	for (int i = 0; i < 10000 && self->model.records[MASSIF_REC_RESYNC_END] < 2; i++) {
		kmod_session_read(&self->session, kmod_model_apply, &self->model);
		usleep(1000);
	}
	child = kmod_model_find(&self->model, theirs, 0);
	ASSERT_NE(NULL, child);
	EXPECT_TRUE(equals_maps(child, theirs));
	kill(theirs, SIGKILL);
	end(pid);
	EXPECT_EQ(0, kmod_session_drain(&self->session, 10000, kmod_model_apply, &self->model));
	EXPECT_EQ(2, self->model.records[MASSIF_REC_EXIT]);
	EXPECT_EQ(0, self->model.wrong + self->model.gaps + self->model.lost) {
		TH_LOG("%s", self->model.first_wrong);
	}
	close(message.arg.fork.ufd);
	close(fd);
	close(told[0]);
	close(told[1]);
}

/* A process can be attached to in any state, and its children and the programs they execute are followed. */
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
				kmod_session_read(&session, kmod_model_apply, &model);
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

/* The EXEC record contains the path, and the ARGS record the arguments. */
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

TEST_F_TIMEOUT(attach, detaching_leaves_nothing, 120)
{
	pid_t pid = start(map_in_threads);

	if (access("/sys/kernel/debug/kprobes/list", F_OK) &&
	    system("mount -t debugfs none /sys/kernel/debug"))
		TH_LOG("no debugfs");
	usleep(50000);
	ASSERT_EQ(0, kmod_session_attach(self->session.fd, pid));
	EXPECT_TRUE(kernel_has_our_hooks());
	EXPECT_LE(1, module_users());
	kmod_session_close(&self->session);
	EXPECT_FALSE(kernel_has_our_hooks());
	/* A thread does its pending work when it next returns from a system call. */
	for (unsigned int i = 0; i < 3000 * patience() && module_users(); i++)
		usleep(20000);
	EXPECT_EQ(0, module_users());
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	/* The process can be attached to again after the session has ended. */
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, STACK));
	EXPECT_EQ(0, kmod_session_attach(self->session.fd, pid));
	end(pid);
}

TEST_HARNESS_MAIN
