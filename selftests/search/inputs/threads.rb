# SPDX-License-Identifier: GPL-2.0
# Threads, fibers (on stacks of their own), a forked child, and the collector's compaction.
require 'json'
threads = 100.times.map { |n| Thread.new { (1..500).map { |i| (i * n).to_s }.join.hash; n } }
puts threads.sum(&:value)
fibers = 200.times.map { |n| Fiber.new { 10.times { |i| Fiber.yield 'x' * (i * n) } } }
puts fibers.sum { |f| 5.times.sum { f.resume.size } }
pid = fork { puts JSON.generate((1..2000).to_a).size; exit!(3) }
Process.wait pid
puts $?.exitstatus
GC.start
GC.compact if GC.respond_to?(:compact)
puts (1..50_000).map { |i| "item #{i}" }.uniq.size
