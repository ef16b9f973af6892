# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_linked_versions := -g -O1 -fno-builtin
$(O)/selftests/targets/own_linked_versions: $(O)/selftests/targets/libown_versions.so
LDLIBS-own_linked_versions := -L$(O)/selftests/targets -lown_versions -Wl,-rpath,'$$ORIGIN'
