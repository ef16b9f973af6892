# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/preload_follow: $(O)/preload/follow.o $(O)/preload/readable.o
