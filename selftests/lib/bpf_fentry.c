// SPDX-License-Identifier: GPL-2.0
// Attaches an empty BPF program to the entry of a kernel function, without libbpf.
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "selftests/lib/bpf_fentry.h"

/*
 * For each kind of BTF type, the sizes of the data that follow the type: of the fixed part, and of the part per member.
 */
static const struct {
	uint8_t once, each;
} follows[] = {
	[BTF_KIND_INT]		= { 4, 0 },
	[BTF_KIND_ARRAY]	= { sizeof(struct btf_array), 0 },
	[BTF_KIND_STRUCT]	= { 0, sizeof(struct btf_member) },
	[BTF_KIND_UNION]	= { 0, sizeof(struct btf_member) },
	[BTF_KIND_ENUM]		= { 0, sizeof(struct btf_enum) },
	[BTF_KIND_FUNC_PROTO]	= { 0, sizeof(struct btf_param) },
	[BTF_KIND_VAR]		= { sizeof(struct btf_var), 0 },
	[BTF_KIND_DATASEC]	= { 0, sizeof(struct btf_var_secinfo) },
	[BTF_KIND_DECL_TAG]	= { sizeof(struct btf_decl_tag), 0 },
	[BTF_KIND_ENUM64]	= { 0, sizeof(struct btf_enum64) },
};

/* Returns the BTF type id of @function in @data. */
static int find(const char *data, size_t size, const char *function)
{
	const struct btf_header *header = (const void *)data;
	const char *names = data + header->hdr_len + header->str_off;
	const char *at = data + header->hdr_len + header->type_off;
	const char *end = at + header->type_len;
	int id = 0;

	if (size < sizeof(*header) || header->magic != BTF_MAGIC ||
	    end > data + size || names + header->str_len > data + size)
		return -EINVAL;
	while (at < end) {
		const struct btf_type *type = (const void *)at;
		unsigned int kind = BTF_INFO_KIND(type->info);

		id++;
		if (kind == BTF_KIND_FUNC && !strcmp(names + type->name_off, function))
			return id;
		at += sizeof(*type);
		if (kind < sizeof(follows) / sizeof(follows[0]))
			at += follows[kind].once + follows[kind].each * BTF_INFO_VLEN(type->info);
	}
	return -ENOENT;
}

static int find_in_kernel(const char *function)
{
	int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC), id = -ENOENT;
	size_t got = 0;
	struct stat st;
	char *data;

	if (fd < 0)
		return -ENOENT;
	data = !fstat(fd, &st) ? malloc(st.st_size) : NULL;
	while (data && got < (size_t)st.st_size) {
		ssize_t n = read(fd, data + got, st.st_size - got);

		if (n <= 0)
			break;
		got += n;
	}
	if (data)
		id = find(data, got, function);
	free(data);
	close(fd);
	return id;
}

static int bpf(int cmd, union bpf_attr *attr)
{
	int fd = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return fd < 0 ? -errno : fd;
}

int bpf_fentry(const char *function)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_TRACING,
		.expected_attach_type = BPF_TRACE_FENTRY,
		.insns = (uintptr_t)insns,
		.insn_cnt = 2,
		.license = (uintptr_t)"GPL",
	};
	/*
	 * Before Linux 5.11, BPF programs count towards RLIMIT_MEMLOCK, even for root, and so do the rings of sessions.
	 */
	const struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	int id = find_in_kernel(function), program, link;

	if (id < 0)
		return id;
	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		return -errno;
	attr.attach_btf_id = id;
	program = bpf(BPF_PROG_LOAD, &attr);
	if (program < 0)
		return program;
	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.prog_fd = program;
	link = bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
	close(program);
	return link;
}
