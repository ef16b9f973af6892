// SPDX-License-Identifier: GPL-2.0
// Forks a child that cannot open any more descriptors. The child allocates. After the child has ended, the parent
// allocates again.

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

int main(void)
{
	const struct rlimit none = { 0, 0 };
	int status;
	pid_t pid;

	kept = malloc(1000);
	pid = fork();
	if (!pid) {
		if (setrlimit(RLIMIT_NOFILE, &none))
			_exit(4);
		for (int i = 0; i < 50; i++) {
			kept = malloc(77777);
			kept = realloc(kept, 88888);
		}
		_exit(3);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 3)
		return 2;
	kept = malloc(500);
	free(kept);
	return 0;
}
