# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/ctl_options: $(addprefix $(O)/userland/ctl/,options.o number.o outname.o foreign.o)
$(O)/selftests/host/ctl_options: $(O)/userland/report/options.o $(O)/userland/report/percent.o
$(O)/selftests/host/ctl_options: $(O)/userland/base/error.o
$(O)/selftests/host/ctl_options: $(addprefix $(O)/userland/symbols/,names.o arena.o)
