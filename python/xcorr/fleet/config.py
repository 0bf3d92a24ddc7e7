# SPDX-License-Identifier: LGPL-2.1-or-later
"""The file that says which cameras there are."""
from __future__ import annotations

import dataclasses
import os
from typing import Any

from .._missing import need


@dataclasses.dataclass(frozen=True)
class Camera:
    """A camera, and how its frames are searched."""
    name: str
    redis: str                   # as of xcorrredis' `address`
    templates: tuple[str, ...]
    uri: str = ""                # of a stream, or:
    source: str = ""             # elements in a launch line, of which frames come
    settings: dict[str, object] = dataclasses.field(default_factory=dict)  # properties of cudaxcorr
    cpus: float = 1              # its share of a worker's machine
    gpus: float = 0


def read(path: str) -> list[Camera]:
    """The cameras of a YAML file, or a ValueError that says what is wrong in it. Paths in it are relative to it."""
    yaml = need("yaml", "PyYAML", "pip install 'xcorr[ray]', or pyyaml itself")
    with open(path, encoding="utf-8") as file:
        try:
            content = yaml.safe_load(file)
        except yaml.YAMLError as error:
            raise ValueError(f"{path}: {error}") from None
    try:
        return cameras_of(content, os.path.dirname(os.path.abspath(path)))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def cameras_of(content: Any, folder: str) -> list[Camera]:
    """The cameras of a file's content."""
    checked(content, "the file", {"redis": str, "cameras": dict}, required={"redis", "cameras"})
    kinds = {"uri": str, "source": str, "templates": list, "settings": dict, "cpus": (int, float), "gpus": (int, float)}
    cameras = []
    for name, values in content["cameras"].items():
        where = f"camera {name!r}"
        checked(values, where, kinds, required={"templates"})
        if ("uri" in values) == ("source" in values):
            raise ValueError(f"{where} needs either 'uri' or 'source'")
        if not values["templates"]:
            raise ValueError(f"{where} has no templates")
        templates = tuple(os.path.join(folder, str(template)) for template in values["templates"])
        for template in templates:
            if not os.path.isfile(template):
                raise ValueError(f"{where}: there is no template {template}")
        cameras.append(Camera(str(name), content["redis"], **(values | {"templates": templates})))
    return cameras


def checked(values: Any, where: str, kinds: dict[str, Any], required: set[str]) -> None:
    """Raises a ValueError unless the values are a mapping of these kinds."""
    if not isinstance(values, dict):
        raise ValueError(f"{where} is no mapping of {', '.join(kinds)}")
    for key, value in values.items():
        if key not in kinds:
            raise ValueError(f"{where} has {key!r}; it may have {', '.join(kinds)}")
        if not isinstance(value, kinds[key]):
            raise ValueError(f"{where}: {key!r} cannot be {value!r}")
    for key in sorted(required - values.keys()):
        raise ValueError(f"{where} lacks {key!r}")
