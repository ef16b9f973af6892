# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/heap_bounds: $(O)/selftests/lib/ctl_run.o $(O)/selftests/lib/heap_session.o $(O)/selftests/lib/massif_text.o $(LIBMASSIF)
