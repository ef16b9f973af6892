# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/heap_replay: $(O)/selftests/lib/ctl_run.o $(O)/selftests/lib/heap_session.o \
	$(O)/selftests/lib/model_oracle.o $(LIBMASSIF)
