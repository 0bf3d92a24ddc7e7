# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fields into files: CSV, VTK (for ParaView), NumPy, NetCDF and HDF5, by the file's ending."""
from __future__ import annotations

import csv
import pathlib
from typing import Any

import numpy as np

from .. import VECTOR
from .pictures import Unreadable, library

COLUMNS: tuple[str, ...] = VECTOR.names or ()


def numbered(path: pathlib.Path, number: int, several: bool) -> pathlib.Path:
    """A name for each field of a series; of a single one the name itself."""
    return path.with_name(f"{path.stem}-{number:06}{path.suffix}") if several else path


class Csv:
    """All fields in one file, a line for each window."""

    def __init__(self, path: pathlib.Path, several: bool) -> None:
        self._file = open(path, "w", newline="", encoding="utf-8")
        self._writer = csv.writer(self._file)
        self._writer.writerow(["frame", *COLUMNS])

    def write(self, number: int, vectors: np.ndarray) -> None:
        for vector in vectors.ravel():
            self._writer.writerow([number, *vector.item()])

    def close(self) -> None:
        self._file.close()


class Vtk:
    """A legacy file for each field: a structured grid of points with the displacement as a vector."""

    def __init__(self, path: pathlib.Path, several: bool) -> None:
        self._path, self._several = path, several

    def write(self, number: int, vectors: np.ndarray) -> None:
        rows, columns = vectors.shape
        flat = vectors.ravel()
        lines = ["# vtk DataFile Version 3.0", "displacements in pixels, y downwards", "ASCII",
                 "DATASET STRUCTURED_GRID", f"DIMENSIONS {columns} {rows} 1", f"POINTS {flat.size} float"]
        lines += [f"{v['x']:g} {v['y']:g} 0" for v in flat]
        lines += [f"POINT_DATA {flat.size}", "VECTORS displacement float"]
        lines += [f"{v['dx']:.6g} {v['dy']:.6g} 0" for v in flat]
        for name in COLUMNS[4:]:
            lines += [f"SCALARS {name} {'int' if name == 'status' else 'float'} 1", "LOOKUP_TABLE default"]
            lines += [f"{value:.6g}" for value in flat[name].tolist()]
        numbered(self._path, number, self._several).write_text("\n".join(lines) + "\n", encoding="ascii")

    def close(self) -> None:
        pass


class _Stacked:
    """Arrays of the shape (fields, rows, columns), written at the end."""

    def __init__(self, path: pathlib.Path, several: bool) -> None:
        self._path = path
        self._numbers: list[int] = []
        self._fields: list[np.ndarray] = []

    def write(self, number: int, vectors: np.ndarray) -> None:
        self._numbers.append(number)
        self._fields.append(vectors)

    def arrays(self) -> dict[str, np.ndarray]:
        stacked = np.stack(self._fields) if self._fields else np.empty((0, 0, 0), VECTOR)
        return {name: stacked[name] for name in COLUMNS}


class Npz(_Stacked):
    def close(self) -> None:
        arrays: dict[str, Any] = {"frame": np.array(self._numbers), **self.arrays()}
        np.savez_compressed(self._path, **arrays)


class Hdf5(_Stacked):
    def __init__(self, path: pathlib.Path, several: bool) -> None:
        super().__init__(path, several)
        self._library = library("h5py", f"writing {path.name}", "h5py")

    def close(self) -> None:
        with self._library.File(self._path, "w") as file:
            file["frame"] = self._numbers
            for name, values in self.arrays().items():
                file[name] = values


class NetCdf(_Stacked):
    def __init__(self, path: pathlib.Path, several: bool) -> None:
        super().__init__(path, several)
        self._library = library("netCDF4", f"writing {path.name}", "netCDF4")

    def close(self) -> None:
        with self._library.Dataset(self._path, "w") as file:
            arrays = self.arrays()
            for name, size in zip(("frame", "row", "column"), arrays["dx"].shape):
                file.createDimension(name, size)
            file.createVariable("frame", "i4", ("frame",))[:] = self._numbers
            for name, values in arrays.items():
                file.createVariable(name, values.dtype, ("frame", "row", "column"))[:] = values


WRITERS: dict[str, Any] = {".csv": Csv, ".vtk": Vtk, ".npz": Npz, ".h5": Hdf5, ".hdf5": Hdf5, ".nc": NetCdf}


def open_writer(path: str, several: bool) -> Any:
    """By the file's ending. Raises Unreadable for one that is not known, or whose library is missing."""
    made = WRITERS.get(pathlib.Path(path).suffix.lower())
    if made is None:
        raise Unreadable(f"{path}: its ending is none of {', '.join(WRITERS)}")
    return made(pathlib.Path(path), several)
