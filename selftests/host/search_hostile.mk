# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/search_hostile: $(O)/selftests/lib/ctl_run.o
