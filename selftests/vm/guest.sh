#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# PID 1 of the guest after its initrd: completes the system, runs the command, powers off.
#
# It must not exit while the guest runs: the kernel would panic.
# shellcheck source=/dev/null
. /run/vm/command
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# Busybox's commands: a small Debian system has no mount or hostname.
mount() {
	/bin/busybox mount "$@"
}

ln -sf /proc/self/fd /dev/fd
ln -sf /proc/self/fd/0 /dev/stdin
ln -sf /proc/self/fd/1 /dev/stdout
ln -sf /proc/self/fd/2 /dev/stderr
mkdir -p /dev/shm /dev/pts /run/lock /run/tmp
chmod 1777 /run/lock /run/tmp
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t devpts -o gid=5,mode=620,ptmxmode=666 pts /dev/pts
mount -t debugfs debug /sys/kernel/debug 2>/dev/null
mount -t tracefs trace /sys/kernel/tracing 2>/dev/null
/bin/busybox ifconfig lo 127.0.0.1 up
/bin/busybox hostname guest
# Report a hung task before the command's own time limit; everything is slow in the guest.
echo 60 > /proc/sys/kernel/hung_task_timeout_secs 2>/dev/null

cd "$VM_CWD" || echo "guest: there is no $VM_CWD here" > /dev/kmsg

# Use pipes instead of the files: a program that opens its /dev/stderr again would write at the start of the
# file.
mkfifo /run/stdout /run/stderr
cat < /run/stdout > /run/vm/stdout &
relays=($!)
cat < /run/stderr > /run/vm/stderr &
relays+=($!)

: > /run/vm/booted
env -i PATH="$PATH" HOME=/root USER=root LOGNAME=root SHELL=/bin/bash TERM=dumb \
	TMPDIR=/run/tmp MASSIF_RESULTS="$VM_RESULTS" MASSIF_GUEST=1 "${VM_ENV[@]}" \
	setsid -w timeout -k 10 "$VM_TIMEOUT" "${VM_COMMAND[@]}" \
	< /dev/null > /run/stdout 2> /run/stderr
status=$?

# Write the blocked tasks to the console log.
if [ $status -eq 124 ] || [ $status -eq 137 ]; then
	echo "guest: the command did not end within $VM_TIMEOUT s; blocked and running tasks:" > /dev/kmsg
	echo w > /proc/sysrq-trigger
	echo l > /proc/sysrq-trigger
fi

# A process left behind may keep the pipes open for ever.
{ sleep 2; kill "${relays[@]}"; } 2> /dev/null &
wait "${relays[@]}" 2> /dev/null
echo $status > /run/vm/status.tmp
mv /run/vm/status.tmp /run/vm/status
sync
echo o > /proc/sysrq-trigger
while :; do sleep 60; done
