# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/ctl_overwrites: $(addprefix $(O)/userland/ctl/,outputs.o outfile.o message.o)
$(O)/selftests/host/ctl_overwrites: $(O)/userland/base/error.o $(O)/selftests/lib/ctl_run.o
