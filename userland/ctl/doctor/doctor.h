/* SPDX-License-Identifier: GPL-2.0 */
/* The checks of massif-ctl doctor: a table for each mode. */
#ifndef MASSIF_CTL_DOCTOR_H
#define MASSIF_CTL_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "pages/ring.h"

enum mf_health {
	MF_HEALTH_OK,
	MF_HEALTH_NOTE, /* the check found something missing, but the profiling mode can do its main job */
	MF_HEALTH_BAD,	/* the check found that the profiling mode cannot do its main job */
	MF_HEALTH_OPEN, /* the check was not run, because an earlier check failed */
};

struct mf_finding {
	enum mf_health health;
	char text[600];	  /* what the check found */
	char advice[2000]; /* how to fix it; empty if there is nothing to do */
};

/* Data shared by the checks of a mode. The checks run in order. */
struct mf_patient {
	bool loaded;   /* massif.ko is loaded */
	bool modprobe; /* massif.ko is installed where modprobe can find it */
	char *module;  /* path of a massif.ko for this kernel, or NULL if none was found; owned */
	struct mf_ring ring; /* the session opened to test massif.ko; valid if @session is true */
	bool session;
};

struct mf_check {
	const char *name;
	void (*look)(struct mf_patient *patient, struct mf_finding *finding);
};

void mf_finding_set(struct mf_finding *finding, enum mf_health health, const char *text, ...)
	__attribute__((format(printf, 3, 4)));
void mf_finding_advise(struct mf_finding *finding, const char *advice, ...)
	__attribute__((format(printf, 2, 3)));

/* Profiles a small program with this massif-ctl and the option @mode, and checks the output file. */
void mf_doctor_try(const char *mode, struct mf_finding *finding);

/* Returns the first line of @path, which the caller frees; NULL if it cannot be read. */
char *mf_doctor_read_line(const char *path);

extern const struct mf_check mf_doctor_heap[];
extern const size_t mf_doctor_n_heap;
extern const struct mf_check mf_doctor_pages[];
extern const size_t mf_doctor_n_pages;

#endif
