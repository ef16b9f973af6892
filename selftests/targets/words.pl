# SPDX-License-Identifier: GPL-2.0
# Makes an index of the words in the files of a directory: words.pl DIRECTORY
use strict;
use warnings;

# For each word, the places where it stands.
sub index_words {
	my %places;

	for my $file (@_) {
		open my $in, '<', $file or die "$file: $!\n";
		while (my $line = <$in>) {
			push @{$places{lc $1}}, "$file:$." while $line =~ /([[:alpha:]]+)/g;
		}
		close $in;
	}
	return \%places;
}

sub most_used {
	my ($places, $count) = @_;
	my @words = sort { @{$places->{$b}} <=> @{$places->{$a}} || $a cmp $b } keys %$places;
	return @words[0 .. $count - 1];
}

# The index as it would be printed, a line a word.
sub as_text {
	my ($places) = @_;
	return join '', map { "$_: @{$places->{$_}}\n" } sort keys %$places;
}

die "usage: words.pl DIRECTORY\n" if @ARGV != 1;
my @files = grep { -f } glob "$ARGV[0]/*";
my $places = index_words(@files);
my $text = as_text($places);
printf "%d words in %d files, an index of %d bytes; most used: %s\n",
	scalar keys %$places, scalar @files, length $text, join ' ', most_used($places, 5);
undef $text;
