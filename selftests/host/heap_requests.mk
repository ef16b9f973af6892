# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/heap_requests: $(O)/selftests/lib/ctl_run.o $(O)/selftests/lib/refuse_protection.o
