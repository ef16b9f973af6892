#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# gcc-tests.sh [PREFIX]: compiles gcc's own tests by a profiled compiler, and executes them, profiled, too. Tests of
# one kind that are numbered by the day: 466 of 1,592.
for file in source/2*.c; do
	"$@" gcc -w -O2 -c -o program.o "$file" 2> errors && "$@" gcc -o program program.o -lm 2>> errors &&
		"$@" ./program > out 2>&1
	echo "${file##*/} $? $(cksum < program) $(cksum < out)"
	cat errors
	rm -f program program.o out errors
done
rm -r source
