# SPDX-License-Identifier: GPL-2.0
"""Plots by gnuplot."""

import subprocess


class PlotError(Exception):
    """gnuplot did not like something."""


STYLE = """\
set terminal svg noenhanced size 640,360 font 'sans,12' background rgb 'white'
set output '{name}.svg'
set title '{title}'
set ylabel '{unit}'
set grid ytics
set datafile separator tab
set key outside right top
"""


def style(name, title, unit):
    """What all plots begin with."""
    return STYLE.format(name=name, title=title, unit=unit)


def gnuplot(out, name, data, script):
    """Write NAME.dat and NAME.gp, make NAME.svg of them."""
    (out / f"{name}.dat").write_text(data)
    (out / f"{name}.gp").write_text(script)
    try:
        done = subprocess.run(["gnuplot", f"{name}.gp"], cwd=out, text=True,
                              capture_output=True, check=False)
    except FileNotFoundError:
        raise PlotError("no gnuplot; run: scripts/deps.sh bench") from None
    if done.returncode or not (out / f"{name}.svg").exists():
        raise PlotError(f"gnuplot {out}/{name}.gp: {done.stderr.strip()}")
