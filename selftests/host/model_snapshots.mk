# SPDX-License-Identifier: GPL-2.0
$(O)/selftests/host/model_snapshots: $(O)/libmassif.a
