# SPDX-License-Identifier: GPL-2.0
# The fake symbolizer comes before the archive, so that the real one is not taken from there.
$(O)/selftests/host/report_tree: $(O)/selftests/lib/report_fake.o $(O)/libmassif.a
