# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_linked_others := -g -O1 -fno-builtin
$(O)/selftests/targets/own_linked_others: $(O)/selftests/targets/libown_others.so
LDLIBS-own_linked_others := -L$(O)/selftests/targets -lown_others -Wl,-rpath,'$$ORIGIN'
