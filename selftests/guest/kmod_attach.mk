# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/kmod_attach: $(addprefix $(O)/selftests/lib/,kmod_session.o kmod_model.o)
LDLIBS-kmod_attach := -lpthread
