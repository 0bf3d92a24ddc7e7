# SPDX-License-Identifier: LGPL-2.1-or-later
"""What all browsers share: the source that plays, the templates, the settings; and what each of them is sent.

GStreamer's threads hand frames over and go on. A thread makes JPEG images of the newest one whenever a page waits for
one, so frames that come meanwhile are left out. A page waits from when it has shown one image until it gets the next:
one that is slow, sleeps or stalls gets fewer images, and nobody else notices.
"""
from __future__ import annotations

import concurrent.futures
import json
import pathlib
import re
import threading
from typing import Any, Callable, NamedTuple

from .._gstreamer import PipelineError
from ..field.images import Unreadable
from .client import Picture, packed
from .fields import Fields, FieldView
from .images import Encoder, Response, as_heat, cut, read_scores, sample_of, size_of, size_of_file
from .live import LiveHost
from .player import TOLD, Frame, Player
from .search import Search
from .sources import Sources
from .thumbnails import Thumbnails

MOST_TEMPLATES = MOST_REFERENCES = 200  # each a file
SMALLEST = 8  # pixels of a box
RATES = (-4.0, -2.0, -1.0, 1.0, 2.0, 4.0)


class Template(NamedTuple):
    id: int
    label: str
    path: str
    size: tuple[int, int]


def in_short(frame: Frame, thumbnails: Thumbnails) -> list[Any]:
    """For the timeline: the time, of each target template, score, state and number, and what has become of labels,
    when, with the number of the thumbnail."""
    time, peaks = frame.results["stream-time"], frame.results["peaks"]
    events = []
    for event in frame.results.get("events", ()) if time is not None else ():
        told = event[TOLD[event["event"]]]
        events.append([event["event"], event["label"], event["peak"]["template-id"],
                       (time - frame.results["running-time"] + told) / 1e9, thumbnails.number(event["label"], told)])
    return [None if time is None else time / 1e9,
            [[peak["template-id"], round(peak["score"], 4), peak["state"], peak["id"]] for peak in peaks], events]


class Studio(LiveHost):
    """One for all browsers. Its functions are called in the loop's thread; what takes time is done in others."""

    def __init__(self, sources: Sources, folder: pathlib.Path, device: str = "auto", video: str = "auto") -> None:
        super().__init__(video)
        self.templates: list[Template] = []
        self.search, self.field = Search(), FieldView()
        self.thumbnails = Thumbnails()
        self._reference, self._references = "", 0  # a file, and how many there have been
        self._sources, self._folder, self._device = sources, folder, device
        self._name = ""
        self._player: Player | None = None
        self._work = concurrent.futures.ThreadPoolExecutor(1, "studio")
        self._scoring = concurrent.futures.ThreadPoolExecutor(1, "scores")
        self._response, self._encoder, self._fields = Response(), Encoder(), Fields()
        self._newest: Frame | None = None
        self._wanted = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._encode, daemon=True)
        self._thread.start()

    # Frames.

    def _on_frame(self, frame: Frame) -> None:
        with self._changed:
            self._newest = frame
            self._changed.notify()
        self.thumbnails.take(frame)
        self.soon(self.remember, frame, in_short(frame, self.thumbnails))

    def _encode(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._wanted and self._newest)
                frame, self._newest = self._newest, None
            if self._closed or frame is None:
                return
            try:
                self.soon(self._publish, Picture(frame, self._encoder(frame.sample)))
            except RuntimeError as error:
                self.soon(self.say, "warning", str(error))

    def _publish(self, picture: Picture) -> None:
        self.latest = picture
        for client in self.clients:
            client.due.set()

    def want(self) -> None:
        with self._changed:
            self._wanted = any(client.waits() for client in self.clients)
            self._changed.notify()

    # What pages ask for.

    async def _in_turn(self, what: Callable[..., Any], *values: Any) -> Any:
        return await self._loop.run_in_executor(self._work, what, *values)

    def _playing(self) -> Player:
        if self._player is None:
            raise ValueError("nothing is open")
        return self._player

    def plays(self) -> bool:
        return self._player is not None and self._player.playing

    async def do_open(self, _: Any, message: dict[str, Any]) -> None:
        await self.open(message.get("source"))

    async def open(self, name: object) -> None:
        source = self._sources.find(name)
        self._name = ""
        try:
            await self._in_turn(self._open, source)
            self._name = str(name)
        finally:
            self.tell_state()

    def _open(self, source: str) -> None:
        if self._player:
            self._player.close()
            self._player = None
        try:
            self._player = player = Player(source, self._on_frame,
                                           lambda *event: self.soon(self._on_event, player, *event), self._device)
        except PipelineError as error:
            raise Unreadable(f"{source}: {error}") from None
        player.set(self.search.of_element(player.kind == "picture"))
        self.templates = [each._replace(id=player.add(each.path, each.label)) for each in self.templates]
        if player.kind != "picture":
            player.play(True)

    def _on_event(self, player: Player, kind: str, text: str) -> None:
        if player is not self._player:
            return
        if kind == "end":
            self._loop.run_in_executor(self._work, player.again)
        else:
            self.say(kind, text)

    async def do_play(self, _: Any, message: dict[str, Any]) -> None:
        rate = message.get("rate", 1.0)
        if rate not in RATES:
            raise ValueError(f"videos play at {', '.join(f'{each:g}' for each in RATES)} times their rate, not "
                             f"{rate!r}")
        await self._in_turn(self._playing().play, message.get("playing") is True, float(rate))
        self.tell_state()

    async def do_step(self, _: Any, message: dict[str, Any]) -> None:
        await self._in_turn(self._playing().step, 1 if message.get("frames") == 1 else -1)
        self.tell_state()

    async def do_seek(self, _: Any, message: dict[str, Any]) -> None:
        seconds = message.get("time")
        length = self._playing().duration() or 0.0
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds <= length:
            raise ValueError(f"there is nothing at {seconds!r} s")
        await self._in_turn(self._playing().seek, seconds)

    async def do_set(self, _: Any, message: dict[str, Any]) -> None:
        self.search = self.search.changed(message.get("settings"))
        player = self._playing()
        await self._in_turn(player.set, self.search.of_element(player.kind == "picture"))
        self.tell_state()

    async def do_template(self, client: Any, message: dict[str, Any]) -> None:
        """Of a box in the picture that this page shows."""
        picture = client.picture(message.get("number"))
        box = message.get("box")
        if not isinstance(box, list) or [type(each) for each in box] != [int] * 4:
            raise ValueError("a box is x, y, width and height in whole pixels")
        x, y, width, height = box
        size = size_of(picture.frame.sample)
        if min(width, height) < SMALLEST or min(x, y) < 0 or x + width > size[0] or y + height > size[1]:
            raise ValueError(f"a box has {SMALLEST}x{SMALLEST} pixels or more and lies in the picture of "
                             f"{size[0]}x{size[1]}")
        if len(self.templates) >= MOST_TEMPLATES:
            raise ValueError(f"there are {MOST_TEMPLATES} templates; remove some first")
        await self._in_turn(self._add_box, picture, (x, y, width, height), str(message.get("label") or ""))
        self.tell_state()

    def _add_box(self, picture: Picture, box: tuple[int, int, int, int], label: str) -> None:
        label = label.strip()[:64] or self._free_label()
        self._add(self._cut(picture, box, re.sub(r"[^\w -]", "_", label)), label, box[2:])

    def _cut(self, picture: Picture, box: tuple[int, int, int, int], stem: str) -> pathlib.Path:
        """Into a file that was not there before."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path, number = self._folder / f"{stem}.png", 2
        while path.exists():
            path, number = self._folder / f"{stem}-{number}.png", number + 1
        cut(picture.frame.sample, box, path)
        return path

    def _free_label(self) -> str:
        there = {each.label for each in self.templates}
        return next(name for name in (f"target {number}" for number in range(1, MOST_TEMPLATES + 2))
                    if name not in there)

    async def begin(self, templates: list[str]) -> None:
        """With the first of the sources, and these files as templates."""
        await self.open(next(iter(self._sources.names())))
        for each in templates:
            await self._in_turn(self._add, pathlib.Path(each), pathlib.Path(each).stem, size_of_file(each))
        self.tell_state()

    def _add(self, path: pathlib.Path, label: str, size: tuple[int, int]) -> None:
        made = self._playing().add(str(path.resolve()), label)
        if not made:
            raise ValueError(f"{path.name}: the element cannot use this template")
        self.templates.append(Template(made, label, str(path.resolve()), size))

    def template(self, of: object) -> Template:
        found = [each for each in self.templates if each.id == of]
        if not found:
            raise ValueError(f"there is no template {of!r}")
        return found[0]

    async def image(self, kind: str, number: int) -> tuple[bytes, str]:
        if kind == "thumbnail":
            return await self.thumbnails.get(number), "image/jpeg"
        if kind == "template":
            return pathlib.Path(self.template(number).path).read_bytes(), "image/png"
        return await super().image(kind, number)

    async def do_remove(self, _: Any, message: dict[str, Any]) -> None:
        template = self.template(message.get("id"))
        self.templates.remove(template)
        await self._in_turn(self._playing().remove, template.id)
        self.tell_state()

    async def do_scores(self, client: Any, message: dict[str, Any]) -> None:
        """The response to a template, in the picture that this page shows now."""
        template, picture = self.template(message.get("id")), client.on_screen()
        header, body = await self._loop.run_in_executor(self._scoring, self._score, picture, template)
        client.send(packed({"type": "scores", "id": template.id, **header}, body))

    def _score(self, picture: Picture, template: Template) -> tuple[dict[str, Any], bytes]:
        search = self.search
        response = self._response(picture.frame.sample, template.path, search.match_on)
        found = read_scores(response, template.size, search.peaks)
        encode = Encoder()
        try:
            return found, encode(sample_of(as_heat(response, template.size)))
        finally:
            encode.close()

    async def do_set_field(self, _: Any, message: dict[str, Any]) -> None:
        view = self.field.changed(message.get("settings"))
        if view.reference == "picture" and not self._reference:
            raise ValueError("take a picture as the reference first")
        self.field = view
        self.tell_state()

    async def do_reference(self, client: Any, _: dict[str, Any]) -> None:
        """The picture that this page shows is what fields are measured from."""
        picture = client.on_screen()
        if self._references >= MOST_REFERENCES:
            raise ValueError(f"{MOST_REFERENCES} pictures have been references; start the studio again")
        self._references += 1
        path = await self._in_turn(self._cut, picture, (0, 0, *size_of(picture.frame.sample)), "reference")
        self._reference, self.field = str(path.resolve()), self.field.changed({"reference": "picture"})
        self.tell_state()

    async def do_field(self, client: Any, _: dict[str, Any]) -> None:
        """The displacements in the picture that this page shows now."""
        picture, view = client.on_screen(), self.field
        if view.show == "off":
            raise ValueError("no field is shown")
        try:
            header, body = await self._loop.run_in_executor(self._scoring, self._fields, picture.frame, view,
                                                            self._device, self._reference)
        except RuntimeError as error:  # of every frame perhaps
            header, body = {"state": str(error)}, b""
        client.send(packed({"type": "field", "size": size_of(picture.frame.sample), **header}, body))

    # What pages are told.

    def state(self) -> dict[str, Any]:
        player, templates = self._player, [each.path for each in self.templates]
        still = player is not None and player.kind == "picture"
        source = self._sources.names().get(self._name, "")
        return {"type": "state", "source": self._name, "sources": list(self._sources.names()),
                "kind": player.kind if player else "", "duration": player.duration() if player else None,
                "playing": bool(player and player.playing), "rate": player.rate if player else 1.0,
                "settings": vars(self.search), "field": vars(self.field), "folder": str(self._folder),
                "templates": [{"id": each.id, "label": each.label, "size": each.size} for each in self.templates],
                "export": {**self.search.exported(source, self._device, templates, still),
                           **self.field.exported(source, self._device, self._reference)}}

    def tell_state(self) -> None:
        self.want()
        text = json.dumps(self.state())
        for client in self.clients:
            client.send(text)

    def say(self, kind: str, text: str) -> None:
        for client in self.clients:
            client.send(json.dumps({"type": kind, "text": text}))

    async def close(self) -> None:
        if self._player:
            await self._in_turn(self._player.close)
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(5)
        for pool in self._work, self._scoring:
            pool.shutdown()
        for each in self._encoder, self._response, self._fields, self.thumbnails:
            each.close()
