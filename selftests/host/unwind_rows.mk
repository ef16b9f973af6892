# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/unwind_rows: $(O)/selftests/lib/unwind_object.o $(O)/libmassif.a
