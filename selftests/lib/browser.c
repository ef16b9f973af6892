// SPDX-License-Identifier: GPL-2.0
// Drives Chromium without a window.

#include "selftests/lib/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 60000

/* The browser without a window, or the whole one. */
static const char *const programs[] = {
	"/usr/bin/chromium-headless-shell", "/usr/lib/chromium/chromium-headless-shell", "/usr/bin/chromium",
};

static const char *find_program(void)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (access(programs[i], X_OK) == 0)
			return programs[i];
	return NULL;
}

const char *browser_why_not(void)
{
	return find_program() ? NULL : "chromium-headless-shell is not installed";
}

static double now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

/* Copies the JSON string at @at, without its quotation marks, as text. Returns what the caller frees. */
static char *unquote(const char *at)
{
	char *text = malloc(strlen(at) + 1), *to = text;

	for (at++; *at && *at != '"'; at++) {
		unsigned int code;

		if (*at != '\\') {
			*to++ = *at;
			continue;
		}
		at++;
		if (*at == 'n' || *at == 't') {
			*to++ = *at == 'n' ? '\n' : '\t';
		} else if (*at == 'u' && sscanf(at + 1, "%4x", &code) == 1) {
			*to++ = code < 0x80 ? (char)code : '?';
			at += 4;
		} else {
			*to++ = *at;
		}
	}
	*to = '\0';
	return text;
}

/* Prints @text as a JSON string. */
static void quote(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text; text++) {
		if ((unsigned char)*text < ' ')
			fprintf(out, "\\u%04x", *text);
		else
			fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	}
	putc('"', out);
}

static void complain(struct browser *browser, const char *message)
{
	browser->complaints++;
	snprintf(browser->complaint, sizeof(browser->complaint), "%s", message);
}

/* Takes note of what happens in the page. */
static void notice(struct browser *browser, const char *message)
{
	static const char *const complaints[] = { "Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled",
						  "Page.javascriptDialogOpening" };
	char method[64] = "";

	if (sscanf(message, "{\"method\":\"%63[^\"]\"", method) != 1)
		return;
	browser->loaded |= strcmp(method, "Page.loadEventFired") == 0;
	browser->requests += strcmp(method, "Network.requestWillBeSent") == 0;
	for (size_t i = 0; i < sizeof(complaints) / sizeof(complaints[0]); i++)
		if (strcmp(method, complaints[i]) == 0)
			complain(browser, message);
}

/* Returns the next message, which the caller frees; NULL if none comes in time. */
static char *receive(struct browser *browser)
{
	const double end = now_ms() + PATIENCE_MS;

	for (;;) {
		char *nul = browser->size ? memchr(browser->data, '\0', browser->size) : NULL;
		struct pollfd ready = { browser->out, POLLIN, 0 };
		ssize_t got;

		if (nul) {
			size_t length = (size_t)(nul - browser->data) + 1;
			char *message = malloc(length);

			memcpy(message, browser->data, length);
			browser->size -= length;
			memmove(browser->data, nul + 1, browser->size);
			return message;
		}
		if (browser->room - browser->size < 65536) {
			browser->room = browser->room * 2 + 131072;
			browser->data = realloc(browser->data, browser->room);
		}
		if (now_ms() > end || poll(&ready, 1, (int)(end - now_ms())) != 1)
			return NULL;
		got = read(browser->out, browser->data + browser->size, browser->room - browser->size);
		if (got <= 0)
			return NULL;
		browser->size += (size_t)got;
	}
}

/* Sends a command, whose parameters are the members of an object. Returns the answer, which the caller frees, or NULL. */
static char *command(struct browser *browser, const char *method, const char *format, ...)
{
	char *text = NULL, *parameters = NULL, *message, head[32];
	va_list list;
	bool sent;

	va_start(list, format);
	if (vasprintf(&parameters, format, list) < 0)
		abort();
	va_end(list);
	if (asprintf(&text, "{\"id\":%u,\"method\":\"%s\",\"params\":{%s}%s%s%s}", ++browser->id, method, parameters,
		     *browser->session ? ",\"sessionId\":\"" : "", browser->session, *browser->session ? "\"" : "") < 0)
		abort();
	sent = write(browser->in, text, strlen(text) + 1) == (ssize_t)strlen(text) + 1;
	free(text);
	free(parameters);
	snprintf(head, sizeof(head), "{\"id\":%u,", browser->id);
	while (sent && (message = receive(browser))) {
		if (strncmp(message, head, strlen(head)) == 0)
			return message;
		notice(browser, message);
		free(message);
	}
	return NULL;
}

static bool run_command(struct browser *browser, const char *method, const char *parameters)
{
	char *answer = command(browser, method, "%s", parameters);
	bool fine = answer && !strstr(answer, "\"error\":{");

	free(answer);
	return fine;
}

/* The member @name of an answer, which is a string without special characters. */
static bool copy_member(const char *answer, const char *name, char *to, size_t size)
{
	const char *at = answer ? strstr(answer, name) : NULL;
	char *text;

	if (!at)
		return false;
	text = unquote(at + strlen(name));
	snprintf(to, size, "%s", text);
	free(text);
	return true;
}

static pid_t launch(const char *program, const char *home, int in, int out)
{
	char directory[512];
	pid_t pid = fork();

	if (pid)
		return pid;
	snprintf(directory, sizeof(directory), "--user-data-dir=%s", home);
	/* The protocol is spoken on the descriptors 3 and 4. */
	if (dup2(in, 100) < 0 || dup2(out, 101) < 0 || dup2(100, 3) < 0 || dup2(101, 4) < 0)
		_exit(126);
	close_range(5, ~0u, 0);
	setpgid(0, 0);
	setenv("HOME", home, 1);
	if (!freopen("/dev/null", "r+", stdin) || !freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
		_exit(126);
	execl(program, program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
	      "--disable-background-networking", "--disable-component-update", directory, "about:blank", NULL);
	_exit(127);
}

bool browser_start(struct browser *browser, const char *home)
{
	static const char *const domains[] = { "Page.enable", "Runtime.enable", "Log.enable", "Network.enable" };
	int in[2], out[2];
	char target[128], parameters[256], *answer;

	*browser = (struct browser){ .in = -1, .out = -1 };
	signal(SIGPIPE, SIG_IGN);
	if (!find_program() || pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return false;
	browser->pid = launch(find_program(), home, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	browser->in = in[1];
	browser->out = out[0];
	answer = command(browser, "Target.createTarget", "\"url\":\"about:blank\"");
	if (!copy_member(answer, "\"targetId\":", target, sizeof(target)))
		return free(answer), false;
	free(answer);
	snprintf(parameters, sizeof(parameters), "\"targetId\":\"%s\",\"flatten\":true", target);
	answer = command(browser, "Target.attachToTarget", "%s", parameters);
	if (!copy_member(answer, "\"sessionId\":", browser->session, sizeof(browser->session)))
		return free(answer), false;
	free(answer);
	for (size_t i = 0; i < sizeof(domains) / sizeof(domains[0]); i++)
		if (!run_command(browser, domains[i], ""))
			return false;
	return true;
}

void browser_stop(struct browser *browser)
{
	if (browser->pid > 0) {
		kill(-browser->pid, SIGKILL);
		kill(browser->pid, SIGKILL);
		waitpid(browser->pid, NULL, 0);
	}
	if (browser->in >= 0)
		close(browser->in);
	if (browser->out >= 0)
		close(browser->out);
	free(browser->data);
	free(browser->value);
	*browser = (struct browser){ .in = -1, .out = -1 };
}

void browser_resize(struct browser *browser, unsigned int width)
{
	free(command(browser, "Emulation.setDeviceMetricsOverride",
		     "\"width\":%u,\"height\":900,\"deviceScaleFactor\":1,\"mobile\":false", width));
}

double browser_open(struct browser *browser, const char *url, unsigned int width)
{
	double start;

	browser_resize(browser, width);
	/* Another fragment of the same page would not load it. */
	browser->loaded = false;
	if (!run_command(browser, "Page.navigate", "\"url\":\"about:blank\""))
		return -1;
	while (!browser->loaded) {
		char *message = receive(browser);

		if (!message)
			return -1;
		notice(browser, message);
		free(message);
	}
	browser->loaded = false;
	browser->requests = 0;
	start = now_ms();
	free(command(browser, "Page.navigate", "\"url\":\"%s\"", url));
	while (!browser->loaded) {
		char *message = receive(browser);

		if (!message)
			return -1;
		notice(browser, message);
		free(message);
	}
	return now_ms() - start;
}

double browser_open_file(struct browser *browser, const char *name, const char *fragment, unsigned int width)
{
	char directory[2048], url[4096];

	if (!getcwd(directory, sizeof(directory)))
		return -1;
	snprintf(url, sizeof(url), "file://%s/%s%s", directory, name, fragment);
	return browser_open(browser, url, width);
}

void browser_media(struct browser *browser, const char *media, const char *scheme)
{
	free(command(browser, "Emulation.setEmulatedMedia",
		     "\"media\":\"%s\",\"features\":[{\"name\":\"prefers-color-scheme\",\"value\":\"%s\"}]", media, scheme));
}

const char *browser_eval(struct browser *browser, const char *format, ...)
{
	static const char begin[] = "\"value\":";
	char *expression = NULL, *answer, *quoted = NULL, *at;
	size_t size;
	va_list list;
	FILE *out;

	va_start(list, format);
	if (vasprintf(&expression, format, list) < 0)
		abort();
	va_end(list);
	out = open_memstream(&quoted, &size);
	fputs("\"returnByValue\":true,\"awaitPromise\":true,\"expression\":", out);
	{
		char *whole;

		if (asprintf(&whole, "(async () => String(%s))()", expression) < 0)
			abort();
		quote(out, whole);
		free(whole);
	}
	fclose(out);
	answer = command(browser, "Runtime.evaluate", "%s", quoted);
	free(browser->value);
	at = answer && !strstr(answer, "\"exceptionDetails\"") ? strstr(answer, begin) : NULL;
	if (at)
		browser->value = unquote(at + strlen(begin));
	else if (asprintf(&browser->value, "!%s: %.300s", expression, answer ?: "no answer") < 0)
		abort();
	free(answer);
	free(expression);
	free(quoted);
	return browser->value;
}

static void mouse(struct browser *browser, const char *type, double x, double y, int buttons)
{
	free(command(browser, "Input.dispatchMouseEvent",
		     "\"type\":\"%s\",\"x\":%.1f,\"y\":%.1f,\"button\":\"%s\",\"buttons\":%d,\"clickCount\":1", type, x, y,
		     strcmp(type, "mouseMoved") == 0 && !buttons ? "none" : "left", buttons));
}

/* Finds where the element is, after it has come into view. */
static bool find(struct browser *browser, const char *selector, double *left, double *top, double *width, double *height)
{
	const char *text = browser_eval(browser, "(() => { const at = document.querySelector(%s%s%s); if (!at) return ''; "
						 "at.scrollIntoView({ block: 'center' }); const r = at."
						 "getBoundingClientRect(); "
						 "return [r.left, r.top, r.width, r.height].join(' '); "
						 "})()", "`", selector, "`");

	return sscanf(text, "%lf %lf %lf %lf", left, top, width, height) == 4;
}

bool browser_click(struct browser *browser, const char *selector)
{
	double left, top, width, height;

	if (!find(browser, selector, &left, &top, &width, &height))
		return false;
	mouse(browser, "mouseMoved", left + width / 2, top + height / 2, 0);
	mouse(browser, "mousePressed", left + width / 2, top + height / 2, 1);
	mouse(browser, "mouseReleased", left + width / 2, top + height / 2, 0);
	return true;
}

bool browser_drag(struct browser *browser, const char *selector, double x, double to, double y)
{
	double left, top, width, height;

	if (!find(browser, selector, &left, &top, &width, &height))
		return false;
	mouse(browser, "mouseMoved", left + x, top + y, 0);
	mouse(browser, "mousePressed", left + x, top + y, 1);
	mouse(browser, "mouseMoved", left + (x + to) / 2, top + y, 1);
	mouse(browser, "mouseMoved", left + to, top + y, 1);
	mouse(browser, "mouseReleased", left + to, top + y, 0);
	return true;
}

void browser_key(struct browser *browser, const char *key)
{
	const char *text = strlen(key) == 1 ? key : strcmp(key, "Enter") == 0 ? "\\r" : "";

	free(command(browser, "Input.dispatchKeyEvent", "\"type\":\"keyDown\",\"key\":\"%s\"%s%s%s", key,
		     *text ? ",\"text\":\"" : "", text, *text ? "\"" : ""));
	free(command(browser, "Input.dispatchKeyEvent", "\"type\":\"keyUp\",\"key\":\"%s\"", key));
}

size_t browser_print(struct browser *browser)
{
	char *answer = command(browser, "Page.printToPDF", "\"printBackground\":true");
	const char *data = answer ? strstr(answer, "\"data\":\"") : NULL;
	size_t size = data ? strcspn(data + 8, "\"") : 0;

	free(answer);
	return size;
}
