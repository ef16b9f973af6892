# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/own_nesting: $(O)/selftests/lib/ctl_run.o $(O)/selftests/lib/heap_session.o $(LIBMASSIF)
