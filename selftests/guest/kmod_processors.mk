# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/kmod_processors: $(O)/selftests/lib/kmod_session.o
