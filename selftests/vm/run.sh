#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Boots a kernel in QEMU and runs one command in it, as root, on this machine's file tree
#
# The guest's root is ours, read-only over 9p, below an overlay in the guest's memory. So the guest has all
# programs and the tree just built at the same paths, and everything that it writes is lost when it ends,
# except below the results directory, which is a second share. Output is passed on as it appears; the exit
# status is the command's.
set -eu
unset CDPATH # or cd may go elsewhere, and print where

usage() {
	cat <<'USAGE'
usage: run.sh [options] [--] command [argument...]

  --kernel KERNEL   5.10, 6.1, 6.12, 7.2; a release of Debian's; the directory in which a kernel
                    was built that needs no modules to boot (default: $GUEST_KERNEL, or 6.1)
  --smp N           virtual processors (2)
  --mem MB          memory (1536)
  --append WORDS    more words for the kernel's command line
  --timeout SECONDS for the command, boot excluded (600)
  --env NAME[=VALUE] pass this variable on; MASSIF_*, LANG, LC_ALL and TESTS always are
  --results DIR     what the guest may write to, MASSIF_RESULTS there (build/guest/results)
                    Without this option massif-ctl's files go there by default, and files that
                    the command leaves there are listed at the end.
  --console FILE    where the kernel's console goes (build/guest/console.log)
  --keep            keep the control directory, and say where it is
  --qemu WORDS      more words for QEMU's command line

The exit status is the command's, 124 when it did not end in time, 125 when the guest died or
did not boot.
USAGE
}

say() {
	printf 'vm: %s\n' "$*" >&2
}

die() {
	say "$*"
	exit 125
}

here=$(cd "$(dirname "$0")" && pwd -P)
source=$(cd "$here/../.." && pwd -P)
build=${MASSIF_BUILD:-$source/build}
export MASSIF_BUILD=$build

smp=2 mem=1536 append='' limit=600 keep='' more=''
results=
console=$build/guest/console.log
names=(LANG LC_ALL TESTS "${!MASSIF_@}")
boot_limit=120

while [ $# -gt 0 ]; do
	case $1 in
	--help) usage; exit 0 ;;
	--keep) keep=yes; shift; continue ;;
	--) shift; break ;;
	--kernel | --smp | --mem | --append | --timeout | --env | --results | --console | --qemu)
		[ $# -ge 2 ] || die "$1 needs a value" ;;
	-*) usage >&2; die "unknown option $1" ;;
	*) break ;;
	esac
	case $1 in
	--kernel) export GUEST_KERNEL=$2 ;;
	--smp) smp=$2 ;;
	--mem) mem=$2 ;;
	--append) append=$2 ;;
	--timeout) limit=$2 ;;
	--env) names+=("$2") ;;
	--results) results=$2 ;;
	--console) console=$2 ;;
	--qemu) more=$2 ;;
	esac
	shift 2
done
[ $# -gt 0 ] || { usage >&2; exit 125; }

command -v qemu-system-x86_64 > /dev/null ||
	die "qemu-system-x86_64 is missing: run selftests/tools/packages.sh guest"
for dir in "$source" "$PWD" "$build"; do
	case $dir in
	/dev/* | /proc/* | /sys/* | /run/*)
		die "$dir is not visible in the guest, which has /dev, /proc, /run and /sys of its own" ;;
	esac
done

# Without --results, list the files that the command has written.
lists_results=''
[ -n "$results" ] || lists_results=yes
results=${results:-${MASSIF_RESULTS:-$build/guest/results}}
mkdir -p "$build/guest" "$results" "$(dirname "$console")"
results=$(cd "$results" && pwd -P)

"$here/kernel.sh" fetch || exit 125
image=$("$here/kernel.sh" image) || exit 125
modules=$("$here/kernel.sh" modules) || exit 125
[ -r "$image" ] || die "cannot read the kernel image $image"
if [ -n "$modules" ]; then
	kernel=$("$here/kernel.sh" release) || exit 125
	initrd=$build/guest/initrd-$kernel
	arguments=("$kernel" "$modules")
else
	initrd=$build/guest/initrd-none
	arguments=()
fi
if [ "$initrd" -ot "$here/init" ] || [ "$initrd" -ot "$here/initrd.sh" ] || [ "$initrd" -ot "$image" ]; then
	"$here/initrd.sh" "$initrd" "${arguments[@]}" || die "cannot make the initrd"
fi

control=$(mktemp -d "$build/guest/control.XXXXXX")
qemu='' tails=()
# shellcheck disable=SC2317 # the trap calls it
finish() {
	[ -z "$qemu" ] || kill "$qemu" 2> /dev/null || :
	[ ${#tails[@]} -eq 0 ] || kill "${tails[@]}" 2> /dev/null || :
	if [ -n "$keep" ]; then
		say "the control directory is $control"
	else
		rm -rf "$control"
	fi
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

environment=()
for name in "${names[@]}"; do
	case $name in
	*=*) environment+=("$name") ;;
	MASSIF_RESULTS) ;;
	*) [ -z "${!name+set}" ] || environment+=("$name=${!name}") ;;
	esac
done
# A file in the current directory would be lost with the guest.
if [ -n "$lists_results" ] && [ -z "${MASSIF_OPTS+set}" ]; then
	environment+=("MASSIF_OPTS='--massif-out-file=$results/massif.out.%p'")
fi
# The initrd's shell reads this file, too: plain assignments come first, quoted for any sh.
quote() {
	printf "'%s'" "${1//\'/\'\\\'\'}"
}
{
	echo "VM_SOURCE=$(quote "$source")"
	echo "VM_RESULTS=$(quote "$results")"
} > "$control/config"
{
	cat "$control/config"
	echo "VM_CWD=$(quote "$PWD")"
	echo "VM_TIMEOUT=$(quote "$limit")"
	echo 'VM_ENV=('
	for word in "${environment[@]}"; do quote "$word"; echo; done
	echo ')'
	echo 'VM_COMMAND=('
	for word; do quote "$word"; echo; done
	echo ')'
} > "$control/command"
: > "$control/stdout"
: > "$control/stderr"
: > "$console"

# QEMU reads a double comma as a comma in an option's value.
comma() {
	printf '%s' "${1//,/,,}"
}
# shellcheck disable=SC2206 # words are wanted
more=($more)
# One thread for all processors: with one for each, QEMU 7.2 can continue to execute its translation of code
# that another processor is changing. Arming kprobes changes code, and the guest then hangs.
#
# tb-size, in MiB: QEMU keeps translations of a page of code until the page is written, one more for each address that
# programs with address randomisation have it at. Each byte written discards some, in a time that grows with their
# number. With QEMU's default of 1024, writing to one page that once had code of libc took 0.6 s after 500 programs and
# 2.7 s after 10,000; with other work beside the guest, the kernel reported soft lockups while it cleared such pages.
#
# -erms,-fsrm: a kernel and a libc that find these features clear and copy memory byte by byte, and QEMU emulates each
# byte. Without them they do it word by word: a page fault takes 8.5 us instead of 14, and 4 KiB through a pipe 7 us
# instead of 20.
#
# no_timer_check: a guest that gets no processor time for a while believes at boot that its timer is broken.
#
# exec: so that $! is the process to kill and to wait for.
(exec timeout --foreground -k 5 $((limit + boot_limit)) qemu-system-x86_64 \
	-nodefaults -no-user-config -no-reboot -display none -monitor none \
	-machine q35 -accel tcg,thread=single,tb-size=128 -cpu max,-erms,-fsrm -smp "$smp" -m "$mem" \
	-kernel "$image" -initrd "$initrd" -serial "file:$(comma "$console")" \
	-virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
	-virtfs "local,path=$(comma "$control"),mount_tag=control,security_model=none" \
	-virtfs "local,path=$(comma "$results"),mount_tag=results,security_model=none" \
	-append "console=ttyS0 loglevel=5 panic=-1 log_buf_len=4M no_timer_check $append" "${more[@]}" \
	< /dev/null > "$control/qemu" 2>&1) &
qemu=$!

tail -q -n +1 -s 0.1 -f --pid=$qemu "$control/stdout" &
tails+=($!)
tail -q -n +1 -s 0.1 -f --pid=$qemu "$control/stderr" >&2 &
tails+=($!)

# Lists the files that the command has written to the results directory.
list_results() {
	local files
	files=$(find "$results" -type f -newer "$control/config" | sort)
	[ -z "$files" ] || say "files that the guest has left here:
$files"
}

ended=0
wait "$qemu" || ended=$?
qemu=''
wait "${tails[@]}" || :
tails=()

[ -z "$lists_results" ] || list_results
if [ -s "$control/status" ]; then
	read -r status < "$control/status"
	if [ "$status" -eq 124 ]; then
		say "the command did not end within $limit s; the console's last lines:"
		tail -n 40 "$console" >&2
	fi
	exit "$status"
fi

if [ -s "$control/qemu" ]; then
	cat "$control/qemu" >&2
fi
if [ ! -e "$control/booted" ]; then
	say "the guest did not boot; its console's last lines:"
elif [ $ended -eq 124 ] || [ $ended -eq 137 ]; then
	say "the guest hangs; its console's last lines:"
else
	say "the guest died; its console's last lines:"
fi
tail -n 60 "$console" | tr -d '\r' >&2
exit 125
