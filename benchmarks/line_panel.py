"""Lines over a length that doubles from tick to tick, as SVG: what the comparisons draw of times."""

import math
from html import escape


def text(x: float, y: float, words: str, anchor: str = "middle", extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {extra}>{escape(words)}</text>'


def length_name(length: int) -> str:
    return f"{length // 1024}k" if length % 1024 == 0 else f"{length}"


def value_name(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


class Panel:
    """Lines over a length, upwards from 0 or, `decades`, by powers of ten."""

    WIDTH, HEIGHT, TOP = 330, 250, 96

    def __init__(self, left: float, title: str, lengths: list[int], values: list[float], decades: bool,
                 over: str = "T, tokens"):
        self.left, self.title, self.lengths, self.decades, self.over = left, title, lengths, decades, over
        self.low = math.floor(math.log10(min(values))) if decades else 0.0
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1) if decades else 1.15 * max(values)

    def place(self, tgt_len: int, value: float) -> tuple[float, float]:
        first, last = math.log2(self.lengths[0]), math.log2(self.lengths[-1])
        across = (math.log2(tgt_len) - first) / max(last - first, 1)
        up = ((math.log10(value) if self.decades else value) - self.low) / (self.high - self.low)
        return self.left + self.WIDTH * across, self.TOP + self.HEIGHT * (1 - up)

    def axes(self) -> list[str]:
        bottom = self.TOP + self.HEIGHT
        parts = [f'<path d="M{self.left} {self.TOP}V{bottom}H{self.left + self.WIDTH}" fill="none" stroke="#666"/>',
                 text(self.left, self.TOP - 12, self.title, "start"),
                 text(self.left + self.WIDTH / 2, bottom + 38, self.over)]
        parts += [text(self.place(length, 1)[0], bottom + 18, length_name(length), extra='fill="#666"') for length in self.lengths]
        ticks = ([10.0**power for power in range(int(self.low), int(self.high) + 1)] if self.decades
                 else [self.high * quarter / 4 for quarter in range(5)])
        return parts + [text(self.left - 6, self.place(self.lengths[0], tick)[1] + 4, value_name(tick), "end", 'fill="#666"')
                        for tick in ticks]

    def line(self, points: list[tuple[int, float]], colour: str, dashes: str = "") -> list[str]:
        places = [self.place(*point) for point in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>', *dots]


def page(title: str, names: dict[str, str], panels: list[Panel], lines: list[str]) -> str:
    """The whole picture: a title, names in their colours, panels and what was drawn on them."""
    width = 60 + len(panels) * (Panel.WIDTH + 80)
    height = Panel.TOP + Panel.HEIGHT + 60
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="#fff"/>',
             text(70, 26, title, "start", 'font-size="14"')]
    left = 70
    for name, colour in names.items():
        parts.append(text(left, 54, name, "start", f'fill="{colour}" font-weight="bold"'))
        left += 30 + 7 * len(name)
    for panel in panels:
        parts += panel.axes()
    return "\n".join([*parts, *lines, "</svg>", ""])
