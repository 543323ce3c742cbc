#!/usr/bin/env python3
"""Converts the output of a benchmark on stdin to CSV rows on stdout, for scripts/bench_append.sh.

    bench_rows.py methods|table|measure|pipeline DATE COMMIT MACHINE <OUTPUT
"""
import csv
import json
import re
import sys


def methods_rows(text):
    """JSON of 'supple bench'; the reference is the scalar implementation of the same run."""
    for result in json.loads(text)["results"]:
        contact = {True: " contact", False: " no contact", None: ""}[result["contact"]]
        case = f"{result['input']} {result['method']}{contact} {result['device']} {result['threads']} threads"
        if result["instances"] > 1:
            case += f" {result['instances']} instances"
        yield case + " step", result["step_ms"], "ms", result["ratio_to_reference"]
        yield case + " bind", result["bind_ms"], "ms", None


def table_rows(text):
    """Markdown rows of bench_table; the reference is the published time of the same column."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 9 or cells[0] == "body":
            continue
        published = [field.strip() for field in cells[8].split(";")]
        # Columns: body, sizes, pre, sim, us, fps, col, fps with col, published (sizes; pre; sim; us; fps; col; fps).
        for name, column, index in (("pre", 2, 1), ("sim", 3, 2), ("us", 4, 3), ("col", 6, 5)):
            value = float(cells[column])
            try:
                ratio = float(published[index]) / value
            except (IndexError, ValueError, ZeroDivisionError):
                ratio = None
            yield f"{cells[0]} {name}", value, "ms", ratio


def measure_rows(text):
    """Rows of bench_measure with a brute force time; the reference is brute force."""
    scene = text.split(":")[0]
    for line in text.splitlines():
        fields = line.split()
        if len(fields) == 6 and fields[5].endswith("x"):
            yield f"{scene} pose {fields[0]} crossings", float(fields[2]), "ms", float(fields[5][:-1])


def pipeline_rows(text):
    """Lines of bench_pipeline; the reference is the target time, if there is one."""
    for line in text.splitlines():
        match = re.match(r"(.*?)\s+([0-9.]+) ms(.*)", line)
        if match:
            target = re.search(r"target: ([0-9.]+) ms", match[3])
            value = float(match[2])
            yield match[1].strip(), value, "ms", float(target[1]) / value if target and value > 0 else None


def main():
    parsers = {"methods": methods_rows, "table": table_rows, "measure": measure_rows, "pipeline": pipeline_rows}
    if len(sys.argv) != 5 or sys.argv[1] not in parsers:
        sys.exit(__doc__)
    name, date, commit, machine = sys.argv[1:]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    count = 0
    for case, value, unit, ratio in parsers[name](sys.stdin.read()):
        ratio_text = "" if ratio is None else f"{ratio:.4g}"
        writer.writerow([date, commit, machine, name, case, f"{value:.6g}", unit, ratio_text])
        count += 1
    if count == 0:
        sys.exit(f"bench_rows: no results in the output of {name}")


main()
