#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Profiles programs with the C libraries of other releases: check-userlands.sh [RELEASE...]. Needs root.
#
# massif-ctl and the shim are those of this build. massif-ctl runs here; the programs run in a system that mmdebstrap has made,
# entered with chroot(1), and are profiled with --trace-children=yes. Each peak is compared with that of Valgrind's Massif in
# the same system. A difference of more than 2 % is an error. Prints a table; Documentation/testing.rst has the last one.
set -u
unset CDPATH

top=$(cd "$(dirname "$0")/../.." && pwd -P)
build=${MASSIF_BUILD:-$top/build}
work=$build/userlands
releases=${*:-bullseye bookworm trixie sid}
# The seed makes the order, and size, of perl's hashes the same in every run.
export LC_ALL=C PERL_HASH_SEED=0
failed=0

# Programs that allocate the same in every run: name, first argument, second argument with _ for each blank.
commands=(
	"perl -e my@a;push@a,q(x)x1000_for_1..1000"
	"sh -c a=12345678;for_i_in_1_2_3_4_5_6_7_8_9;do_a=\$a\$a;done;echo_\${#a}"
	"sort -S1M /etc/passwd"
	"bash -c a=12345678;for_i_in_1_2_3_4_5_6_7_8_9;do_a=\$a\$a;done"
	"threads"
)

make_system() {
	[ -s "$work/$1.tar" ] && return
	# The mirror's list of sid is often older than it says it may be.
	mmdebstrap --variant=apt --include=valgrind,perl,gcc,libc6-dev --aptopt='Acquire::Check-Valid-Until "false"' \
		"$1" "$work/$1.new.tar" >"$work/$1.log" 2>&1 && mv "$work/$1.new.tar" "$work/$1.tar"
}

# Compiles /usr/bin/threads in the system $1: it loads the library of threads only while it runs, and its last thread has the peak.
write_threads() {
	cat >"$1/root/work.c" <<-'END'
		#include <pthread.h>
		#include <stdlib.h>
		static void *work(void *data) { for (int i = 0; i < 1000; i++) free(malloc(100)); return malloc(100000); }
		void run(void)
		{
			for (int i = 0; i < 4; i++) {
				pthread_t thread;
				pthread_create(&thread, NULL, work, NULL);
				pthread_join(thread, NULL);
			}
		}
	END
	cat >"$1/root/threads.c" <<-'END'
		#include <dlfcn.h>
		int main(void)
		{
			void (*run)(void) = (void (*)(void))dlsym(dlopen("/root/work.so", RTLD_NOW), "run");
			run();
			return 0;
		}
	END
	chroot "$1" sh -c 'cd /root && gcc -o /usr/bin/threads threads.c -ldl && gcc -shared -fPIC -o work.so work.c -lpthread'
}

# Prints the highest mem_heap_B in the massif.out file of program $2, among the files whose names begin with $1.
peak() {
	grep -l "^cmd: *\(.*/\)\?$2\b" "$1"* | head -n 1 | xargs -r sed -n 's/^mem_heap_B=//p' | sort -n | tail -n 1
}

[ "$(id -u)" -eq 0 ] || { echo "check-userlands.sh needs root, for chroot" >&2; exit 1; }
mkdir -p "$work"
printf '%-9s %-6s %-9s %12s %12s\n' release glibc program massif Valgrind
for release in $releases; do
	tree=$work/$release
	if ! make_system "$release"; then
		echo "$release  not ok: cannot be made  # $work/$release.log"
		failed=1
		continue
	fi
	rm -rf --one-file-system "$tree"
	mkdir -p "$tree" && tar -C "$tree" -xf "$work/$release.tar" && install -D "$build/libmassif-preload.so" \
		"$tree$build/libmassif-preload.so" && write_threads "$tree" || exit
	libc=$(chroot "$tree" ldd --version | sed -n '1s/.* //p')
	for command in "${commands[@]}"; do
		read -r name first rest <<<"$command"
		arguments=()
		[ -z "$first" ] || arguments+=("$first")
		[ -z "$rest" ] || arguments+=("${rest//_/ }")
		rm -rf "$work/out" "$tree/root/valgrind."*
		mkdir "$work/out"
		unshare --mount --pid --fork --kill-child -- sh -c 'mount -t proc proc /proc && mount --rbind /proc "$1/proc" && shift && exec "$@"' sh "$tree" \
			"$build/massif-ctl" --trace-children=yes --peak-inaccuracy=0 --time-unit=B --massif-out-file="$work/out/massif.%p" \
			chroot "$tree" "$name" "${arguments[@]}" >"$work/out/log" 2>&1
		ours_status=$?
		unshare --mount --pid --fork --kill-child --mount-proc="$tree/proc" -- chroot "$tree" valgrind -q --tool=massif \
			--peak-inaccuracy=0 --massif-out-file=/root/valgrind.%p "$name" "${arguments[@]}" >"$work/out/valgrind.log" 2>&1
		theirs_status=$?
		ours=$(peak "$work/out/massif." "$name") theirs=$(peak "$tree/root/valgrind." "$name")
		result=
		if [ $ours_status -ne $theirs_status ] || [ -z "$ours" ] || [ -z "$theirs" ]; then
			result="not ok (status $ours_status, $theirs_status)"
			failed=1
		elif [ "$ours" != "$theirs" ]; then
			result=$(awk -v a="$ours" -v b="$theirs" 'BEGIN { printf "%+.2f %%", 100 * (a - b) / b }')
			awk -v a="$ours" -v b="$theirs" 'BEGIN { d = (a - b) / b; exit !(d > 0.02 || d < -0.02) }' && failed=1 result="not ok $result"
		fi
		printf '%-9s %-6s %-9s %12s %12s %s\n' "$release" "$libc" "$name" "${ours:--}" "${theirs:--}" "$result"
	done
	rm -rf --one-file-system "$tree"
done
exit $failed
