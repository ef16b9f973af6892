# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/kmod_memory: $(addprefix $(O)/selftests/lib/,kmod_session.o never_read.o)
