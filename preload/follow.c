// SPDX-License-Identifier: GPL-2.0
// Programs that are executed with an environment of their own, as by env -i, are followed, too.

#include "follow.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "base/join.h"

#define PRELOAD "LD_PRELOAD="
#define SESSION MF_JOIN_VARIABLE "="

/* The program may write over what it found. */
static char preload[sizeof(PRELOAD) + PATH_MAX]; /* empty: nothing is followed */
static char session[sizeof(SESSION) + 1 + MF_JOIN_NAME_MAX + 1 + MF_JOIN_SECRET_DIGITS + 1];

static bool begins(const char *word, const char *name)
{
	return !strncmp(word, name, strlen(name));
}

void mf_follow_start(const char *preload_value, const char *session_value)
{
	size_t length = strcspn(preload_value, ":");

	if (length >= PATH_MAX || strlen(session_value) >= sizeof(session) - sizeof(SESSION))
		return;
	stpcpy(stpcpy(session, SESSION), session_value);
	memcpy(preload + strlen(PRELOAD), preload_value, length);
	memcpy(preload, PRELOAD, strlen(PRELOAD));
}

bool mf_follow_is_on(void)
{
	return preload[0];
}

size_t mf_follow_room(char *const *environment)
{
	bool has_preload = false, has_session = false;
	size_t n = 0, theirs = 0;

	if (!preload[0])
		return 0;
	for (; environment && environment[n]; n++) {
		if (begins(environment[n], PRELOAD)) {
			theirs = strlen(environment[n]);
			has_preload = strstr(environment[n], preload + strlen(PRELOAD)) != NULL;
		}
		has_session |= begins(environment[n], SESSION);
	}
	if (has_preload && has_session)
		return 0;
	return (n + 3) * sizeof(char *) + sizeof(preload) + 1 + theirs;
}

char *const *mf_follow_add(char *const *environment, void *room)
{
	char **words = room, *text, *end;
	size_t n = 0, used = 0;

	while (environment && environment[n])
		n++;
	text = (char *)(words + n + 3);
	end = stpcpy(text, preload);
	words[used++] = text;
	words[used++] = session;
	for (size_t i = 0; i < n; i++) {
		if (begins(environment[i], SESSION))
			continue;
		if (!begins(environment[i], PRELOAD)) {
			words[used++] = environment[i];
		} else if (strstr(environment[i], preload + strlen(PRELOAD))) {
			words[0] = environment[i];
		} else {
			/* What they want to have loaded comes behind us. */
			*end++ = ':';
			end = stpcpy(end, environment[i] + strlen(PRELOAD));
		}
	}
	words[used] = NULL;
	return words;
}
