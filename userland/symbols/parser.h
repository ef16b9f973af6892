/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads the names of one object in an unprivileged child process (base/confine.h). There is one child per object, so a
 * hostile file can only fake its own names, crash its child, or waste time.
 *
 * The child asks this process to open files (opener.h), and this process asks the child for names (wire.h). The child
 * cannot communicate with any other process. If it does not answer in time, it is killed.
 *
 * Only one thread at a time may use a parser.
 */
#ifndef MASSIF_SYMBOLS_PARSER_H
#define MASSIF_SYMBOLS_PARSER_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/object.h"
#include "symbols/reader.h"
#include "symbols/search.h"
#include "symbols/sources.h"

#define MF_PARSER_PATIENCE_S 120 /* total time limit for all answers about one object */

struct mf_parser_options {
	struct mf_reader_options reader;
	const struct mf_search *search; /* where else files are looked for; may be NULL; must outlive the parser */
	unsigned int patience_ms; /* total time limit for all answers in ms; 0: MF_PARSER_PATIENCE_S */
	bool unconfined; /* read the files in this process instead of in a child; for fuzzers and for comparison */
};

struct mf_parser;

/*
 * The result of opening the object's files, and whether the parser has failed since then. The result is known once the
 * parser has given its first answer or has failed; until then, @is_open is false.
 */
struct mf_parser_state {
	bool is_open;	 /* opening was attempted, so the other fields are valid */
	bool readable;	 /* the object's file or a debug file exists, and is that of what was mapped */
	unsigned int found; /* MF_IMAGE_*: what the files have */
	bool shares;	 /* some names come from a file that is not listed in @sources */
	bool lost;	 /* the parser no longer answers; @why gives the reason */
	const char *why; /* why some or all names are missing, or NULL if none are */
	unsigned int confined; /* MF_CONFINED_*: privileges that the child dropped; MF_CONFINED_ALL if there is no
			        * child */
	const struct mf_sources *sources;
};

/*
 * Creates a parser, without starting a process or opening a file. @object must outlive it. Returns NULL if out of
 * memory.
 */
struct mf_parser *mf_parser_create(const struct mf_object *object, const struct mf_parser_options *options);
void mf_parser_destroy(struct mf_parser *parser); /* @parser may be NULL */

/* Ends the child process. The next call to mf_parser_ask() starts a new one. */
void mf_parser_rest(struct mf_parser *parser);

/* Returns true if no child process is running. */
bool mf_parser_is_resting(const struct mf_parser *parser);

/*
 * Called with the answer to questions[@number], where @questions is the array passed to mf_parser_ask(). @answer is
 * valid only during the call.
 */
typedef void mf_parser_answered(void *data, size_t number, const struct mf_reader_answer *answer);

/*
 * Asks the parser @n questions about addresses in the object. Calls @answered with each answer, in the order of the
 * questions; if the child process fails, some answers are missing.
 */
void mf_parser_ask(struct mf_parser *parser, const struct mf_reader_question *questions, size_t n,
		   mf_parser_answered *answered, void *data);

/* Returns what is known about the object's files; the result belongs to the parser. */
const struct mf_parser_state *mf_parser_state(const struct mf_parser *parser);

/*
 * Starts a child to find out which privileges of MF_CONFINED_ALL it can drop on this system. Returns those that it
 * dropped, or -errno if no child can be started.
 */
int mf_parser_probe(void);

#endif
