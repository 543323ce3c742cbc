#!/usr/bin/env python3
"""Plots benchmark results over commits as SVG; needs only the Python standard library.

    scripts/bench_plot.py bench/results/MACHINE.csv -o plot.svg [--benchmark NAME] [--case TEXT] [--column COLUMN]

One line per case that contains TEXT. COLUMN is 'value' (default) or 'ratio_to_reference'. The median is plotted if a
case has several results at one commit.
"""
import argparse
import csv
import html
import math
import statistics
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, LEGEND_ROW = 900, 420, 70, 20, 40, 18
COLORS = ["#1d4ed8", "#c2410c", "#047857", "#7e22ce", "#b45309", "#0e7490", "#be185d", "#4d7c0f"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE", help="CSV files of scripts/bench_append.sh")
    parser.add_argument("-o", "--output", required=True, help="SVG file to write")
    parser.add_argument("-b", "--benchmark", help="only this benchmark: methods, table, measure, pipeline")
    parser.add_argument("-c", "--case", default="", help="only cases that contain this text")
    parser.add_argument("--column", choices=["value", "ratio_to_reference"], default="value", help="column to plot")
    parser.add_argument("--log", action="store_true", help="logarithmic vertical axis")
    return parser.parse_args()


def read_series(arguments):
    """Commits in file order, and {case: {commit: median}}; the unit of the values."""
    commits, samples, units = [], {}, set()
    for path in arguments.files:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if arguments.benchmark and row["benchmark"] != arguments.benchmark:
                    continue
                if arguments.case not in row["case"] or row[arguments.column] == "":
                    continue
                case = row["case"] if len(arguments.files) == 1 else f"{row['machine']}: {row['case']}"
                if row["commit"] not in commits:
                    commits.append(row["commit"])
                units.add(row["unit"] if arguments.column == "value" else "x")
                samples.setdefault(case, {}).setdefault(row["commit"], []).append(float(row[arguments.column]))
    series = {case: {c: statistics.median(v) for c, v in values.items()} for case, values in samples.items()}
    return commits, series, "/".join(sorted(units))


def ticks(low, high, logarithmic):
    """Positions of about five grid lines."""
    if logarithmic:
        return [10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    step = 10.0 ** math.floor(math.log10(high - low))
    while (high - low) / step < 4:
        step /= 2
    return [k * step for k in range(math.floor(low / step), math.ceil(high / step) + 1)]


def write_svg(arguments, commits, series, unit):
    values = [v for points in series.values() for v in points.values()]
    logarithmic = arguments.log and min(values) > 0
    grid = ticks(min(values) if logarithmic else 0.0, max(values) or 1.0, logarithmic)
    scale = math.log10 if logarithmic else float
    low, high = scale(grid[0]), scale(grid[-1])
    legend = TOP + HEIGHT + 50

    def x_of(commit):
        return LEFT + (WIDTH - LEFT - RIGHT) * (commits.index(commit) + 0.5) / len(commits)

    def y_of(value):
        return TOP + HEIGHT * (1.0 - (scale(value) - low) / ((high - low) or 1.0))

    total = legend + LEGEND_ROW * len(series) + 10
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}"',
           ' font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{total}" fill="white"/>',
           f'<text x="{LEFT}" y="20" font-size="14">{html.escape(arguments.column)} [{html.escape(unit)}]</text>']
    for value in grid:
        y = y_of(value)
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.4g}</text>')
    every = math.ceil(len(commits) / 12)
    for i, commit in enumerate(commits):
        if i % every == 0:
            out.append(f'<text x="{x_of(commit):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle" font-size="10">'
                       f"{html.escape(commit)}</text>")
    for k, (case, points) in enumerate(sorted(series.items())):
        color, y = COLORS[k % len(COLORS)], legend + LEGEND_ROW * k
        line = " ".join(f"{x_of(c):.1f},{y_of(points[c]):.1f}" for c in commits if c in points)
        title = html.escape(case)
        out.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2">'
                   f"<title>{title}</title></polyline>")
        out += [f'<circle cx="{x_of(c):.1f}" cy="{y_of(points[c]):.1f}" r="3" fill="{color}"/>' for c in points]
        latest = points[[c for c in commits if c in points][-1]]
        out.append(f'<rect x="{LEFT}" y="{y - 4}" width="18" height="4" fill="{color}"/>')
        out.append(f'<text x="{LEFT + 26}" y="{y + 2}">{title}: {latest:.4g} {html.escape(unit)}</text>')
    out.append("</svg>")
    with open(arguments.output, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


def main():
    arguments = parse_arguments()
    commits, series, unit = read_series(arguments)
    if not series:
        sys.exit("bench_plot: no results match; check --benchmark, --case and --column")
    write_svg(arguments, commits, series, unit)
    print(f"{arguments.output}: {len(series)} cases, {len(commits)} commits")


main()
