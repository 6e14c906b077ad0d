#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
Draws what a terminal showed, as script(1) recorded it, as an animated picture. It takes python3-pyte, python3-pil and
fonts-dejavu-core. So docs/top.gif was made (bench/picture.sh: what ran):

    script --quiet --flush --log-out top.out --log-timing top.times --command 'stty cols 96 rows 27; blklat top ...'
    bench/picture.py top.out top.times docs/top.gif
"""
import re
import sys

import pyte
from PIL import Image, ImageDraw, ImageFont

COLUMNS, LINES, CELL, EDGE = 96, 27, (8, 16), 8
FONTS = {bold: ImageFont.truetype(f"/usr/share/fonts/truetype/dejavu/DejaVuSansMono{'-Bold' if bold else ''}.ttf", 13)
         for bold in (False, True)}
COLOURS = {"black": "#16181d", "red": "#e5534b", "green": "#57ab5a", "brown": "#c69026", "blue": "#539bf5", "magenta": "#b083f0",
           "cyan": "#39c5cf", "white": "#cdd9e5"}
# What comes within this time is one redraw.
REDRAW_S = 0.4


def colour(name, default):
    return default if name == "default" else COLOURS.get(name, f"#{name}")


def draw(screen):
    image = Image.new("RGB", (COLUMNS * CELL[0] + 2 * EDGE, LINES * CELL[1] + 2 * EDGE), COLOURS["black"])
    to = ImageDraw.Draw(image)
    for y in range(LINES):
        for x in range(COLUMNS):
            c = screen.buffer[y][x]
            ink, paper = colour(c.fg, COLOURS["white"]), colour(c.bg, COLOURS["black"])
            if c.reverse:
                ink, paper = paper, ink
            left, top = EDGE + x * CELL[0], EDGE + y * CELL[1]
            to.rectangle((left, top, left + CELL[0] - 1, top + CELL[1] - 1), fill=paper)
            to.text((left, top), c.data, font=FONTS[c.bold], fill=ink)
    return image


def scrolled(lines):
    """pyte has no sequence for several lines; curses stands at the edge of the region where it uses one."""
    return int(lines[1]) * {b"S": b"\n", b"T": b"\x1bM"}[lines[2]]


def redraws(out, times):
    """Yields (seconds since the one before, screen)."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    with open(out, "rb") as output, open(times) as lines:
        output.readline()  # script's own head
        past = 0
        for line in lines:
            delay_s, n = line.split()
            past += float(delay_s)
            if past > REDRAW_S:
                yield past, screen
                past = 0
            stream.feed(re.sub(rb"\x1b\[(\d+)([ST])", scrolled, output.read(int(n))))


def main(out, times, picture):
    images, shown_ms = [], []
    for past_s, screen in redraws(out, times):
        if images:
            shown_ms.append(int(1000 * past_s))
        images.append(draw(screen))
    palette = max(images, key=lambda image: len(image.getcolors(1 << 16))).quantize(32)
    images = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    images[0].save(picture, save_all=True, append_images=images[1:], duration=[*shown_ms, 3000], loop=0, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
