# SPDX-License-Identifier: GPL-2.0
CFLAGS-own_linked := -g -O1 -fno-builtin
$(O)/selftests/targets/own_linked: $(O)/selftests/targets/libown_library.so
LDLIBS-own_linked := -L$(O)/selftests/targets -lown_library -Wl,-rpath,'$$ORIGIN'
