# SPDX-License-Identifier: LGPL-2.1-or-later
"""That crowd_bench runs, and that ids change at most half as often as by overlap alone."""
import csv
import io
import subprocess
import sys

output = subprocess.run([sys.argv[1], "--crowds=1", "--frames=40"], check=True, capture_output=True, text=True).stdout
rows = {(row["tracker"], row["pace"]): row for row in csv.DictReader(io.StringIO(output))}
for pace in "125":
    overlap, filters = rows["overlap", pace], rows["filters", pace]
    print(pace, overlap, filters)
    assert int(filters["switches"]) * 2 <= int(overlap["switches"]), pace
    assert float(filters["covered"]) > max(0.9, float(overlap["covered"])), pace
