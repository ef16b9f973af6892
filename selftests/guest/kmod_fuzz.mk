# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/kmod_fuzz: $(addprefix $(O)/selftests/lib/,kmod_calls.o kmod_module.o)
LDLIBS-kmod_fuzz := -lpthread
