# SPDX-License-Identifier: GPL-2.0
# words.pl DIRECTORY: makes an index of the words in the files of a directory.
use strict;
use warnings;

# Returns the positions of each word.
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

# Returns the index as text, one line per word.
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
