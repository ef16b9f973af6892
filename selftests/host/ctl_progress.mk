# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/ctl_progress: $(O)/userland/ctl/message/message.o
LDLIBS-ctl_progress := -lutil
