# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/kmod_stack: $(O)/selftests/lib/kmod_session.o
LDLIBS-kmod_stack := -lpthread
