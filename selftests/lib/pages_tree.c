// SPDX-License-Identifier: GPL-2.0
// Reads a tree from a massif.out file written in pages mode, and computes separate totals for memory mapped by the
// kernel at exec, memory mapped by ld.so, memory whose stacks reach main, and all other memory.

#include "selftests/lib/pages_tree.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 1024

/* A line of the tree, and whether it is known that the line's stack was called from ld.so's startup code or from main. */
struct line {
	uint64_t bytes;	   /* bytes of the line without those of its child lines in the tree */
	/*
	 * @loader: this line or one of its ancestors in the tree contains the name of one of ld.so's startup functions;
	 * @main: this line is for main or (below main)
	 */
	bool loader, main;
	char text[256];
};

static struct line lines[DEPTH_MAX];

static bool has_any(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strstr(text, *words))
			return true;
	return false;
}

/* Adds the bytes of the stacks that end at @line to the sums. Called when all children of the line have been read. */
static void settle(struct pages_tree *tree, const struct line *line, uint64_t *worst)
{
	if (strstr(line->text, " 0x0: ") == line->text && !strstr(line->text, "[lost]") &&
	    !strstr(line->text, "[no stack]") && !strstr(line->text, "[external]")) {
		tree->exec += line->bytes;
	} else if (line->loader || strstr(line->text, "/ld-linux")) {
		tree->loader += line->bytes;
	} else if (line->main) {
		tree->in_main += line->bytes;
	} else {
		tree->other += line->bytes;
		if (line->bytes > *worst) {
			*worst = line->bytes;
			snprintf(tree->worst, sizeof(tree->worst), "%.255s", line->text);
		}
	}
}

/*
 * Reads a line. Lines are in tree order, beginning with the root, and indented by depth. A stack begins with its
 * innermost frame; the lines below are its callers.
 */
static void take(struct pages_tree *tree, const char *text, int *depth, uint64_t *worst)
{
	static const char *const loader[] = {" _dl_start", " _dl_sysdep_start", NULL};
	static const char *const mains[] = {": main (", ": (below main)", NULL};
	int indent = (int)strspn(text, " "), skip = 0;
	struct line *line = &lines[indent];

	for (; *depth >= indent; (*depth)--)
		if (*depth > 0)
			settle(tree, &lines[*depth], worst);
	*depth = indent;
	*line = (struct line){0};
	if (sscanf(text + indent, "n%*d: %" SCNu64 "%n", &line->bytes, &skip) < 1)
		return;
	snprintf(line->text, sizeof(line->text), "%.255s", text + indent + skip);
	line->text[strcspn(line->text, "\n")] = '\0';
	if (!indent) {
		snprintf(tree->root, sizeof(tree->root), "%.255s", line->text);
		tree->total = line->bytes;
		return;
	}
	line->loader = has_any(line->text, loader) || (indent > 1 && line[-1].loader);
	line->main = has_any(line->text, mains);
	line[-1].bytes -= line->bytes;
}

int pages_tree_read(const char *path, struct pages_tree *tree)
{
	FILE *file = fopen(path, "r");
	uint64_t worst = 0;
	bool inside = false;
	char text[8192];
	int depth = -1;

	memset(tree, 0, sizeof(*tree));
	while (file && fgets(text, sizeof(text), file)) {
		if (!strncmp(text, "heap_tree=", 10) && strncmp(text, "heap_tree=empty", 15)) {
			memset(tree, 0, sizeof(*tree));
			inside = true;
			depth = -1;
			worst = 0;
		} else if (inside && text[strspn(text, " ")] == 'n' &&
			   strspn(text, " ") < DEPTH_MAX) {
			take(tree, text, &depth, &worst);
		} else if (inside) {
			for (; depth > 0; depth--)
				settle(tree, &lines[depth], &worst);
			inside = false;
		}
	}
	for (; inside && depth > 0; depth--)
		settle(tree, &lines[depth], &worst);
	if (file)
		fclose(file);
	return tree->root[0] ? 0 : -1;
}
