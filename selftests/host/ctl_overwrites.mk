# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/ctl_overwrites: $(addprefix $(O)/userland/,ctl/files/outputs.o ctl/files/outfile.o ctl/message/message.o)
$(O)/selftests/host/ctl_overwrites: $(O)/userland/base/error.o $(O)/selftests/lib/ctl_run.o
