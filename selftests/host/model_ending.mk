# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/model_ending: $(O)/selftests/lib/model_oracle.o $(O)/libmassif.a
