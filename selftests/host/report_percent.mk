# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/report_percent: $(O)/selftests/lib/symbols_oracle.o $(O)/libmassif.a
