#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Writes the initial inputs of each fuzzer to DIRECTORY/FUZZER/: seeds.sh DIRECTORY
#
# The programs in $MASSIF_BUILD/fuzz/seeds, which were compiled with the fuzzers, write some of them.
set -eu

here=$(cd "$(dirname "$0")" && pwd -P)
to=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$to"/{budgets,caches,code,elf,msprint,names,recording,ring,rules,samples,store}

cat > "$work/program.c" <<'EOF'
struct node { struct node *next; long value; };
static inline long twice(long x) { return 2 * x + (x > 7 ? twice(x - 8) : 0); }
long sum(const struct node *n) { long s = 0; for (; n; n = n->next) s += twice(n->value); return s; }
int entry(int argc) { struct node n = { 0, argc }; return (int)sum(&n); }
const char *__lsan_default_suppressions(void) { return "leak:sum"; }
EOF
cat > "$work/program.cc" <<'EOF'
template <class T> struct box { T v; T get(T x) { struct guard { ~guard() { __asm__("" ::: "memory"); } } g; return v + x; } };
namespace deep { namespace er { long call(long (*f)(long)) { box<long> b = { 3 }; return b.get(f(1)); } } }
EOF

# Small ELF files with many kinds of debug information: line numbers and inlined calls, compressed, split, none, and
# three versions of DWARF.
compile() {
	local name=$1
	shift
	"$@" -Os -shared -nostdlib -fPIC -Wl,--build-id=sha1 -Wl,-z,noseparate-code -o "$work/$name.so" 2>/dev/null || return 0
	cp "$work/$name.so" "$to/elf/$name"
	objcopy -O binary --only-section=.text "$work/$name.so" "$to/code/$name" 2>/dev/null || :
}
compile plain gcc "$work/program.c"
compile lines2 gcc -gdwarf-2 "$work/program.c"
compile lines4 gcc -gdwarf-4 -fdebug-types-section "$work/program.c"
compile lines5 gcc -gdwarf-5 "$work/program.c"
compile zlib gcc -g -gz=zlib "$work/program.c"
compile split gcc -g -gsplit-dwarf -dumpdir "$work/" "$work/program.c"
compile frames gcc -g -fno-asynchronous-unwind-tables "$work/program.c"
compile noheader gcc -g -Wl,--no-eh-frame-hdr "$work/program.c"
compile clang clang -g -gdwarf-aranges "$work/program.c"
compile cxx g++ -g -fno-exceptions "$work/program.cc"
compile rules gcc "$here/rules.S"
gcc -Os -g -static -nostdlib -e entry -Wl,--build-id=sha1 -o "$to/elf/static" "$work/program.c"

# Only the unwind tables, at the same distance from each other as in memory. Their positions precede them.
number() {
	# shellcheck disable=SC2059 # two bytes
	printf "\\x$(printf %02x $(($1 & 255)))\\x$(printf %02x $(($1 >> 8)))"
}
section() {
	objdump -h "$1" | awk -v name="$2" '$2 == name { print "0x" $3, "0x" $4 }'
}
for file in "$to"/elf/*; do
	read -r _ header < <(section "$file" .eh_frame_hdr) || header=
	read -r size frames < <(section "$file" .eh_frame) || continue
	objcopy -O binary --only-section=.eh_frame_hdr --only-section=.eh_frame "$file" "$work/tables"
	{
		if [ -n "$header" ]; then
			number 0
			number $((frames - header))
		else
			number 65535
			number 0
		fi
		number $((size))
		cat "$work/tables"
	} > "$to/rules/${file##*/}"
done

# Mangled names of C++ and Rust.
n=0
{
	nm -D "$(gcc -print-file-name=libstdc++.so.6)" | awk '{ print $NF }' | sed 's/@.*//' | grep '^_Z' | awk 'NR % 40 == 0'
	printf '%s\n' _RNvCskwGfYPst2Cb_3foo16example_function _RNvNtNtCs1234_7mycrate3foo3bar \
		_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_ECs1iopQbuBiw2_3std \
		_ZN4core3ptr13drop_in_place17h0123456789abcdefE
} | while read -r name; do
	printf %s "$name" > "$to/names/$n"
	n=$((n + 1))
done

# A profile, uncompressed and compressed, and options of ms_print.
cat > "$work/profile" <<'EOF'
desc: --time-unit=B
cmd: ./program
time_unit: B
#-----------
snapshot=0
#-----------
time=0
mem_heap_B=0
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=empty
#-----------
snapshot=1
#-----------
time=1016
mem_heap_B=1000
mem_heap_extra_B=16
mem_stacks_B=0
heap_tree=peak
n2: 1000 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n1: 600 0x1091A3: build (program.c:12)
  n0: 600 0x1091F0: main (program.c:30)
 n0: 400 in 2 places, all below massif's threshold (1.00%)
#-----------
snapshot=2
#-----------
time=2032
mem_heap_B=0
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree=empty
EOF
gzip -c "$work/profile" > "$work/profile.gz"
zstd -qc "$work/profile" > "$work/profile.zst"
profile=0
for options in '' '--threshold=0.5 --x=100 --y=4' '--threshold=100% --y=1000' '--threshold=0'; do
	for kind in '' .gz .zst; do
		{ printf '%s\n' "$options"; cat "$work/profile$kind"; } > "$to/msprint/$((++profile))$kind"
	done
done
sed 's/^time=2032/time=18446744073709551615/; s/=600/=9007199254740993/; s/^mem_heap_B=1000/mem_heap_B=18446744073709551614/
	s/^n2: 1000/n2: 18446744073709551614/' "$work/profile" | { echo; cat; } > "$to/msprint/large"

record() {
	# shellcheck disable=SC2059 # bytes
	printf "$1"
}

# Inputs for ring.c: the options, and the records of a process's life. A record is its type, target, stack, flags (the
# high bits: total_vm), words beyond the smallest record, and words: small numbers, numbers of pages, or two fields in one
# (the second times 16).
ring_record() {
	local number
	number=$(awk -v name="MASSIF_REC_$1" '$1 == name && $2 == "=" { print $3 + 0 }' "$here/../../kmod/include/uapi/linux/massif.h")
	[ -n "$number" ] || { echo "seeds.sh: there is no record $1" >&2; exit 1; }
	record "$(printf '\\x%02x' "$number" $(($2 | $3 << 4)) "$4" "$5" "${@:6}")"
}
listed() { # TARGET REASON
	ring_record RESYNC_BEGIN "$1" 0 0x20 0 0 0 $(($2 | 3 << 4)) 0
	ring_record VMA "$1" 0 0 0 8 4 0 3 0 5 0 0 0   # the vdso
	ring_record VMA "$1" 0 0 0 16 8 1 4 0 5 0 0 0  # a program
	ring_record VMA "$1" 0 0 0 24 4 0 0 0 3 0 0 0  # its .bss
	ring_record VMA "$1" 0 0 0 32 4 0 1 0 3 0 0 0  # a heap
	ring_record VMA "$1" 0 0 0 64 16 0 2 0 3 0 0 0 # a stack
	ring_record RESYNC_END "$1" 0 0 0 0 0 0 0
}
# The stack of a thread in the vdso, called from elsewhere in the vdso. 0xf0 begins a number of two bytes.
stack_of() { # TARGET NUMBER
	ring_record STACK "$1" "$2" 0 2 0 0 0x9f 0 0 0 0 0 0 0 0 0 0x9f 0 0 0 0 0 0 0 0 0xf0 0x00 0x8a \
		0xf0 0x40 0x8b 0xf0 0x10 0x8a
}
life() {
	ring_record ENROL 0 0 0 0 5 0 0
	ring_record EXEC 1 0 0 1 $((5 << 4)) 0 0 0x2f 0
	ring_record ARGS 1 0 0 1 5 0x61 0
	listed 1 3
	ring_record RESIDENT 1 0 0 0 0 0 8 2 0 0 $((8 | 2 << 4)) 0 6
	ring_record MAP 1 1 0 0 0xa0 8 $((1 | 3 << 4))
	stack_of 1 1
	ring_record RESIDENT 1 1 0 0 0xa0 2 10 2 0 0 2 0 1
	ring_record NAME 1 0 0 0 0xa0 8 0 4 0 5 0 0 0
	ring_record MAP 1 2 0 0 0xb0 8 $((5 | 3 << 4)) # mremap
	ring_record UNMAP 1 0 0 0 0xa0 8 0
	stack_of 1 2
	ring_record MAP 1 3 0 0 0xc0 8 $((5 | 3 << 4)) # the same with resident pages
	ring_record MOVE 1 0 0 0 0xc0 8 0xb0
	ring_record UNMAP 1 0 0 0 0xb0 8 0
	stack_of 1 3
	ring_record FORK 1 0 0 0 $((2 | 5 << 4)) 6
	listed 2 2
	ring_record RESIDENT 2 0 0 0 0 0 10 2 0 0 $((10 | 2 << 4)) 0 6
	ring_record MAP 2 0 0 0 0xd0 8 1
	ring_record EXIT 2 0 0 0 6
	ring_record END 2 0 0 0 $((6 | 1 << 4))
	ring_record LOST 1 0 0 0 3 1
	listed 1 4
	ring_record RESIDENT 1 0 0 0 0 0 7 2 0 0 0 0 5
	ring_record UNMAP 1 0 0 0 32 2 0
	ring_record EXIT 1 0 0x60 0 5
	ring_record END 1 0 0 0 $((5 | 1 << 4))
}
attached() {
	ring_record ATTACH 3 0 0 0 9 0 0
	listed 3 6
	ring_record RESIDENT 3 0 0 0 0 0 8 2 0 0 $((8 | 2 << 4)) 0 6
	for number in 1 2 3; do
		ring_record MAP 3 $number 0 0 0xa$number 1 1
		stack_of 3 $number
	done
	ring_record MAP 3 0 0 0 0xb0 8 1
	ring_record EXEC 4 0 0 1 0xff 3 0 0 0 9 0 0 0 0 0 0x2f 0
	listed 4 3
	ring_record END 4 0 0 0 $((9 | 5 << 4))
}
for options in 00 01 06 0e 1c 2d 45; do
	{ record "\\x$options"; life; } > "$to/ring/life$options"
	{ record "\\x$options"; attached; } > "$to/ring/attached$options"
done

# Input for recording.c: a massif.out file. $O/fuzz/seeds/recording writes the recordings.
{ record '\x01\x00'; cat "$work/profile"; } > "$to/recording/text"

# Input for store.c and samples.c: sessions without damage, and all that reads them; then a patch to each region.
ranges='\x08\x0b\x1e\x08\x00\x04\x00\x04\x00\x06\x00\x06\x00\x00\x00\x00'
session() {
	local fuzzer=$1 kind=$2 what=$3 patches=${4:-}
	number $((kind + (what << 8)))
	[ "$fuzzer" != samples ] || record "$ranges"
	record "$patches"
}
for kind in 0 1 2 4 8 16 31 32 63; do
	for what in 0 1 2 3 4 5 6 8 12 16 17 20 24 36 40 68 72; do
		session store $kind $what > "$to/store/$kind-$what"
	done
	for what in 0 1 3 4 8 12 16; do
		session samples $kind $what > "$to/samples/$kind-$what"
	done
done
for region in {0..26}; do
	for offset in '\x00\x00' '\xc8\x00' '\x08\x01' '\x10\x04'; do
		patch=$(printf '\\x%02x\\x08' "$region")$offset'\x01\x00\x00\x00\xff\xff\x00\x00'
		for what in 1 3 4 8 28; do
			session store 15 $what "$patch$patch" > "$to/store/$region-$what-${offset//\\x/}"
		done
		for what in 1 2 8 16; do
			session samples 24 $what "$patch$patch" > "$to/samples/$region-$what-${offset//\\x/}"
		done
	done
done

# Input for budgets.c: the kind of each is its first byte.
{
	record '\x00'
	cat <<'EOF'
# a comment
peak 64M
program "my program" function parse_* end 1.5KB # another
file *.c temporary 10%
library "/lib/lib?.so" leak-sites 0
function "#f" first-touched-end 1G
rss 1T
EOF
} > "$to/budgets/budgets"
{
	record '\x01'
	cat <<'EOF'
# a comment
leak:^main$
leak:libc
{
   a block
   Memcheck,Addrcheck:Leak
   match-leak-kinds: definite
   fun:malloc
   ...
   fun:_ZN3foo3barEv
   fun:f*
   src:p.c:44
   obj:*/p
}
{
   of another kind
   Memcheck:Cond
   fun:f
}
EOF
} > "$to/budgets/suppressions"
for number in 7 -0015 1.25 640K 9223372036854775808; do
	{ record '\x02'; printf %s "$number"; } > "$to/budgets/$number"
done

# Those that massif's own writers write.
for program in "${MASSIF_BUILD:-$here/../../build}"/fuzz/seeds/*; do
	if [ -x "$program" ]; then
		"$program" "$to/${program##*/}"
	fi
done
