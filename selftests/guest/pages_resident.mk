# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/guest/pages_resident: $(O)/selftests/lib/pages_truth.o $(O)/libmassif.a
LDLIBS-pages_resident := -ldw -lelf -liberty -lunwind-generic -lunwind -ldeflate
