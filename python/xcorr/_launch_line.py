# SPDX-License-Identifier: LGPL-2.1-or-later
"""What launch lines of GStreamer are made of."""
from __future__ import annotations


def quoted(value: object) -> str:
    """A value as launch lines have it."""
    text = str(value)
    if text.startswith('"'):  # else GStreamer would take quotes at both ends for its own, and leave them out
        text = '"' + "".join(wrapped(byte) for byte in text.encode()) + '"'
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def wrapped(byte: int) -> str:
    """As gst_value_serialize() writes it in a string."""
    character = chr(byte)
    if byte > 126 or byte < 32:
        return f"\\{byte:03o}"
    return character if character.isalnum() or character in "_-+/:." else "\\" + character
