# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the parts of a folder say."""
import collections

from .units import done, pyarrow, schema


def table_of(folder):
    """All parts, as one table: one row per frame. Arrow reads parts one by one, so large archives fit."""
    pyarrow()
    from pyarrow import dataset
    return dataset.dataset([f"{folder}/{name}" for name in sorted(done(folder))], schema=schema())


def stretches(folder):
    """By file and label: the stretches of adjacent frames in which it was seen, (first, last, time, best peak)."""
    seen = collections.defaultdict(list)
    frames = 0
    for batch in table_of(folder).to_batches():
        frames += batch.num_rows
        for row in batch.to_pylist():
            for peak in row["peaks"]:
                seen[row["file"], peak["label"]].append((row["frame"], row["time"], peak))
    return frames, {key: list(joined(sorted(places, key=lambda place: place[0]))) for key, places in
                    sorted(seen.items())}


def joined(places):
    first = last = time = best = None
    for frame, at, peak in places:
        if first is not None and frame <= last + 1:
            last = frame
            best = max(best, peak, key=lambda one: one["confidence"])
            continue
        if first is not None:
            yield first, last, time, best
        first = last = frame
        time, best = at, peak
    if first is not None:
        yield first, last, time, best


def print_summary(folder):
    frames, found = stretches(folder)
    print(f"{frames} frames searched")
    for (file, label), runs in found.items():
        print(f"{file}: {label} in {len(runs)} stretch{'es' if len(runs) > 1 else ''}")
        for first, last, time, peak in runs:
            print(f"  frames {first}-{last} from {time / 1e9:.3f} s, best at {peak['x']:.1f}, {peak['y']:.1f} "
                  f"with score {peak['score']:.4f}")
