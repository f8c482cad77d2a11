# SPDX-License-Identifier: GPL-2.0
"""What tools/testing/iova/sim.sh simulated: curves, tables, measures."""

from html import escape

from model import read_table
from plot import gnuplot, style

# What was reported in 2015, 16 CPUs with memcached each: percent of off.
REPORTED = {"off": 100, "tree": 11, "batched": 29, "batched-percpu": 40,
            "magazines": 98}
MODELS = ("tree", "batched", "batched-percpu", "magazines", "stock", "series")
LAZY = ("same", "receive", "mixed", "large", "large-receive",
        "large-far-receive", "domains-8",
        "domains-64")
KINDS = ("driver", "pte", "work", "move", "lock", "flush", "idle")
NOTE = """\
The models of 2015 are small, their CPUs all alike, and a line costs the same
from wherever it comes; the machine had two sockets, and its figures include all
that memcached and the stack did meanwhile. Within a factor of two is as near as
that can come; a move of a line varied from 50 to 200 ns encloses each figure.
"""
CONCLUSIONS = ("2015 in order", "tree", "batched", "batched-percpu",
               "magazines", "same", "receive", "mixed", "256 KiB", "strict")


class Simulation:
    """Rows of sim.tsv or sim-ranges.tsv by what they are of."""

    def __init__(self, path):
        table = list(read_table(path))
        head = table[0]
        self.rows = {}
        self.variants = []
        for row in table[1:]:
            cell = dict(zip(head, row))
            key = tuple(cell[name] for name in
                        ("variant", "policy", "load", "mode"))
            self.rows[key + (int(cell["cpus"]),)] = cell
            if cell["variant"] not in self.variants:
                self.variants.append(cell["variant"])

    def get(self, policy, load, mode, cpus, variant="-"):
        """A row, or None."""
        return self.rows.get((variant, policy, load, mode, cpus))

    def value(self, name, *key, **variant):
        """A figure of a row, or None."""
        row = self.get(*key, **variant)
        return float(row[name]) if row else None

    def cpus(self, policy, load, mode, variant="-"):
        """For how many CPUs there is something."""
        return sorted(key[4] for key in self.rows
                      if key[:4] == (variant, policy, load, mode))

    def relative(self, policy, load, mode, cpus, variant="-"):
        """Percent of the rate with the IOMMU off."""
        off = self.value("ops/s", "off", load, "lazy", cpus,
                         variant=variant) or \
            self.value("ops/s", "off", load, "lazy", cpus)
        rate = self.value("ops/s", policy, load, mode, cpus, variant=variant)
        return 100 * rate / off if rate and off else None

    def scaling(self, policy, load, mode, cpus, variant="-"):
        """Percent of what off gains from one CPU to that many."""
        # It takes two to pass something on.
        one = 2 if load.endswith("receive") or variant != "-" else 1
        base = self.relative(policy, load, mode, one, variant)
        many = self.relative(policy, load, mode, cpus, variant)
        return 100 * many / base if base and many else None

    def faster(self, load, mode, cpus, variant="-"):
        """How many times stock's rate the series' is."""
        rates = [self.value("ops/s", policy, load, mode, cpus,
                            variant=variant) for policy in ("series", "stock")]
        return rates[0] / rates[1] if all(rates) else None


def curves(sim, load):
    """Names and keys of a figure's lines."""
    if load == "memcached":
        return [(policy, (policy, load, "lazy", "-")) for policy in MODELS]
    lines = [(f"{policy}, {mode}", (policy, load, mode, "-"))
             for mode in ("lazy", "strict") for policy in ("stock", "series")]
    lines += [(f"{policy}, strict, a unit that overlaps 10",
               (policy, load, "strict", "service=100"))
              for policy in ("stock", "series")]
    return [line for line in lines
            if sim.cpus(line[1][0], load, line[1][2], line[1][3])]


def plot(out, sim, load, title):
    """One figure: percent of off over CPUs."""
    lines = curves(sim, load)
    cpus = sim.cpus("series", load, "lazy")
    data = ["\t".join(["cpus"] + [name for name, _ in lines])]
    for number in cpus:
        row = [str(number)]
        for _, (policy, _, mode, variant) in lines:
            value = sim.relative(policy, load, mode, number, variant)
            row.append(f"{value:.6g}" if value else "NaN")
        data.append("\t".join(row))
    name = f"sim-{load}"
    plots = ", ".join(f"'{name}.dat' using 1:{n + 2} with linespoints lw 2 "
                      f"title columnheader({n + 2})"
                      for n in range(len(lines)))
    gnuplot(out, name, "\n".join(data) + "\n",
            style(name, title, "% of IOMMU off") +
            "set logscale x 2\nset xlabel 'CPUs'\nset yrange [0:105]\n"
            f"set xtics ({', '.join(map(str, cpus))})\nplot {plots}\n")
    return name


def measures(sim):
    """What is wanted: text, wanted, measured, whether it holds."""
    rows = []
    order = [sim.relative(policy, "memcached", "lazy", 16) or 0
             for policy in MODELS[:4]]
    rows.append(("2015, 16 CPUs: tree, batched, batched-percpu, magazines",
                 "in this order",
                 " < ".join(f"{value:.1f}%" for value in order),
                 order == sorted(order) and order[0] > 0))
    for cpus, wanted in ((16, 98), (256, 90)):
        for load in LAZY:
            value = sim.scaling("series", load, "lazy", cpus)
            rows.append((f"series, lazy, {load}, {cpus} CPUs: of off's scaling",
                         f">= {wanted}%", percent(value),
                         value is not None and value >= wanted))
    for load in ("large", "mixed"):
        value = sim.faster(load, "lazy", 64)
        rows.append((f"series against stock, lazy, {load}, 64 CPUs", ">= 20x",
                     times(value), value is not None and value >= 20))
    for variant, what in (("-", "one at a time"),
                          ("service=100", "10 at a time")):
        value = sim.faster("same", "strict", 64, variant)
        rate = sim.value("ops/s", "series", "same", "strict", 64,
                         variant=variant)
        limit = 1e6 if variant == "-" else 1e7
        used = 100 * rate / limit if rate else 0
        rows.append((f"series against stock, strict, 64 CPUs, unit of 1 us, "
                     f"{what}", ">= 10x, or the unit's limit",
                     f"{times(value)}, {used:.0f}% of the unit",
                     value is not None and (value >= 10 or used >= 95)))
    for cpus in (16, 64):
        timer = [sim.value("timer", policy, "bursts", "lazy", cpus)
                 for policy in ("series", "stock")]
        ratio = timer[0] / timer[1] if all(timer) else None
        rows.append((f"longest timer of the queue, rings of {cpus} CPUs full",
                     "<= 0.1x stock",
                     f"{timer[0]:.0f} us, {ratio:.3f}x" if ratio else "-",
                     ratio is not None and ratio <= 0.1))
    for lock in ("tree", "depot"):
        value = sim.value(f"{lock}%", "series", "receive", "lazy", 256)
        rows.append((f"receive, 256 CPUs: time with the {lock} lock", "< 2%",
                     percent(value), value is not None and value < 2))
    return rows


def percent(value):
    """A figure in percent, or a dash."""
    return "-" if value is None else f"{value:.2f}%"


def times(value):
    """A ratio, or a dash."""
    return "-" if value is None else f"{value:.1f}x"


def table(head, rows):
    """Texts in columns."""
    rows = [head] + [list(map(str, row)) for row in rows]
    widths = [max(len(row[n]) for row in rows) for n in range(len(head))]
    return ["  ".join([row[0].ljust(widths[0])] +
                      [text.rjust(width) for text, width in
                       zip(row[1:], widths[1:])]).rstrip() for row in rows]


def model_lines(sim):
    """The table of 2015 beside what was reported then."""
    rows = []
    for policy in ("off",) + MODELS:
        value = sim.relative(policy, "memcached", "lazy", 16)
        row = sim.get(policy, "memcached", "lazy", 16)
        if row:
            rows.append((policy, REPORTED.get(policy, "-"), f"{value:.1f}",
                         row["hottest"], row["lock"], row["move"]))
    return table(["memcached, 16 CPUs", "reported %", "simulated %", "hottest",
                  "lock ns/op", "move ns/op"], rows) + NOTE.splitlines()


def split_lines(sim, cpus):
    """Where an operation's time goes."""
    rows = []
    for (variant, policy, load, mode, number), row in sorted(
            sim.rows.items(), key=lambda item: (item[0][3], item[0][2],
                                                item[0][0], item[0][1])):
        if number != cpus or policy == "off" or load == "memcached":
            continue
        scaling = sim.scaling(policy, load, mode, cpus, variant)
        if variant != "-":
            mode += f", {variant}"
        rows.append((f"{load}, {mode}, {policy}", f"{float(row['ops/s']):.4g}",
                     percent(scaling)) +
                    tuple(row[kind] for kind in KINDS) +
                    (row["hottest"], row["hottest%"], row["tree%"],
                     row["depot%"]))
    return table([f"{cpus} CPUs", "ops/s", "scaling"] +
                 [f"{kind} ns" for kind in KINDS] +
                 ["hottest", "its %", "tree %", "depot %"], rows)


def concluded(sim, variant):
    """What is said of the policies under a variant."""
    order = [sim.relative(policy, "memcached", "lazy", 16, variant)
             for policy in MODELS[:4]]
    yield "yes" if order == sorted(order) else "NO"
    yield from (f"{value:.0f}" for value in order)
    for load in ("same", "receive", "mixed"):
        yield f"{sim.scaling('series', load, 'lazy', 16, variant):.1f}"
    yield f"{sim.faster('large', 'lazy', 64, variant):.0f}x"
    yield f"{sim.faster('same', 'strict', 64, variant):.1f}x"


def range_lines(sim):
    """Each conclusion for each variant."""
    return table(["constant, ns"] + list(CONCLUSIONS),
                 [[variant] + list(concluded(sim, variant))
                  for variant in sim.variants])


def text(out, sim):
    """All tables."""
    rows = measures(sim)
    lines = table(["measure", "wanted", "simulated", "holds"],
                  [row[:3] + ("yes" if row[3] else "NO",) for row in rows])
    lines += [""] + model_lines(sim)
    for cpus in (16, 64, 256):
        lines += [""] + split_lines(sim, cpus)
    path = out / "sim-ranges.tsv"
    if path.exists():
        lines += ["", "2015: percent of off at 16 CPUs. Loads: the series' "
                  "percent of off's scaling from 2", "CPUs to 16. 256 KiB and "
                  "strict: series against stock, 64 CPUs."]
        lines += range_lines(Simulation(path))
    return "\n".join(lines) + "\n"


SECTION = """\
<h2>Many CPUs, simulated</h2>
<p>The series' and the base's own code on simulated CPUs with clocks of their
own (tools/testing/iova/sim.sh; the constants of the model, with their sources:
<a href="sim-costs.tsv">sim-costs.tsv</a>; every run:
<a href="sim.tsv">sim.tsv</a>). Rates are relative to the IOMMU off on as many
CPUs.</p>
{plots}
<pre>{text}</pre>
"""


def write(out):
    """The plots, sim.txt, and sim.html for the page; returns the text."""
    sim = Simulation(out / "sim.tsv")
    loads = dict(row[:2] for row in read_table(out / "sim-loads.tsv"))
    names = [plot(out, sim, load, title) for load, title in loads.items()]
    (out / "sim.txt").write_text(text(out, sim))
    plots = "\n".join(f'<img src="{name}.svg" alt="{name}">'
                      for name in names)
    (out / "sim.html").write_text(SECTION.format(
        plots=plots, text=escape((out / "sim.txt").read_text())))
    return (out / "sim.txt").read_text()
