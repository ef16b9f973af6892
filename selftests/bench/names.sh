#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Builds a program of 60 translation units with 47 MB of debug information: names.sh PROGRAM. Also builds PROGRAM-z,
# with compressed debug information. Only one unit is compiled. The program contains 60 copies of it, each with a unique
# entry point.
set -eu
unset CDPATH # with CDPATH, cd may change to another directory, and print it

here=$(cd "$(dirname "$0")" && pwd -P)
program=$1
units=60
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"${CXX:-g++}" -g -O1 -gz=none -c -o "$work/unit.o" "$here/names.cc"
{
	for unit in $(seq $units); do
		echo "void *names_unit_$unit(int n);"
	done
	echo 'int main(void) {'
	for unit in $(seq $units); do
		echo "names_unit_$unit($unit);"
	done
	echo 'return 0; }'
} > "$work/main.c"
for unit in $(seq $units); do
	objcopy --redefine-sym "names_unit=names_unit_$unit" "$work/unit.o" "$work/unit-$unit.o"
done
"${CC:-gcc}" -g -c -o "$work/main.o" "$work/main.c"
"${CXX:-g++}" -o "$work/program" "$work/main.o" "$work"/unit-*.o -lpthread
objcopy --compress-debug-sections=zlib "$work/program" "$program-z"
mv "$work/program" "$program"
