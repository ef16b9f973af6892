# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_linked_chosen := -g -O1 -fno-builtin
$(O)/selftests/targets/own_linked_chosen: $(O)/selftests/targets/libown_chosen.so
LDLIBS-own_linked_chosen := -L$(O)/selftests/targets -lown_chosen -Wl,-rpath,'$$ORIGIN'
