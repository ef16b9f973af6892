// SPDX-License-Identifier: GPL-2.0
// If the prototype of a kernel function is not the one that the module expects, no session can begin.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "selftests/lib/kmod_module.h"
#include "selftests/lib/kmod_session.h"

#define RING	(256 << 10)
#define BTF	"/sys/kernel/btf/vmlinux"

FIXTURE(prototype)
{
	struct kmod_session session;
};

FIXTURE_SETUP(prototype)
{
	self->session.fd = -1;
	kmod_module_unload_soon("massif");
}

FIXTURE_TEARDOWN(prototype)
{
	kmod_module_unload_soon("massif");
}

static const struct {
	const char *expect;
	const char *dead;	/* the hook that SETUP must report as failing; NULL if it must accept the prototype */
} expectations[] = {
	{ "exit_mmap=void(mm_struct *)", NULL },
	{ "exit_mmap=void(*)", NULL },
	{ "exit_mmap=void(...)", NULL },
	{ "exit_mmap=int(mm_struct *)", "exit_mmap" },
	{ "exit_mmap=void(task_struct *)", "exit_mmap" },
	{ "exit_mmap=void(mm_struct **)", "exit_mmap" },
	{ "exit_mmap=void(long)", "exit_mmap" },
	{ "exit_mmap=void()", "exit_mmap" },
	{ "exit_mmap=void(mm_struct *, long)", "exit_mmap" },
	{ "exit_mmap=void(mm_struct *, long, ...)", "exit_mmap" },
	{ "exit_mmap=", "exit_mmap" },
	{ "handle_mm_fault=int(vm_area_struct *, long, int, ...)", NULL },
	{ "handle_mm_fault=int(vm_area_struct *, long, int)", "handle_mm_fault" },
	{ "handle_mm_fault=int(vm_area_struct *, int, int, pt_regs *)", "handle_mm_fault" },
	{ "handle_mm_fault=int(mm_struct *, vm_area_struct *, long, int)", "handle_mm_fault" },
	{ "__mm_populate=int(vm_area_struct *, long, long)", "__mm_populate" },
	{ "ptrace_may_access=int(task_struct *, int)", "ptrace_may_access" },
	{ "task_work_cancel_match=bool(task_struct *, *, *)", "task_work_cancel_match" },
	{ "btf_trace_rss_stat=void(*, vm_area_struct *, ...)", "btf_trace_rss_stat" },
	{ "btf_trace_sched_process_fork=void(*, task_struct *)", "btf_trace_sched_process_fork" },
	/*
	 * The module has no hook on vfs_read(), but it checks the prototype of any kernel function that its parameter
	 * @expect names.
	 */
	{ "vfs_read=long(file *, *, long, *)", NULL },
	{ "vfs_read=long(file *, *, int, *)", "vfs_read" },
	{ "massif_has_no_such_function=void()", NULL },
};

TEST_F_TIMEOUT(prototype, of_another_function_is_refused_by_name, 200)
{
	size_t i;

	if (access(BTF, R_OK))
		SKIP(return, "this kernel has no description of its types");
	for (i = 0; i < sizeof(expectations) / sizeof(expectations[0]); i++) {
		struct massif_setup setup = { .ring_bytes = RING };
		char parameter[256];
		int err;

		snprintf(parameter, sizeof(parameter), "expect=\"%s\"", expectations[i].expect);
		ASSERT_EQ(0, kmod_module_load(parameter));
		err = kmod_session_open_as(&self->session, &setup);
		EXPECT_EQ(expectations[i].dead ? -ENODEV : 0, err) {
			TH_LOG("%s", expectations[i].expect);
		}
		EXPECT_STREQ(expectations[i].dead ?: "", setup.dead_hook);
		if (!err)
			kmod_session_close(&self->session);
		ASSERT_EQ(0, kmod_module_unload_soon("massif"));
	}
}

TEST_F(prototype, of_every_hook_is_compared)
{
	struct massif_hook_info info = { .size = sizeof(info) };
	bool has_types = !access(BTF, R_OK);

	ASSERT_EQ(0, kmod_module_load(""));
	ASSERT_EQ(0, kmod_session_open(&self->session, RING, 0));
	for (; !ioctl(self->session.fd, MASSIF_IOC_HOOK, &info); info.index++) {
		EXPECT_EQ(has_types, !!(info.state & MASSIF_HOOK_COMPARED)) {
			TH_LOG("%s", info.name);
		}
	}
	EXPECT_EQ(ENOENT, errno);
	EXPECT_LT(8, info.index);
	kmod_session_close(&self->session);
}

TEST_HARNESS_MAIN
