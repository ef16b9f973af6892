# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_linked_jumps := -g -O1 -fno-builtin
$(O)/selftests/targets/own_linked_jumps: $(O)/selftests/targets/libown_jumps.so
LDLIBS-own_linked_jumps := -L$(O)/selftests/targets -lown_jumps -Wl,-rpath,'$$ORIGIN'
