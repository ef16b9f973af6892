#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Removes the rules of Documentation/security.rst, one at a time, and checks that the test of each fails:
# check-rules.sh
#
# selftests/rules/NAME.patch removes one rule. Above the patch are lines "Word: text":
#
#	Without  the rule that the patch removes, in words
#	Test     the test that must fail, and its cases (MASSIF_CASES); host/NAME has no cases
#	Fails    part of one line of the failing test's output, or of the kernel's log
#	Kernel   the kernel to run it on (default: $KERNEL, or 6.12); debug: the one built by make check-debug-kernel
#	Append   further words for the kernel's command line
#	Leaves   what the guest is left with, which would disturb other tests: the rule gets a guest of its own
#
# Each test runs first with its rule, and must pass. Errors are: a patch that does not apply, a test that
# fails with its rule, passes without it, or fails with other words.
#
# RULES selects rules by shell patterns of their names. The output of each test is kept in
# build/rules/results/NAME.log, and the output with the rule in with.NAME.log.
set -u
unset CDPATH # or cd may go elsewhere, and print where

tools=$(cd "$(dirname "$0")" && pwd -P)
source=$(cd "$tools/../.." && pwd -P)
export MASSIF_BUILD=${MASSIF_BUILD:-$source/build}
work=$MASSIF_BUILD/rules
tree=$work/tree
results=$work/results
broken=$work/broken # NAME/ contains files to use instead of those of the same names in the build directory
export MASSIF_LIMIT=${MASSIF_LIMIT:-240}
cd "$source" || exit 1

say() {
	printf 'rules: %s\n' "$*" >&2
}

die() {
	say "$*"
	exit 1
}

# Prints a field of a rule's header: field NAME WORD [DEFAULT].
field() {
	local value
	value=$(sed -n "/^--- /q; s/^$2:[[:space:]]*//p" "selftests/rules/$1.patch" | head -n 1)
	printf '%s\n' "${value:-${3-}}"
}

kernel_of() {
	local kernel
	kernel=$(field "$1" Kernel "${KERNEL:-6.12}")
	[ "$kernel" != debug ] || kernel=$MASSIF_BUILD/guest/debug-6.12
	printf '%s\n' "$kernel"
}

# Prints the names of the selected rules.
selected() {
	local file name pattern patterns=()
	read -ra patterns <<< "${RULES:-*}"
	for file in selftests/rules/*.patch; do
		name=${file##*/}
		name=${name%.patch}
		for pattern in "${patterns[@]}"; do
			# shellcheck disable=SC2053 # patterns are wanted
			if [[ $name == $pattern ]]; then
				printf '%s\n' "$name"
				break
			fi
		done
	done
}

# Makes a copy of the source and of its build, to be patched for each rule. A copy that an earlier run has
# left is updated file by file, so that only changed files are compiled again.
make_tree() {
	local file
	rm -rf "$results" "$broken"
	mkdir -p "$results" "$broken"
	if [ ! -d "$tree" ]; then
		mkdir -p "$tree.new/build"
		copy_source . | tar -xf - -C "$tree.new"
		(cd "$MASSIF_BUILD" && tar -cf - --exclude=./guest --exclude=./kmod --exclude=./rules --exclude=./fuzz \
			--exclude=./sanitize --exclude=./python .) | tar -xf - -C "$tree.new/build"
		ln -s "$MASSIF_BUILD/guest" "$tree.new/build/guest"
		mv "$tree.new" "$tree"
	fi
	for file in Makefile Kbuild kmod userland preload msprint selftests Documentation; do
		diff -rqN "$file" "$tree/$file"
	done | sed -n 's/^Files \(.*\) and .* differ$/\1/p' | while IFS= read -r file; do
		rm -f "$tree/$file"
		[ ! -e "$file" ] || install -D -m 755 "$file" "$tree/$file"
	done
}

copy_source() {
	tar -cf - --exclude=./build --exclude=./.git --exclude="${MASSIF_BUILD/#$source/.}" "$1"
}

# Runs patch(1) on the copy with the patch of one rule.
patch_tree() {
	patch -d "$tree" -p1 --silent --force --no-backup-if-mismatch --fuzz=2 "${@:2}" < "selftests/rules/$1.patch"
}

# Prints the results of kmod/compat/probes.mk from the last build of the kernel's module.
probed() {
	grep -oh -e '-DMASSIF_[A-Z]*_[a-zA-Z0-9_]*' "$MASSIF_BUILD/kmod/$1/kmod/.main.o.cmd" | sort -u | tr '\n' ' '
}

# Builds the component that a rule's patch changes: the module, massif-ctl, or a host test that contains the
# code.
build_without() {
	local name=$1 test kernel release
	test=$(field "$name" Test)
	test=${test%% *}
	kernel=$(kernel_of "$name")
	mkdir -p "$broken/$name"
	if [[ $test = host/* ]] || ! grep -q '^--- a/kmod/' "selftests/rules/$name.patch"; then
		local target=massif-ctl
		[[ $test != host/* ]] || target=selftests/$test
		make -s -C "$tree" "build/$target" || return 1
		install -D "$tree/build/$target" "$broken/$name/$target"
		return
	fi
	release=$(selftests/vm/kernel.sh release "$kernel") || return 1
	if [ ! -e "$MASSIF_BUILD/kmod/$release/massif.ko" ]; then
		echo "there is no massif.ko for $kernel: make guest-module KERNELS=$kernel"
		return 1
	fi
	# The probes take longer than everything else, and no rule changes their results, so they are not
	# repeated.
	(cd "$tree" && MASSIF_BUILD=$tree/build MASSIF_HAVE=$(probed "$release") \
		selftests/vm/kernel.sh massif "$kernel") || return 1
	install -D "$tree/build/kmod/$release/massif.ko" "$broken/$name/kmod/$release/massif.ko"
}

# Builds the component without the rule, and restores the copy afterwards.
prepare() {
	local name=$1 status=0
	if ! patch_tree "$name" --dry-run > "$results/$name.build" 2>&1; then
		verdict "$name" error "the patch does not apply any more"
		return 1
	fi
	patch_tree "$name" || exit 1
	build_without "$name" >> "$results/$name.build" 2>&1 || status=1
	patch_tree "$name" --reverse || exit 1
	[ $status -eq 0 ] || verdict "$name" error "it does not compile: $results/$name.build"
	return $status
}

errors=0 seen=0
verdict() {
	if [ "$2" = ok ]; then
		seen=$((seen + 1))
	else
		errors=$((errors + 1))
	fi
	printf '%-7s %-28s %s\n' "$2" "$1" "$3" | tee -a "$results/summary"
}

# Runs one host test, with or without the rule: host_run LOG MASSIF_BUILD TEST
host_run() {
	MASSIF_BUILD=$2 selftests/tools/run-batch.sh host "${3#host/}" > "$results/$1.log" 2>&1
}

# Runs the lines of the guest's list, in as many guests as necessary.
guest_run() {
	local kernel=$1 append=$2 line left=() ended
	mapfile -t left < "$results/list"
	while [ ${#left[@]} -gt 0 ]; do
		printf '%s\n' "${left[@]}" > "$results/list"
		: > "$results/rules"
		say "booting Linux $kernel in QEMU, for ${#left[@]} runs"
		selftests/vm/run.sh --kernel "$kernel" --append "$append" --results "$results" \
			--console "$results/console" --timeout $((MASSIF_LIMIT * ${#left[@]} * 2)) \
			-- selftests/tools/rules-guest.sh > "$results/guest" 2>&1
		ended=$(grep -c '^end ' "$results/rules")
		if grep -q '^begin ' "$results/rules" &&
			[ "$(tail -n 1 "$results/rules" | cut -d ' ' -f 1)" = begin ]; then
			line=$(tail -n 1 "$results/rules" | cut -d ' ' -f 2)
			{
				tail -n 200 "$results/console" | tr -d '\r' | sed 's/^/kernel\t/'
				printf 'error\tthe guest died\nend\t125\n'
			} >> "$results/$line.log"
			ended=$((ended + 1))
		fi
		if [ "$ended" -eq 0 ]; then
			cat "$results/guest" >&2
			die "the guest does not work"
		fi
		left=("${left[@]:$ended}")
	done
}

# Succeeds if the test of this log has failed.
has_failed() {
	[ -s "$1" ] && { grep -q -P '^(kernel|error)\t' "$1" || ! grep -q -P '^end\t0$' "$1"; }
}

# Prints the first line in a log with which its test has failed and that contains these words. Lines that only
# name the test do not count.
line_with() {
	grep -v -P '^out\t(#\s+(RUN|OK|FAIL)|(not )?ok) ' "$1" | grep -F -m 1 -- "$2"
}

# Compares the expected results with the actual ones.
judge() {
	local name=$1 log=$results/$1.log with said words
	words=$(field "$name" Fails)
	with=$results/with.$(identity "$name").log
	if [ ! -s "$with" ] || has_failed "$with"; then
		verdict "$name" error "the test fails with the rule, too: $with"
	elif ! has_failed "$log"; then
		verdict "$name" error "the test passes without the rule: $log"
	elif ! line_with "$log" "$words" > /dev/null; then
		verdict "$name" error "the test fails otherwise than by '$words': $log"
	else
		said=$(line_with "$log" "$words" | sed 's/^[a-z]*\t//; s/^#* *//; s/^[a-z_/]*\.c://; s/  */ /g')
		verdict "$name" ok "$said"
	fi
}

# Prints what the rules that share a guest have in common: kernel, command line, and the name of a rule that needs a
# guest of its own.
guest_of() {
	printf '%s|%s|%s\n' "$(kernel_of "$1")" "$(field "$1" Append)" "$([ -z "$(field "$1" Leaves)" ] || echo "$1")"
}

# Prints a key that is equal for rules with the same test on the same kernel: the test runs once with the
# rules.
identity() {
	printf '%s|%s|%s' "$(field "$1" Test)" "$(kernel_of "$1")" "$(field "$1" Append)" | tr -c 'A-Za-z0-9\n' _
}

mapfile -t names < <(selected)
[ ${#names[@]} -gt 0 ] || die "no rule is called ${RULES:-so}"
make_tree
built=()
for name in "${names[@]}"; do
	say "$name: without $(field "$name" Without)"
	! prepare "$name" || built+=("$name")
done

# In a guest, each test with the rule comes first.
guests=()
for name in "${built[@]}"; do
	test=$(field "$name" Test)
	if [[ $test == host/* ]]; then
		[ -e "$results/with.$(identity "$name").log" ] || host_run "with.$(identity "$name")" "$MASSIF_BUILD" "$test"
		install -D "$broken/$name/selftests/$test" "$tree/build/selftests/$test"
		host_run "$name" "$tree/build" "$test"
	else
		guests+=("$(guest_of "$name")")
	fi
done
while IFS='|' read -r kernel append own; do
	[ -n "$kernel" ] || continue
	first=() second=()
	for name in "${built[@]}"; do
		test=$(field "$name" Test)
		[[ $test == guest/* && $(guest_of "$name") == "$kernel|$append|$own" ]] || continue
		first+=("with.$(identity "$name") - $test")
		second+=("$name $broken/$name $test")
	done
	{
		printf '%s\n' "${first[@]}" | sort -u
		printf '%s\n' "${second[@]}"
	} > "$results/list"
	guest_run "$kernel" "$append"
done < <(printf '%s\n' "${guests[@]}" | sort -u)

for name in "${built[@]}"; do
	judge "$name"
done
say "$seen of ${#names[@]} tests were seen to fail without their rules"
[ $errors -eq 0 ]
