# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/ctl_options: $(addprefix $(O)/userland/,ctl/options/options.o ctl/options/nearest.o ctl/options/number.o ctl/files/outname.o ctl/options/valgrind_options.o)
$(O)/selftests/host/ctl_options: $(addprefix $(O)/userland/,ctl/files/outputs.o ctl/files/outfile.o ctl/message/message.o ctl/message/unnamed.o)
$(O)/selftests/host/ctl_options: $(O)/libmassif.a
LDLIBS-ctl_options := -ldw -lelf -liberty -ldeflate
