/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Drives Chromium without a window, by the DevTools protocol over a pair of pipes: messages in JSON that end with a NUL.
 * Whatever the page asks from elsewhere, and whatever it or the browser complains about, is counted.
 */
#ifndef MASSIF_SELFTESTS_BROWSER_H
#define MASSIF_SELFTESTS_BROWSER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct browser {
	pid_t pid;
	int in, out;	     /* pipes: commands to the browser, its messages */
	char *data;	     /* what was read and is not a whole message yet */
	size_t size, room;
	unsigned int id;     /* of the last command */
	char session[128];   /* the page */
	char *value;	     /* the last result of browser_eval() */
	bool loaded;	     /* the page has been loaded */
	unsigned int requests;	 /* since the page was opened; opening it is one */
	unsigned int complaints; /* errors in the console, exceptions, violations of the page's policy */
	char complaint[512]; /* the last one */
};

/* Returns the reason why there is no browser, or NULL. */
const char *browser_why_not(void);

/* Starts a browser that keeps its files in the directory @home. Returns whether it answers. */
bool browser_start(struct browser *browser, const char *home);
void browser_stop(struct browser *browser);

/* Opens the page @url with a window of @width pixels. Returns the milliseconds until it is loaded, or -1. */
double browser_open(struct browser *browser, const char *url, unsigned int width);

/* The same for a file in the working directory; @fragment is empty, or begins with #. */
double browser_open_file(struct browser *browser, const char *name, const char *fragment, unsigned int width);

/* Sets the width of the window. */
void browser_resize(struct browser *browser, unsigned int width);

/* Makes the page believe that the user prefers dark colours, or that it is printed; "" for neither. */
void browser_media(struct browser *browser, const char *media, const char *scheme);

/* Returns the value of a JavaScript expression as text, valid until the next call; "!" and a message if it fails. */
const char *browser_eval(struct browser *browser, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Moves the pointer to the middle of the first element that @selector finds, and clicks. Returns whether there is one. */
bool browser_click(struct browser *browser, const char *selector);

/* Presses the mouse button at (@x, @y) of the element, moves to (@to, @y) and releases it. */
bool browser_drag(struct browser *browser, const char *selector, double x, double to, double y);

/* Presses and releases a key: "Enter", "ArrowDown", or a character. */
void browser_key(struct browser *browser, const char *key);

/* Returns the number of bytes of the page as a PDF, in base64. */
size_t browser_print(struct browser *browser);

#endif
