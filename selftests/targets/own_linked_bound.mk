# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_linked_bound := -g -O1 -fno-builtin
$(O)/selftests/targets/own_linked_bound: $(O)/selftests/targets/libown_bound.so
LDLIBS-own_linked_bound := -L$(O)/selftests/targets -lown_bound -Wl,-rpath,'$$ORIGIN'
