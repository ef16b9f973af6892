# SPDX-License-Identifier: GPL-2.0
# Dictionaries, objects and JSON.
import json


class Node:
    def __init__(self, name, parent):
        self.name = name
        self.children = []
        if parent:
            parent.children.append(self)


def names(n):
    state = 1
    for i in range(n):
        state = (state * 1103515245 + 12345) % 2**31
        yield "name-%d" % (state % (n // 4))


def count(n):
    counts = {}
    for name in names(n):
        counts[name] = counts.get(name, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def tree(n):
    root = Node("root", None)
    nodes = [root]
    for name in names(n):
        nodes.append(Node(name, nodes[len(nodes) // 3]))
    return sum(len(node.children) for node in nodes)


def text(n):
    rows = [{"name": name, "words": name.split("-"), "size": len(name)} for name in names(n)]
    return len(json.loads(json.dumps(rows)))


for i in range(3):
    print(len(count(120000)), tree(80000), text(40000))
