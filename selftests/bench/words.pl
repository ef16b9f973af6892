# SPDX-License-Identifier: GPL-2.0
# Hashes, lists and long strings.
use strict;
use warnings;

my ($state, %count, %index) = (1);
for my $i (1 .. 700_000) {
	$state = ($state * 1103515245 + 12345) % 2**31;
	my $name = 'name-' . $state % 60_000;
	$count{$name}++;
	push @{ $index{ substr $name, 0, 8 } }, $name if $i % 3 == 0;
}
my @best = (sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count)[0 .. 9];
my $text = join ' ', map { join ',', @{ $index{$_} } } sort keys %index;
my $words = () = $text =~ /\d+/g;
print "@best $words\n";
