/* SPDX-License-Identifier: GPL-2.0 */
/* What massif-ctl doctor looks at: a table for each mode. */
#ifndef MASSIF_CTL_DOCTOR_H
#define MASSIF_CTL_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "pages/ring.h"

enum mf_health {
	MF_HEALTH_OK,
	MF_HEALTH_NOTE, /* something cannot be had, but the mode does its main job */
	MF_HEALTH_BAD,	/* the mode cannot do its main job */
	MF_HEALTH_OPEN, /* cannot be told, because of what was bad before */
};

struct mf_finding {
	enum mf_health health;
	char text[600];	  /* what is the case */
	char advice[1200]; /* what to do about it; empty: nothing */
};

/* What the checks share, in their order. */
struct mf_patient {
	bool loaded;   /* massif.ko */
	bool modprobe; /* it is installed where modprobe finds it */
	char *module;  /* where a massif.ko for this kernel lies; NULL: nowhere known. Owned */
	struct mf_ring ring; /* a session, if one could be had */
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

/* Profiles a small program by this massif-ctl with the option @mode, and looks at the file. */
void mf_doctor_try(const char *mode, struct mf_finding *finding);

/* The first line of @path, to be freed; NULL if it cannot be read. */
char *mf_doctor_read_line(const char *path);

extern const struct mf_check mf_doctor_heap[];
extern const size_t mf_doctor_n_heap;
extern const struct mf_check mf_doctor_pages[];
extern const size_t mf_doctor_n_pages;

#endif
