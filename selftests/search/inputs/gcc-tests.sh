#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# gcc-tests.sh [PREFIX]: compiles gcc's own tests with a profiled compiler, and executes them, also profiled. Uses only
# the tests whose names begin with a date: 466 of 1,592.
for file in source/2*.c; do
	"$@" gcc -w -O2 -c -o program.o "$file" 2> errors && "$@" gcc -o program program.o -lm 2>> errors &&
		"$@" ./program > out 2>&1
	echo "${file##*/} $? $(cksum < program) $(cksum < out)"
	cat errors
	rm -f program program.o out errors
done
rm -r source
