#!/usr/bin/env python3
"""Draws which module includes which, as docs/images/rooms.svg has it: modules by height, with an arrow for every
inclusion that does not follow from others. `--check FILE` fails when the drawing there is another one."""

import argparse
import collections
import pathlib
import sys

from check_includes import HEIGHTS, INCLUDE, MAX_LINES, place_of

BOX = (124, 30)
GAP = (22, 46)
MARGIN = (72, 16)
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2933; text-anchor: middle }
  rect { fill: #f5f7fa; stroke: #7b8794; rx: 6 }
  path.arrow { fill: none; stroke: #7b8794; marker-end: url(#head) }
  marker path { fill: #7b8794 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e4e7eb } rect { fill: #1f2933 }
  }
"""


def includes_of(root):
    """For every room, the others that it includes from."""
    targets = {}
    for folder in sorted({room.split("/")[0] for room in HEIGHTS}):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in MAX_LINES:
                continue
            here = place_of(path.relative_to(root).as_posix())
            targets.setdefault(here, set())
            for line in path.read_text(encoding="utf-8").splitlines():
                match = INCLUDE.match(line)
                there = match and place_of(match[2])
                if there and there != here:
                    targets.setdefault(here, set()).add(there)
    return targets


def reduced(targets):
    """Without the arrows that a path of others stands for."""

    def reaches(start, end, seen):
        for room in targets[start] - seen:
            if room == end or reaches(room, end, seen | {room}):
                return True
        return False

    return {room: {to for to in tos if not any(reaches(via, to, set()) for via in tos - {to})}
            for room, tos in targets.items()}


def positions(rooms):
    """The upper left corner of every room's box, and the size of the drawing."""
    floors = collections.defaultdict(list)
    for room in sorted(rooms, key=list(HEIGHTS).index):
        floors[HEIGHTS[room]].append(room)
    widest = max(map(len, floors.values()))
    width = widest * (BOX[0] + GAP[0]) - GAP[0]
    corners = {}
    for row, height in enumerate(sorted(floors, reverse=True)):
        floor = floors[height]
        left = (width - len(floor) * (BOX[0] + GAP[0]) + GAP[0]) / 2
        for column, room in enumerate(floor):
            corners[room] = (MARGIN[0] + left + column * (BOX[0] + GAP[0]), MARGIN[1] + row * (BOX[1] + GAP[1]))
    return corners, (width + 2 * MARGIN[0], len(floors) * (BOX[1] + GAP[1]) - GAP[1] + 2 * MARGIN[1])


def curve(upper, lower):
    """From the middle below one box to the middle above another; around those between them."""
    x1, y1, x2, y2 = upper[0] + BOX[0] / 2, upper[1] + BOX[1], lower[0] + BOX[0] / 2, lower[1]
    floors = (y2 - y1) // (BOX[1] + GAP[1])
    aside = 0 if floors == 0 else BOX[0] * (1 if x2 >= x1 else -1)
    bend = (y2 - y1) / 2 if floors == 0 else GAP[1]
    return (f"M{x1:.0f} {y1:.0f}C{x1 + aside:.0f} {y1 + bend:.0f} {x2 + aside:.0f} {y2 - bend:.0f} "
            f"{x2:.0f} {y2:.0f}")


def drawing(root):
    targets = includes_of(root)
    rooms = [room for room in targets if room not in ("tests", "benchmarks")]
    corners, (width, height) = positions(rooms)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
             'aria-label="The rooms of the house: arrows of inclusion point down">', f"<style>{STYLE}</style>",
             '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
             'orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>']
    for room, tos in sorted(reduced({room: targets[room] for room in rooms}).items()):
        for to in sorted(tos):
            lines.append(f'<path class="arrow" d="{curve(corners[room], corners[to])}"/>')
    for room in sorted(rooms):
        x, y = corners[room]
        lines.append(f'<rect x="{x:.0f}" y="{y:.0f}" width="{BOX[0]}" height="{BOX[1]}"/>')
        lines.append(f'<text x="{x + BOX[0] / 2:.0f}" y="{y + 20:.0f}">{room}</text>')
    return "\n".join(lines + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--check", type=pathlib.Path)
    arguments = parser.parse_args()
    text = drawing(arguments.root)
    if arguments.check is None:
        sys.stdout.write(text)
    elif arguments.check.read_text(encoding="utf-8") != text:
        sys.exit(f"{arguments.check}: not as the rooms are; tests/tools/draw_rooms.py . >{arguments.check}")


if __name__ == "__main__":
    main()
