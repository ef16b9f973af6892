/* SPDX-License-Identifier: GPL-2.0 */
/* A small consumer of /dev/massif for tests. It shares no code with massif-ctl. */
#ifndef MASSIF_SELFTESTS_KMOD_SESSION_H
#define MASSIF_SELFTESTS_KMOD_SESSION_H

#include <linux/massif.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kmod_session {
	int fd;
	struct massif_control *control;
	struct massif_consumer *consumer;
	uint8_t *data;
	uint64_t bytes;
	/* position in the ring up to which records were read; kmod_session_release() writes it to the consumer page */
	uint64_t tail;
};

/* All functions return 0 or -errno unless stated otherwise. */
int kmod_session_open(struct kmod_session *session, uint64_t ring_bytes, uint32_t max_stack);
/* Fills in size and abi of @setup. */
int kmod_session_open_as(struct kmod_session *session, struct massif_setup *setup);
void kmod_session_close(struct kmod_session *session);
/*
 * Raises the memory-lock limit of the calling process, which must still be root, to the default of Linux 5.16 and
 * later; the earlier default was 64 KiB.
 */
int kmod_session_allow(void);
/*
 * Switches the calling process, which must still be root, to user 1000 and drops its privileges. Makes the device
 * accessible to everybody, but only as seen by this process and its children. Returns 0 or -errno.
 */
int kmod_session_be_user(void);
int kmod_session_map(struct kmod_session *session, uint64_t ring_bytes);

int kmod_session_status(struct kmod_session *session, struct massif_status *status);
int kmod_session_tell(struct kmod_session *session, const void *stacks, uint32_t bytes);
int kmod_session_resync(struct kmod_session *session, uint32_t *remaining);

/* Makes the session that @fd refers to attach to the running process @pid. */
int kmod_session_attach(int fd, pid_t pid);
/* Enrols the calling process in the session that @fd refers to. */
int kmod_session_enrol(int fd);

/*
 * Starts @argv in a child that enrols itself first. Returns the child's pid or -errno. The child exits with status 126
 * if it cannot enrol, and 127 if it cannot exec.
 */
pid_t kmod_session_spawn(struct kmod_session *session, char *const argv[]);
/*
 * Calls @run in a child that first enrols itself in the session. The result of @run is the child's exit status. Returns
 * the child's pid or -errno.
 */
pid_t kmod_session_call(struct kmod_session *session, int (*run)(void *arg), void *arg);

/* Returns the next record, or NULL if there is none yet. It is valid until kmod_session_release(). */
const struct massif_record *kmod_session_next(struct kmod_session *session);
/* Releases the ring space of all records that have been read. */
void kmod_session_release(struct kmod_session *session);

/* Calls each() for every record that is in the ring now, and releases the records. Ignores what each() returns. */
void kmod_session_read(struct kmod_session *session, int (*each)(const struct massif_record *rec, void *arg),
		       void *arg);
/*
 * Calls each() for every record until the module reports that no process and no target is left, and then returns 0. If
 * each() returns non-zero, stops and returns that value. Returns -ETIMEDOUT after timeout_ms times MASSIF_PATIENCE.
 * each() must not keep pointers to records.
 */
int kmod_session_drain(struct kmod_session *session, int timeout_ms,
		       int (*each)(const struct massif_record *rec, void *arg), void *arg);

#endif
