# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/kmod_hooktest: $(O)/selftests/lib/kmod_session.o $(O)/libmassif.a
LDLIBS-kmod_hooktest := $(LIBMASSIF_LIBS)
