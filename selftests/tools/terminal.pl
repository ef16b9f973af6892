#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0
# Makes a page for a browser from what a terminal shows: terminal.pl COLUMNS <SCREEN >PAGE
#
# SCREEN is what tmux capture-pane -e prints: text with colours and attributes as escape sequences. Prints the height of
# the page in pixels on standard error.
use strict;
use warnings;
use open qw(:std :encoding(UTF-8));

# Pixels: of a line, and around the text.
use constant { LINE => 15, MARGIN => 14 };

my @colours = ('#3b4252', '#f07178', '#8fd08a', '#e6c46e', '#7aa8f0', '#d39be8', '#6fc9c9', '#d8dee9');
my @bright  = ('#7b88a1', '#ff9aa0', '#b0e8ab', '#ffe09a', '#a5c6ff', '#ecc0ff', '#9be9e9', '#ffffff');
my ($paper, $ink) = ('#1d2129', '#d8dee9');
my %look;

sub colour {
	my ($codes) = @_;
	my $kind = shift(@$codes) // 5;

	return sprintf('#%02x%02x%02x', splice(@$codes, 0, 3)) if $kind == 2;
	my $n = shift(@$codes) // 7;
	return $colours[$n] if $n < 8;
	return $bright[$n - 8] if $n < 16;
	return sprintf('#%02x%02x%02x', (8 + 10 * ($n - 232)) x 3) if $n > 231;
	$n -= 16;
	return sprintf('#%02x%02x%02x', map { $_ ? 55 + 40 * $_ : 0 } int($n / 36), int($n / 6) % 6, $n % 6);
}

# Applies the sequence ESC [ $sequence m.
sub attributes {
	my @codes = map { $_ || 0 } split(/[;:]/, $_[0] eq '' ? 0 : $_[0]);

	while (@codes) {
		my $code = shift @codes;

		if ($code == 0) { %look = () }
		elsif ($code == 1) { $look{bold} = 1 }
		elsif ($code == 2) { $look{dim} = 1 }
		elsif ($code == 4) { $look{under} = 1 }
		elsif ($code == 7) { $look{reverse} = 1 }
		elsif ($code == 22) { delete @look{qw(bold dim)} }
		elsif ($code == 24) { delete $look{under} }
		elsif ($code == 27) { delete $look{reverse} }
		elsif ($code == 38) { $look{ink} = colour(\@codes) }
		elsif ($code == 39) { delete $look{ink} }
		elsif ($code == 48) { $look{paper} = colour(\@codes) }
		elsif ($code == 49) { delete $look{paper} }
		elsif ($code >= 30 && $code <= 37) { $look{ink} = $colours[$code - 30] }
		elsif ($code >= 40 && $code <= 47) { $look{paper} = $colours[$code - 40] }
		elsif ($code >= 90 && $code <= 97) { $look{ink} = $bright[$code - 90] }
		elsif ($code >= 100 && $code <= 107) { $look{paper} = $bright[$code - 100] }
	}
}

sub span {
	my ($text) = @_;
	my ($front, $back) = ($look{ink} // $ink, $look{paper} // $paper);
	my $style = '';

	return '' if $text eq '';
	$text =~ s/&/&amp;/g;
	$text =~ s/</&lt;/g;
	return $text if !%look;
	($front, $back) = ($back, $front) if $look{reverse};
	$style .= "color:$front;" if $front ne $ink;
	$style .= "background:$back;" if $back ne $paper;
	$style .= 'font-weight:bold;' if $look{bold};
	$style .= 'opacity:.65;' if $look{dim};
	$style .= 'text-decoration:underline;' if $look{under};
	return "<span style=\"$style\">$text</span>";
}

my ($columns) = @ARGV;
my @lines = <STDIN>;
my ($text, $height);

# A picture ends with the last line that has anything.
pop @lines while @lines && $lines[-1] !~ /[^\s\e\[0-9;m]/;
$height = @lines * LINE + 2 * MARGIN;
for my $line (@lines) {
	chomp $line;
	while ($line =~ /\G([^\e]*)(?:\e\[([0-9;:]*)m|\e\(B|\x0f|\z)/gc) {
		$text .= span($1);
		attributes($2) if defined $2;
		last if pos($line) == length $line;
	}
	$text .= "\n";
}
print <<"PAGE";
<!doctype html><meta charset="utf-8">
<style>
html, body { margin: 0; background: $paper; overflow: hidden }
pre { margin: 0; padding: ${\MARGIN}px; width: ${columns}ch; color: $ink; font: 13.289px/${\LINE}px "DejaVu Sans Mono", monospace }
</style>
<pre>$text</pre>
PAGE
print STDERR "$height\n";
