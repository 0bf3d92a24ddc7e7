# SPDX-License-Identifier: LGPL-2.1-or-later
"""The file that says which cameras there are."""
from __future__ import annotations

import dataclasses
import math
import os
import reprlib
from typing import Any

from .._missing import need

LARGEST = 1 << 18  # characters of a file
# Properties that the fleet sets itself.
RESERVED = ("camera-id", "name", "template", "templates", "template-sample")


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
        text = file.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise ValueError(f"{path}: it has more than {LARGEST} characters")
    try:
        content = yaml.load(text, loader(yaml))
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from None
    try:
        return cameras_of(content, os.path.dirname(os.path.abspath(path)))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def loader(yaml: Any) -> Any:
    """A safe one, without aliases, of which a few lines make gigabytes, and keys that are there twice."""
    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError(f"line {self.peek_event().start_mark.line + 1}: aliases are not taken")
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = set()
            for key, _ in node.value:
                if key.value in keys if isinstance(key, yaml.ScalarNode) else False:
                    raise yaml.YAMLError(f"line {key.start_mark.line + 1}: {key.value!r} is there twice")
                keys.add(key.value if isinstance(key, yaml.ScalarNode) else None)
            return super().construct_mapping(node, deep)
    return Loader


def cameras_of(content: Any, folder: str) -> list[Camera]:
    """The cameras of a file's content."""
    checked(content, "the file", {"redis": str, "cameras": dict}, required={"redis", "cameras"})
    kinds = {"uri": str, "source": str, "templates": list, "settings": dict, "cpus": (int, float), "gpus": (int, float)}
    cameras = []
    address_of(content["redis"])
    names = set()
    for name, values in content["cameras"].items():
        where = f"camera {reprlib.repr(name)}"
        if isinstance(name, bool) or not isinstance(name, (str, int)) or name == "":
            raise ValueError(f"{where}: a name is a text or a number")
        if str(name) in names:
            raise ValueError(f"{where} is there twice")
        names.add(str(name))
        checked(values, where, kinds, required={"templates"})
        if ("uri" in values) == ("source" in values):
            raise ValueError(f"{where} needs either 'uri' or 'source'")
        if not values["templates"]:
            raise ValueError(f"{where} has no templates")
        check_settings(values.get("settings", {}), where)
        for share in ("cpus", "gpus"):
            if not 0 <= values.get(share, 0) < math.inf:
                raise ValueError(f"{where}: {share!r} cannot be {values[share]!r}")
        if not all(isinstance(template, str) for template in values["templates"]):
            raise ValueError(f"{where}: templates are names of files")
        templates = tuple(os.path.join(folder, template) for template in values["templates"])
        for template in templates:
            if not os.path.isfile(template):
                raise ValueError(f"{where}: there is no template {template}")
        cameras.append(Camera(str(name), content["redis"], **(values | {"templates": templates})))
    return cameras


def address_of(text: str) -> None:
    """Raises a ValueError unless the address is one that xcorrredis takes, as far as it could do harm here."""
    if "?" in text:
        raise ValueError("'redis' has options behind a '?': there are none")
    if ":" in text.split("://")[-1].rpartition("@")[0]:
        raise ValueError("a password belongs in the environment's REDISCLI_AUTH, not in 'redis'")


def check_settings(settings: dict[Any, Any], where: str) -> None:
    for key, value in settings.items():
        if not isinstance(key, str) or not isinstance(value, (str, int, float)):
            raise ValueError(f"{where}: the setting {reprlib.repr(key)} cannot be {reprlib.repr(value)}")
        if key.replace("_", "-") in RESERVED:
            raise ValueError(f"{where}: {key!r} is no setting: the fleet sets it")


def checked(values: Any, where: str, kinds: dict[str, Any], required: set[str]) -> None:
    """Raises a ValueError unless the values are a mapping of these kinds."""
    if not isinstance(values, dict):
        raise ValueError(f"{where} is no mapping of {', '.join(kinds)}")
    for key, value in values.items():
        if key not in kinds:
            raise ValueError(f"{where} has {reprlib.repr(key)}; it may have {', '.join(kinds)}")
        if isinstance(value, bool) or not isinstance(value, kinds[key]):
            raise ValueError(f"{where}: {key!r} cannot be {reprlib.repr(value)}")
    for key in sorted(required - values.keys()):
        raise ValueError(f"{where} lacks {key!r}")
