// SPDX-License-Identifier: GPL-2.0
// Checks what heap mode needs: that the shim exists, that there is memory for a profile, and that programs load the
// shim.

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/confine.h"
#include "ctl/options/time_units.h"
#include "doctor.h"
#include "ctl/launch/shim.h"
#include "ctl/message/unnamed.h"
#include "model/store.h"
#include "symbols/parser.h"

static void look_for_shim(struct mf_patient *patient, struct mf_finding *finding)
{
	mf_auto_free char *path = NULL;
	struct mf_error err;

	if (mf_shim_find(&path, &err))
		mf_finding_set(finding, MF_HEALTH_BAD, "%s", err.text);
	else
		mf_finding_set(finding, MF_HEALTH_OK, "%s", path);
}

static void look_at_memory(struct mf_patient *patient, struct mf_finding *finding)
{
	struct mf_store store;
	struct mf_error err;
	int fd;

	if (mf_store_create(&store, 0, &fd, &err)) {
		mf_finding_set(finding, MF_HEALTH_BAD, "%s", err.text);
		return;
	}
	mf_store_detach(&store);
	close(fd);
	mf_finding_set(finding, MF_HEALTH_OK, "there is enough memory for a profile");
}

static void try_it(struct mf_patient *patient, struct mf_finding *finding)
{
	mf_doctor_try("--heap=yes", finding);
	if (finding->health != MF_HEALTH_OK)
		mf_finding_advise(finding, "LD_PRELOAD must work: check whether "
					   "LD_PRELOAD=libmassif-preload.so /bin/true prints an error");
}

/* Checks how well the process that reads debug information is confined. Both modes use such a process. */
static void look_at_confinement(struct mf_patient *patient, struct mf_finding *finding)
{
	int confined = mf_parser_probe();

	if (confined == MF_CONFINED_ALL)
		mf_finding_set(finding, MF_HEALTH_OK, "debug information is read by processes without "
						      "privileges");
	else if (confined >= 0)
		mf_finding_set(finding, MF_HEALTH_NOTE,
			       "debug information is read by a process with more privileges than it needs: %s",
			       mf_unnamed_what_is_loose((unsigned int)confined));
	else
		mf_finding_set(finding, MF_HEALTH_NOTE, "cannot start a process to read debug information: %s",
			       strerror(-confined));
	if (confined != MF_CONFINED_ALL && geteuid() == 0)
		mf_finding_advise(finding, "do not profile processes of untrusted users on this machine");
}

static void look_at_counters(struct mf_patient *patient, struct mf_finding *finding)
{
	struct mf_error err;

	if (!mf_clock_probe_instructions(&err)) {
		mf_finding_set(finding, MF_HEALTH_OK, "--time-unit=i is available");
		return;
	}
	mf_finding_set(finding, MF_HEALTH_NOTE, "%s", err.text);
	mf_finding_advise(finding, "time is in ms, or with --time-unit=B in bytes");
}

const struct mf_check mf_doctor_heap[] = {
	{ "shim", look_for_shim },
	{ "memory", look_at_memory },
	{ "preloading", try_it },
	{ "names", look_at_confinement },
	{ "instructions", look_at_counters },
};

const size_t mf_doctor_n_heap = sizeof(mf_doctor_heap) / sizeof(mf_doctor_heap[0]);
