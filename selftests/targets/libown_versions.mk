# SPDX-License-Identifier: GPL-2.0
CFLAGS-libown_versions := -g -O1 -fno-builtin -Wl,--version-script=selftests/targets/libown_versions.map
