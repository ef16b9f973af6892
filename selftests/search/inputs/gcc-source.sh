#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Creates a directory "source" with those tests of gcc that are programs to execute. They come from the package
# gcc-12-source.
set -e
mkdir source
tar -xJf /usr/src/gcc-12/gcc-12.*.tar.xz -C source --strip-components=5 --wildcards --no-wildcards-match-slash \
	'*/gcc/testsuite/gcc.c-torture/execute/*.c'
