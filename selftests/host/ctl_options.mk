# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/ctl_options: $(addprefix $(O)/userland/ctl/,options.o nearest.o number.o outname.o foreign.o)
$(O)/selftests/host/ctl_options: $(addprefix $(O)/userland/ctl/,outputs.o outfile.o message.o unnamed.o)
$(O)/selftests/host/ctl_options: $(O)/libmassif.a
LDLIBS-ctl_options := -ldw -lelf -liberty -ldeflate
