# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fields into files: CSV, VTK (for ParaView), NumPy, NetCDF and HDF5, by the file's ending."""
from __future__ import annotations

import contextlib
import csv
import os
import pathlib
from typing import Any, Callable, Iterator, NamedTuple

import numpy as np

from .. import FIELD_STATUS, VECTOR
from .images import Unreadable, library, named, say

COLUMNS: tuple[str, ...] = VECTOR.names or ()

#: As one word each.
STATUS = tuple(name.replace(" ", "_") for name in FIELD_STATUS)

#: Attributes of arrays: those by which the CF conventions say what numbers mean.
_ATTRIBUTES = {"status": {"flag_values": np.arange(len(STATUS), dtype=VECTOR["status"]),
                          "flag_meanings": " ".join(STATUS)}}


class Field(NamedTuple):
    """What is found between two images."""

    number: int  #: of the second one
    name: str  #: of the second one
    reference: np.ndarray
    vectors: np.ndarray


def numbered(path: pathlib.Path, number: int, several: bool) -> pathlib.Path:
    """A name for each field of a series; of a single one the name itself."""
    return path.with_name(f"{path.stem}-{number:06}{path.suffix}") if several else path


@contextlib.contextmanager
def whole(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Where to write a file that is to be there with all that belongs into it, or not at all."""
    part = path.with_stem(f"{path.stem}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


_METADATA = 1 << 20  # bytes; more than HDF5 adds to the numbers of a field


def _need_room(path: pathlib.Path, numbers: int) -> None:
    """Raises OSError unless so many bytes more can be written. HDF5 is not to find out by itself: a write that fails
    spoils the file, or ends the process."""
    with open(path, "ab") as file:
        end = file.tell()
        try:
            os.posix_fallocate(file.fileno(), end, numbers + _METADATA)
        finally:
            file.truncate(end)


class Csv:
    """All fields in one file, a line for each window."""

    def __init__(self, path: pathlib.Path, several: bool) -> None:
        self._file = open(path, "w", newline="", encoding="utf-8")
        self._writer = csv.writer(self._file)
        self._writer.writerow(["frame", *COLUMNS])

    def write(self, field: Field) -> None:
        columns = {name: field.vectors[name].ravel().tolist() for name in COLUMNS}
        columns["status"] = [STATUS[status] for status in columns["status"]]
        self._writer.writerows((field.number, *row) for row in zip(*columns.values()))
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class Vtk:
    """A legacy file for each field: a structured grid of points with the displacement as a vector."""

    def __init__(self, path: pathlib.Path, several: bool) -> None:
        self._path, self._several = path, several

    def write(self, field: Field) -> None:
        rows, columns = field.vectors.shape
        flat = field.vectors.ravel()
        states = ", ".join(f"{number} {name}" for number, name in enumerate(STATUS))
        lines = ["# vtk DataFile Version 3.0", f"displacements in pixels, y downwards; status: {states}", "ASCII",
                 "DATASET STRUCTURED_GRID", f"DIMENSIONS {columns} {rows} 1", f"POINTS {flat.size} float"]
        lines += [f"{v['x']:g} {v['y']:g} 0" for v in flat]
        lines += [f"POINT_DATA {flat.size}", "VECTORS displacement float"]
        lines += [f"{v['dx']:.6g} {v['dy']:.6g} 0" for v in flat]
        for name in COLUMNS[4:]:
            lines += [f"SCALARS {name} {'int' if name == 'status' else 'float'} 1", "LOOKUP_TABLE default"]
            lines += [f"{value:.6g}" for value in flat[name].tolist()]
        with whole(numbered(self._path, field.number, self._several)) as part:
            part.write_text("\n".join(lines) + "\n", encoding="ascii")

    def close(self) -> None:
        pass


class Npz:
    """Arrays of the shape (fields, rows, columns), and the names of the numbers of a status. NumPy cannot append to
    them, so they are kept until the end."""

    def __init__(self, path: pathlib.Path, several: bool) -> None:
        self._path = path
        self._numbers: list[int] = []
        self._fields: list[np.ndarray] = []

    def write(self, field: Field) -> None:
        self._numbers.append(field.number)
        self._fields.append(field.vectors)

    def close(self) -> None:
        if not self._fields:
            return
        stacked = np.stack(self._fields)
        arrays: dict[str, Any] = {"frame": np.array(self._numbers), **{name: stacked[name] for name in COLUMNS},
                                  "status_names": np.array(STATUS)}
        with whole(self._path) as part:
            np.savez_compressed(part, **arrays)


class _Growing:
    """The same, which grow by each field."""

    def __init__(self, path: pathlib.Path, opened: Callable[[pathlib.Path, str], Any],
                 flush: Callable[[Any], None]) -> None:
        _need_room(path, 0)
        self._path, self._file, self._flush = path, opened(path, "w"), flush
        self._written = 0

    def write(self, field: Field) -> None:
        _need_room(self._path, field.vectors.nbytes)
        arrays = {"frame": np.array(field.number, np.int32), **{name: field.vectors[name] for name in COLUMNS}}
        for name, values in arrays.items():
            self._array(name, values)[self._written] = values
        self._written += 1
        self._flush(self._file)

    def close(self) -> None:
        self._file.close()

    def _array(self, name: str, values: np.ndarray) -> Any:
        """That of the file, with room for these values after those of the fields before."""
        raise NotImplementedError


class Hdf5(_Growing):
    def __init__(self, path: pathlib.Path, several: bool) -> None:
        h5py = library("h5py", f"writing {path.name}", "h5py")
        super().__init__(path, h5py.File, h5py.File.flush)

    def _array(self, name: str, values: np.ndarray) -> Any:
        if not self._written:
            shape = values.shape
            made = self._file.create_dataset(name, (0, *shape), values.dtype, maxshape=(None, *shape),
                                             chunks=(1, *shape) if shape else None)
            made.attrs.update(_ATTRIBUTES.get(name, {}))
        self._file[name].resize(self._written + 1, axis=0)
        return self._file[name]


class NetCdf(_Growing):
    def __init__(self, path: pathlib.Path, several: bool) -> None:
        netcdf = library("netCDF4", f"writing {path.name}", "netCDF4")
        super().__init__(path, netcdf.Dataset, netcdf.Dataset.sync)

    def _array(self, name: str, values: np.ndarray) -> Any:
        if not self._written:
            dimensions = ("frame", "row", "column")[:1 + values.ndim]
            for dimension, size in zip(dimensions, (None, *values.shape)):
                if dimension not in self._file.dimensions:
                    self._file.createDimension(dimension, size)
            made = self._file.createVariable(name, values.dtype, dimensions,
                                             chunksizes=(1, *values.shape) if values.shape else None)
            made.setncatts(_ATTRIBUTES.get(name, {}))
        return self._file[name]


WRITERS: dict[str, Any] = {".csv": Csv, ".vtk": Vtk, ".npz": Npz, ".h5": Hdf5, ".hdf5": Hdf5, ".nc": NetCdf}


def open_writer(path: str, several: bool) -> Any:
    """By the file's ending. Raises Unreadable for one that is not known, or cannot be written."""
    made = WRITERS.get(pathlib.Path(path).suffix.lower())
    if made is None:
        raise Unreadable(f"{path}: its ending is none of {', '.join(WRITERS)}")
    if not pathlib.Path(path).parent.is_dir():  # else some find out at the end only
        raise Unreadable(f"{path}: there is no such folder")
    try:
        return made(pathlib.Path(path), several)
    except OSError as error:
        raise Unreadable(named(path, error)) from None


class Outputs:
    """The files of a series. One that cannot be written is named and left; the others go on."""

    def __init__(self, writers: dict[str, Any]) -> None:
        self._writers = writers  # by the names of their files
        self.broken = 0

    def write(self, field: Field) -> None:
        """Raises Unreadable when no file is left."""
        for name, writer in list(self._writers.items()):
            try:
                writer.write(field)
            except Exception as error:  # each library has its own
                self._give_up(name, error)
                del self._writers[name]
                with contextlib.suppress(Exception):
                    writer.close()
        if self.broken and not self._writers:
            raise Unreadable("there is no file left to write")

    def close(self) -> None:
        for name, writer in self._writers.items():
            try:
                writer.close()
            except Exception as error:
                self._give_up(name, error)

    def _give_up(self, name: str, error: Exception) -> None:
        self.broken += 1
        say(named(name, error))
