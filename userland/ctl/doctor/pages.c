// SPDX-License-Identifier: GPL-2.0
// Checks what pages mode needs: a kernel that can load massif.ko, the module's device and hooks, and the necessary
// permissions.

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/own_path.h"
#include "doctor.h"
#include "kernel_options.h"

static void look_at_machine(struct mf_patient *patient, struct mf_finding *finding)
{
	struct utsname name;

	uname(&name);
	if (strcmp(name.machine, "x86_64") != 0) {
		mf_finding_set(finding, MF_HEALTH_BAD, "massif.ko is for x86_64 only, this is %s",
			       name.machine);
	} else if (strstr(name.version, "PREEMPT_RT")) {
		mf_finding_set(finding, MF_HEALTH_BAD,
			       "%s, Linux %s has PREEMPT_RT, which massif.ko does not support", name.machine,
			       name.release);
		mf_finding_advise(finding, "boot a kernel without it; heap mode works on this one, too");
	} else {
		mf_finding_set(finding, MF_HEALTH_OK, "%s, Linux %s", name.machine, name.release);
	}
}

static bool exists(const char *format, const char *release)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), format, release);
	return access(path, F_OK) == 0;
}

/* Finds a massif.ko for this kernel. */
static void find_module(struct mf_patient *patient, const char *release)
{
	static const char *const installed[] = {
		"/lib/modules/%s/updates/massif.ko", "/lib/modules/%s/extra/massif.ko",
		"/lib/modules/%s/updates/dkms/massif.ko", "/lib/modules/%s/updates/massif.ko.xz",
	};
	char self[PATH_MAX];

	for (size_t i = 0; i < sizeof(installed) / sizeof(installed[0]); i++) {
		if (!exists(installed[i], release))
			continue;
		patient->modprobe = true;
		if (asprintf(&patient->module, installed[i], release) < 0)
			patient->module = NULL;
		return;
	}
	if (mf_own_path(self))
		return;
	*strrchr(self, '/') = '\0';
	if (asprintf(&patient->module, "%s/kmod/%s/massif.ko", self, release) < 0)
		patient->module = NULL;
	else if (access(patient->module, F_OK))
		free(mf_take(patient->module, NULL));
}

static void look_for_module(struct mf_patient *patient, struct mf_finding *finding)
{
	mf_auto_free char *version = mf_doctor_read_line("/sys/module/massif/version");
	struct utsname name;

	uname(&name);
	find_module(patient, name.release);
	patient->loaded = access("/sys/module/massif", F_OK) == 0;
	if (patient->loaded && version && strcmp(version, MASSIF_VERSION) == 0) {
		mf_finding_set(finding, MF_HEALTH_OK, "massif.ko %s is loaded", version);
	} else if (patient->loaded) {
		/*
		 * It is not an error in itself if massif.ko and massif-ctl differ in version: look_at_session() checks
		 * whether their protocol versions match.
		 */
		mf_finding_set(finding, MF_HEALTH_NOTE,
			       "massif.ko %s is loaded, and this is massif-ctl %s",
			       version ? version : "of an unknown version", MASSIF_VERSION);
		mf_finding_advise(finding, "rmmod massif, then load the massif.ko that was built with "
					   "this massif-ctl");
	} else if (patient->module) {
		mf_finding_set(finding, MF_HEALTH_BAD, "massif.ko is available, but not loaded");
		if (patient->modprobe)
			mf_finding_advise(finding, "as root: modprobe massif");
		else
			mf_finding_advise(finding, "as root: insmod %.400s", patient->module);
	} else {
		mf_finding_set(finding, MF_HEALTH_BAD,
			       "massif.ko is not loaded, and not built for this kernel");
		mf_finding_advise(finding,
				  "in massif's source directory: make modules; then as root: insmod "
				  "build/kmod/%s/massif.ko",
				  name.release);
	}
}

static void look_for_headers(struct mf_patient *patient, struct mf_finding *finding)
{
	struct utsname name;

	uname(&name);
	if (exists("/lib/modules/%s/build/Makefile", name.release)) {
		mf_finding_set(finding, MF_HEALTH_OK, "/lib/modules/%s/build", name.release);
		return;
	}
	mf_finding_set(finding, MF_HEALTH_NOTE, "the kernel's headers are not installed%s",
		       patient->loaded ? "; the module is loaded nevertheless" : "");
	if (!patient->loaded && !patient->module)
		mf_finding_advise(finding,
				  "as root: apt-get install linux-headers-%s (for a Debian kernel)",
				  name.release);
}

static void look_at_configuration(struct mf_patient *patient, struct mf_finding *finding)
{
	struct utsname name;

	uname(&name);
	mf_kernel_options_check("", name.release, patient->loaded, finding);
}

/*
 * Copies the word in brackets from @line to @word: in a line like "none [integrity] confidentiality", the kernel
 * encloses the current setting in brackets.
 */
static void choose_word(const char *line, char word[32])
{
	const char *start = strchr(line, '[');

	snprintf(word, 32, "%.*s", start ? (int)strcspn(start + 1, "]") : 0,
		 start ? start + 1 : "");
}

/*
 * Reports that the kernel refuses unsigned modules or, if the module is already loaded, that it is loaded nevertheless.
 * @text names the reason for the refusal.
 */
static void keep_out(const struct mf_patient *patient, struct mf_finding *finding,
		     const char *text)
{
	mf_finding_set(finding, patient->loaded ? MF_HEALTH_OK : MF_HEALTH_NOTE, "%s%s", text,
		       patient->loaded ? "; the module is loaded nevertheless" :
					 ": the kernel loads signed modules only");
	if (!patient->loaded)
		mf_finding_advise(finding,
				  "sign massif.ko with a key that the kernel trusts (kmodsign, "
				  "mokutil --import),\nor turn secure boot off in the firmware");
}

static void look_at_lockdown(struct mf_patient *patient, struct mf_finding *finding)
{
	mf_auto_free char *line = mf_doctor_read_line("/sys/kernel/security/lockdown");
	char text[64], word[32];

	if (!line) {
		mf_finding_set(finding, MF_HEALTH_OK,
			       "unknown (no /sys/kernel/security/lockdown)");
		return;
	}
	choose_word(line, word);
	snprintf(text, sizeof(text), "lockdown is %s", word);
	if (strcmp(word, "none") == 0)
		mf_finding_set(finding, MF_HEALTH_OK, "%s", text);
	else
		keep_out(patient, finding, text);
}

static void look_at_secure_boot(struct mf_patient *patient, struct mf_finding *finding)
{
	static const char path[] = "/sys/firmware/efi/efivars/"
				   "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
	mf_auto_free char *enforced = mf_doctor_read_line("/sys/module/module/parameters/sig_enforce");
	mf_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char value[5] = { 0 };
	bool on = fd >= 0 && read(fd, value, sizeof(value)) == (ssize_t)sizeof(value) && value[4];

	if (enforced && *enforced == 'Y')
		keep_out(patient, finding, "modules must be signed (module.sig_enforce)");
	else if (on)
		keep_out(patient, finding, "secure boot is on");
	else
		mf_finding_set(finding, MF_HEALTH_OK, "secure boot is off or not available");
}

static void look_at_device(struct mf_patient *patient, struct mf_finding *finding)
{
	mf_auto_close int fd = -1;
	struct passwd *user;
	struct group *group;
	char owner[80];
	struct stat st;

	if (!patient->loaded && access(MASSIF_DEVICE, F_OK)) {
		mf_finding_set(finding, MF_HEALTH_OPEN, "%s appears when the module is loaded", MASSIF_DEVICE);
		return;
	}
	if (stat(MASSIF_DEVICE, &st)) {
		mf_finding_set(finding, MF_HEALTH_BAD, "%s: %s", MASSIF_DEVICE, strerror(errno));
		mf_finding_advise(finding, "devtmpfs or udev should have created it; see "
					   "/sys/class/misc/massif/dev for its numbers");
		return;
	}
	user = getpwuid(st.st_uid);
	group = getgrgid(st.st_gid);
	snprintf(owner, sizeof(owner), "%.30s:%.30s", user ? user->pw_name : "?",
		 group ? group->gr_name : "?");
	fd = open(MASSIF_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		mf_finding_set(finding, MF_HEALTH_OK, "%s is %s %04o, and this user may open it",
			       MASSIF_DEVICE, owner, st.st_mode & 07777);
		return;
	}
	mf_finding_set(finding, MF_HEALTH_BAD, "%s is %s %04o, and this user may not open it: %s",
		       MASSIF_DEVICE, owner, st.st_mode & 07777, strerror(errno));
	if (group && strcmp(group->gr_name, "massif") == 0)
		mf_finding_advise(finding, "as root: adduser USER massif, and log in again; or run "
					   "massif-ctl as root");
	else
		mf_finding_advise(finding, "run massif-ctl as root; or install the udev rule and "
					   "group massif\n(make modules_install), reload the module, "
					   "and adduser USER massif");
}

/* Opens a session of minimal size to test whether the hooks work. */
static void look_at_session(struct mf_patient *patient, struct mf_finding *finding)
{
	const struct mf_ring_setup setup = { .ring_bytes = 1 << 20, .stack_bytes = 4096 };
	struct mf_error err;

	if (access(MASSIF_DEVICE, R_OK | W_OK)) {
		mf_finding_set(finding, MF_HEALTH_OPEN, "needs the device");
		return;
	}
	if (mf_ring_open(&patient->ring, MASSIF_DEVICE, &setup, &err)) {
		mf_finding_set(finding, MF_HEALTH_BAD, "%s", err.text);
		return;
	}
	patient->session = true;
	mf_finding_set(finding, MF_HEALTH_OK, "protocol %u; hooks are armed and tested", MASSIF_ABI);
}

static void look_at_hooks(struct mf_patient *patient, struct mf_finding *finding)
{
	static const char *const kinds[] = {
		[MASSIF_HOOK_DETOUR] = "detour",
		[MASSIF_HOOK_KRETPROBE] = "kretprobe",
		[MASSIF_HOOK_TRACEPOINT] = "tracepoint",
	};
	struct massif_hook_info info = { .size = sizeof(info) };
	unsigned int count = 0;
	size_t used = 0;

	if (!patient->session) {
		mf_finding_set(finding, MF_HEALTH_OPEN, "need a session");
		return;
	}
	for (; !ioctl(patient->ring.fd, MASSIF_IOC_HOOK, &info); info.index++, count++) {
		const char *kind = info.kind < sizeof(kinds) / sizeof(kinds[0]) ? kinds[info.kind] :
										  NULL;
		int n;

		info.name[sizeof(info.name) - 1] = '\0';
		n = snprintf(finding->advice + used, sizeof(finding->advice) - used,
			     "%s%s: %s%s%s", count ? "\n" : "", info.name, kind ? kind : "?",
			     info.state & MASSIF_HOOK_COMPARED ? ", arguments as expected" : "",
			     info.state & MASSIF_HOOK_FIRED ? ", fired in a test" : "");
		used += (size_t)n < sizeof(finding->advice) - used ? (size_t)n : 0;
	}
	mf_finding_set(finding, MF_HEALTH_OK, "%u are armed", count);
}

static bool has_capability(unsigned int capability)
{
	mf_auto_fclose FILE *status = fopen("/proc/self/status", "re");
	mf_auto_free char *line = NULL;
	uint64_t effective = 0;
	size_t room = 0;

	while (status && getline(&line, &room, status) > 0)
		if (sscanf(line, "CapEff: %" SCNx64, &effective) == 1)
			break;
	return effective >> capability & 1;
}

static void look_at_rights(struct mf_patient *patient, struct mf_finding *finding)
{
	if (has_capability(CAP_SYS_PTRACE)) {
		mf_finding_set(finding, MF_HEALTH_OK,
			       "this user may profile and attach to all processes (CAP_SYS_PTRACE)");
	} else {
		mf_finding_set(finding, MF_HEALTH_NOTE,
			       "this user may profile the programs that it starts, and attach to its own "
			       "processes if they are dumpable");
		mf_finding_advise(finding, "for others: run massif-ctl as root, or with CAP_SYS_PTRACE");
	}
}

static void try_it(struct mf_patient *patient, struct mf_finding *finding)
{
	if (patient->session)
		mf_doctor_try("--pages-as-heap=yes", finding);
	else
		mf_finding_set(finding, MF_HEALTH_OPEN, "needs all of the above");
}

const struct mf_check mf_doctor_pages[] = {
	{ "machine", look_at_machine },
	{ "module", look_for_module },
	{ "headers", look_for_headers },
	{ "configuration", look_at_configuration },
	{ "lockdown", look_at_lockdown },
	{ "secure boot", look_at_secure_boot },
	{ "device", look_at_device },
	{ "session", look_at_session },
	{ "hooks", look_at_hooks },
	{ "rights", look_at_rights },
	{ "trial", try_it },
};

const size_t mf_doctor_n_pages = sizeof(mf_doctor_pages) / sizeof(mf_doctor_pages[0]);
