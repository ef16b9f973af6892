#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# c-programs.sh [PREFIX]: compiles every target of the project's tests with a profiled compiler, at three levels.
cd "$SEARCH/../.." || exit 1
for file in selftests/targets/heap_*.c selftests/targets/diff_*.c; do
	for level in -O0 -O2 -O3; do
		"$@" gcc -std=gnu11 -D_GNU_SOURCE -I. $level -w -S -o - "$file" | cksum
	done
done
