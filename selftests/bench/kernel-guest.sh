#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs in the guest of kernel.sh: measures the paths in every state. Prints lines "STATE PATH INSTRUCTIONS".
set -eu

build=${MASSIF_BUILD:-build}
paths=$build/selftests/bench/kernel_paths

"$paths" unloaded
insmod "${MASSIF_KO:-$build/kmod/$(uname -r)/massif.ko}"
"$paths" loaded
for state in open bare traced known r-open r-bare r-traced r-known; do
	"$paths" $state
done
# After the last session is closed, the costs must be the same as before the first one.
"$paths" closed
rmmod massif
