# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/base_regular: $(addprefix $(O)/userland/,base/regular.o base/held.o)
LDLIBS-base_regular := -lpthread
