#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A project for the Godot engine that uses nodes, threads and the JSON parser.
echo 'config_version=4' > project.godot
cat > work.gd <<'EOF'
extends SceneTree
func compute(n):
	var text = ""
	for i in range(500):
		text += str(i * n)
	return text.length()
func _init():
	var sum = 0
	var threads = []
	for n in range(20):
		var thread = Thread.new()
		thread.start(self, "compute", n)
		threads.append(thread)
	for thread in threads:
		sum += thread.wait_to_finish()
	print(sum)
	for i in range(2000):
		var node = Node2D.new()
		node.name = "n%d" % i
		get_root().call_deferred("add_child", node)
	var value = {}
	for i in range(3000):
		value[str(i)] = [i, i * i]
	print(JSON.print(value).length(), " ", parse_json(JSON.print(value)).size())
	quit()
EOF
