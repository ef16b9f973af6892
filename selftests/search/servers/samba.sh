#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Samba: a share in a private directory, 20 clients in turn, each with a process of the server.
. "${0%/*}/lib.sh"
mkdir share run private cache lock
seq 5000 > share/numbers
cat > smb.conf <<EOF
[global]
	private dir = $PWD/private
	lock directory = $PWD/lock
	state directory = $PWD/cache
	cache directory = $PWD/cache
	pid directory = $PWD/run
	ncalrpc dir = $PWD/run/ncalrpc
	smb ports = $port
	bind interfaces only = yes
	interfaces = 127.0.0.1
	map to guest = Bad User
	guest account = root
	load printers = no
	disable spoolss = yes
	log file = $PWD/log.smbd
[share]
	path = $PWD/share
	guest ok = yes
	read only = no
EOF
"$@" smbd -F -s "$PWD/smb.conf" -l "$PWD" > smbd.out 2>&1 &
server=$!
client() { smbclient -s "$PWD/smb.conf" -N -p "$port" //127.0.0.1/share "$@"; }
until_it_works 60 client -c ls
for i in $(seq 20); do client -c "get numbers copy.$i; put copy.$i back.$i; ls" > /dev/null 2>&1; done
cat copy.* share/back.* | cksum
kill -TERM "$(cat run/smbd.pid)"
ended $server smbd
rm -rf share private cache lock run log.* smbd.out smb.conf copy.* cores
