#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Makes a folder "source" with those of gcc's own tests that are programs to be executed; the package gcc-12-source
# has them.
set -e
mkdir source
tar -xJf /usr/src/gcc-12/gcc-12.*.tar.xz -C source --strip-components=5 --wildcards --no-wildcards-match-slash \
	'*/gcc/testsuite/gcc.c-torture/execute/*.c'
