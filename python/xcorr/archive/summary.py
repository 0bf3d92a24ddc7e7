# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the parts of a folder say."""
from __future__ import annotations

import collections
import pathlib
from typing import Any, Iterator, Tuple

from .units import done, pyarrow, schema

#: The first and the last frame, the time of the first one, the best peak.
_Stretch = Tuple[int, int, int, Any]


def table_of(folder: str | pathlib.Path) -> Any:
    """All parts, as one table: one row per frame. Arrow reads parts one by one, so large archives fit."""
    pyarrow()
    from pyarrow import dataset
    return dataset.dataset([f"{folder}/{name}" for name in sorted(done(folder))], schema=schema())


def stretches(folder: str | pathlib.Path) -> tuple[int, dict[tuple[str, str], list[_Stretch]]]:
    """By file and label: the stretches of adjacent frames in which it was seen, (first, last, time, best peak)."""
    seen: dict[tuple[str, str], list[tuple[int, int, Any]]] = collections.defaultdict(list)
    frames = 0
    for batch in table_of(folder).to_batches():
        frames += batch.num_rows
        for row in batch.to_pylist():
            for peak in row["peaks"]:
                seen[row["file"], peak["label"]].append((row["frame"], row["time"], peak))
    return frames, {key: list(joined(sorted(places, key=lambda place: place[0]))) for key, places in
                    sorted(seen.items())}


def _closeness(peak: Any) -> tuple[float, float]:
    """Tracks have a confidence, other peaks a similarity."""
    return peak["confidence"] or 0, peak["similarity"] or 0


def joined(places: list[tuple[int, int, Any]]) -> Iterator[_Stretch]:
    begun: _Stretch | None = None
    for frame, at, peak in places:
        if begun and frame <= begun[1] + 1:
            begun = begun[0], frame, begun[2], max(begun[3], peak, key=_closeness)
            continue
        if begun:
            yield begun
        begun = frame, frame, at, peak
    if begun:
        yield begun


def print_summary(folder: str) -> None:
    frames, found = stretches(folder)
    print(f"{frames} frames searched")
    for (file, label), runs in found.items():
        print(f"{file}: {label} in {len(runs)} stretch{'es' if len(runs) > 1 else ''}")
        for first, last, time, peak in runs:
            print(f"  frames {first}-{last} from {time / 1e9:.3f} s, best at {peak['x']:.1f}, {peak['y']:.1f} "
                  f"with score {peak['score']:.4f}")
