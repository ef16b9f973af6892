// SPDX-License-Identifier: GPL-2.0
// Input for compilers, analysers and debuggers.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *left, *right;
	char *key;
};

static struct node *insert(struct node *at, const char *key)
{
	int order;

	if (!at) {
		at = calloc(1, sizeof(*at));
		at->key = strdup(key);
		return at;
	}
	order = strcmp(key, at->key);
	if (order < 0)
		at->left = insert(at->left, key);
	else if (order > 0)
		at->right = insert(at->right, key);
	return at;
}

static int depth(const struct node *at)
{
	int left, right;

	if (!at)
		return 0;
	left = depth(at->left);
	right = depth(at->right);
	return 1 + (left > right ? left : right);
}

int main(void)
{
	struct node *root = NULL;
	char key[32];

	for (unsigned int i = 0; i < 3000; i++) {
		snprintf(key, sizeof(key), "%u", i * 2654435761u);
		root = insert(root, key);
	}
	printf("%d\n", depth(root));
	return 0;
}
