/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads the names of one object in a child process that has no rights (base/confine.h), one child for each object:
 * what a hostile file can do there is to make up its own names, crash, or take its time.
 *
 * The child asks us to open files (opener.h), and we ask it for names (wire.h); it has nothing else to do with the
 * world. Its patience is ours: if it is silent for too long, it is ended.
 *
 * Of one parser, one thread at a time.
 */
#ifndef MASSIF_SYMBOLS_PARSER_H
#define MASSIF_SYMBOLS_PARSER_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/object.h"
#include "symbols/reader.h"
#include "symbols/sources.h"

#define MF_PARSER_PATIENCE_S 120 /* for all answers of one object together */

struct mf_parser_options {
	struct mf_reader_options reader;
	unsigned int patience_ms; /* 0: MF_PARSER_PATIENCE_S */
	bool unconfined; /* read in this process: for fuzzers, and to compare */
};

struct mf_parser;

/* What is known of the object's files once the first question was answered. */
struct mf_parser_state {
	bool is_open;	 /* the rest is known */
	bool readable;	 /* the object's file is there, and it is that one */
	bool shares;	 /* some of its names are in a file that is not among the sources */
	bool lost;	 /* it answers no more: @why */
	const char *why; /* some or all names are lost; NULL: they are not */
	unsigned int confined; /* MF_CONFINED_*; MF_CONFINED_ALL also if there is no child */
	const struct mf_sources *sources;
};

/* @object must outlive it. NULL: memory is short. Nothing is started or opened yet. */
struct mf_parser *mf_parser_create(const struct mf_object *object, const struct mf_parser_options *options);
void mf_parser_destroy(struct mf_parser *parser); /* NULL is allowed */

/* Ends its process, which is started again when there is another question. */
void mf_parser_rest(struct mf_parser *parser);
bool mf_parser_is_resting(const struct mf_parser *parser);

/* Answers question @number. @state is complete. */
typedef void mf_parser_hear(void *data, size_t number, const struct mf_reader_answer *answer);

/* Asks @n questions; @hear is called for each, in their order, as far as they are answered. */
void mf_parser_ask(struct mf_parser *parser, const struct mf_reader_question *questions, size_t n,
		   mf_parser_hear *hear, void *data);

const struct mf_parser_state *mf_parser_state(const struct mf_parser *parser);

/* What of MF_CONFINED_ALL such a child gives up here; or -errno if none can be started. */
int mf_parser_probe(void);

#endif
