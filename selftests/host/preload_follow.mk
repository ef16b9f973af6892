# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/preload_follow: $(O)/preload/process/follow.o $(O)/preload/core/readable.o
