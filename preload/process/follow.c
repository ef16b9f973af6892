// SPDX-License-Identifier: GPL-2.0
// Follows programs that are executed with a new environment, for example by env -i.

#include "follow.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "library_list.h"
#include "protocol/join.h"
#include "core/readable.h"
#include "core/seccomp.h"

#define PRELOAD "LD_PRELOAD="
#define SESSION MF_JOIN_VARIABLE "="

/* Copies of massif-ctl's variables, with name and value, because the program may overwrite its environment. */
/* the string "LD_PRELOAD=..."; empty if executed programs are not followed */
static char preload[sizeof(PRELOAD) + PATH_MAX];
static char session[sizeof(SESSION) + 1 + MF_JOIN_NAME_MAX + 1 + MF_JOIN_SECRET_DIGITS + 1];

static bool begins(const char *word, const char *name)
{
	return !strncmp(word, name, strlen(name));
}

void mf_follow_start(const char *shim, const char *session_value)
{
	if (strlen(shim) >= PATH_MAX || strlen(session_value) >= sizeof(session) - sizeof(SESSION))
		return;
	stpcpy(stpcpy(session, SESSION), session_value);
	strcpy(preload + strlen(PRELOAD), shim);
	memcpy(preload, PRELOAD, strlen(PRELOAD));
}

bool mf_follow_is_on(void)
{
	return preload[0];
}

static const char *shim(void)
{
	return preload + strlen(PRELOAD);
}

/* Returns where the shim is in a string that sets LD_PRELOAD, or NULL. */
static char *has_us(char *word)
{
	return mf_library_list_find(word + strlen(PRELOAD), shim());
}

/*
 * massif-ctl's variables in an environment, and the total number of variables. If LD_PRELOAD is set more than once, the
 * last one counts.
 */
struct found {
	/* The strings that set LD_PRELOAD and MASSIF_SESSION. NULL if the variable is not set. */
	char *preload, *session;
	size_t n;
};

static struct found find(char *const *environment)
{
	struct found found = { NULL, NULL, 0 };

	for (; environment && environment[found.n]; found.n++) {
		if (begins(environment[found.n], PRELOAD))
			found.preload = environment[found.n];
		else if (begins(environment[found.n], SESSION))
			found.session = environment[found.n];
	}
	return found;
}

int mf_follow_find_shim(void)
{
	int saved = errno, ret;
	struct stat status;

	ret = syscall(SYS_newfstatat, AT_FDCWD, shim(), &status, 0) ? -errno : 0;
	errno = saved;
	return ret;
}

/*
 * Returns whether the executed program must start without the shim: because it cannot load the shim (@without), because
 * it inherits restrictions of system calls and so could not request a session from massif-ctl, or because the shim's
 * file cannot be reached. In the last case, the dynamic linker would print a warning; massif-ctl tells the user instead
 * (mf_join_leaves()).
 */
static bool must_leave(bool without)
{
	return without || mf_seccomp_is_on() || mf_follow_find_shim();
}

size_t mf_follow_room(char *const *environment, bool without)
{
	struct found found;

	/* If the environment is unreadable, the exec will fail, so nothing is added. */
	if (!preload[0] || (environment && !mf_readable_texts(environment)))
		return 0;
	found = find(environment);
	if (found.preload && has_us(found.preload) && found.session && !must_leave(without))
		return 0;
	/* Room for both results of mf_follow_add(), which asks again. */
	return (found.n + 3) * sizeof(char *) + strlen(preload) + 2 +
	       (found.preload ? strlen(found.preload) : 0);
}

/* Returns a copy of @environment without massif-ctl's variables; the user's own LD_PRELOAD entries stay. */
static char *const *leave(char *const *environment, const struct found *found, char **words)
{
	char *text = (char *)(words + found->n + 1);
	size_t used = 0;

	for (size_t i = 0; i < found->n; i++) {
		char *word = environment[i];

		if (begins(word, SESSION))
			continue;
		if (word == found->preload && has_us(word)) {
			if (!strcmp(word, preload))
				continue;
			word = strcpy(text, word);
			mf_library_list_remove(word + strlen(PRELOAD), has_us(word));
		}
		words[used++] = word;
	}
	words[used] = NULL;
	return words;
}

char *const *mf_follow_add(char *const *environment, void *room, bool without)
{
	struct found found = find(environment);
	char **words = room, *text = (char *)(words + found.n + 3), *end;
	size_t used = 0;

	if (must_leave(without))
		return leave(environment, &found, room);
	words[used++] = text;
	end = stpcpy(text, preload);
	if (found.preload && has_us(found.preload)) {
		words[0] = found.preload;
	} else if (found.preload) {
		/* Append the libraries that the user has put into LD_PRELOAD after the shim. */
		*end++ = ':';
		strcpy(end, found.preload + strlen(PRELOAD));
	}
	words[used++] = session;
	for (size_t i = 0; i < found.n; i++)
		if (!begins(environment[i], SESSION) && !begins(environment[i], PRELOAD))
			words[used++] = environment[i];
	words[used] = NULL;
	return words;
}
