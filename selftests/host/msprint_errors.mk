# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/msprint_errors: $(O)/selftests/lib/msprint_oracle.o
