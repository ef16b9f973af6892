/* SPDX-License-Identifier: GPL-2.0 */
/* A test's own small consumer of /dev/massif, independent of the product's. */
#ifndef SELFTESTS_LIB_KMOD_SESSION_H
#define SELFTESTS_LIB_KMOD_SESSION_H

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
	uint64_t tail;		/* read so far; in the consumer page after kmod_session_release */
};

/* All return 0 or -errno. */
int kmod_session_open(struct kmod_session *session, uint64_t ring_bytes, uint32_t max_stack);
/* size and abi of setup are filled in here. */
int kmod_session_open_as(struct kmod_session *session, struct massif_setup *setup);
void kmod_session_close(struct kmod_session *session);
/* The calling process, which is root yet, may lock what Linux lets users lock since 5.16; before it was 64 KiB. */
int kmod_session_allow(void);
/*
 * The calling process, which is root yet, becomes user 1000 without any rights. For it and its children the
 * device may be opened by everybody; nobody else sees a difference. 0 or -errno.
 */
int kmod_session_be_user(void);
int kmod_session_map(struct kmod_session *session, uint64_t ring_bytes);

int kmod_session_status(struct kmod_session *session, struct massif_status *status);
int kmod_session_tell(struct kmod_session *session, const void *stacks, uint32_t bytes);
int kmod_session_resync(struct kmod_session *session, uint32_t *remaining);

/*
 * Starts argv in a child that enrols itself first. Returns its pid or -errno; a child that cannot
 * enrol or exec exits with 126 or 127.
 */
pid_t kmod_session_spawn(struct kmod_session *session, char *const argv[]);
/* The same for a function of the test: the child exits with what it returns. */
pid_t kmod_session_call(struct kmod_session *session, int (*run)(void *arg), void *arg);

/* The next record, NULL if there is none now. It stays valid until kmod_session_release. */
const struct massif_record *kmod_session_next(struct kmod_session *session);
/* Lets the module have all that was read. */
void kmod_session_release(struct kmod_session *session);

/*
 * Reads records with each(), which keeps none, until the module says that no process and no target is
 * left, or timeout_ms pass, MASSIF_PATIENCE times (-ETIMEDOUT), or each() returns non-zero (which is
 * returned).
 */
int kmod_session_drain(struct kmod_session *session, int timeout_ms,
		       int (*each)(const struct massif_record *rec, void *arg), void *arg);

#endif
