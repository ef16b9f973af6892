#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# In the guest of kernel.sh: the paths in every state, lines "STATE PATH INSTRUCTIONS"
set -eu

build=${MASSIF_BUILD:-build}
paths=$build/selftests/bench/kernel_paths

"$paths" unloaded
insmod "${MASSIF_KO:-$build/kmod/$(uname -r)/massif.ko}"
"$paths" loaded
for state in open bare traced known r-open r-bare r-traced r-known; do
	"$paths" $state
done
# All must be as before when the last session has gone.
"$paths" closed
rmmod massif
