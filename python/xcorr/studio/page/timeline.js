// SPDX-License-Identifier: LGPL-2.1-or-later
// Scores over time, a line for each template, with what was lost or missing left out below it, and events above it, with
// thumbnails of the first and the last frame. Of a file the whole length is shown, of a camera the last minute; the wheel
// zooms, a click goes there.
import {clock, colour, forgetThumbnails, prepared, style, thumbnail} from "./drawing.js";

const PARTS = 4000; // of a file's length, each with its last score
const MOST_EVENTS = 200;
const STRIP = 38; // pixels, of thumbnails
const LIVE = {span: 60, part: 1 / 30}; // s

export class Timeline {
  constructor({onSeek, onEvents}) {
    this.onEvents = onEvents;
    this.canvas = document.getElementById("timeline");
    this.onSeek = onSeek;
    this.threshold = 0;
    this.templates = [];
    this.reset(null);
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.seek(event);
    });
    this.canvas.addEventListener("pointermove", (event) => event.buttons && this.seek(event));
    this.canvas.addEventListener("wheel", (event) => this.zoom(event), {passive: false});
    document.addEventListener("thumbnail", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  reset(duration) {
    this.duration = duration;
    this.part = duration ? duration / PARTS : LIVE.part;
    this.rows = new Map();
    this.events = new Map(); // a video that plays again has them again
    this.tell();
    this.view = [0, duration ?? LIVE.span];
    this.now = 0;
    this.canvas.setAttribute("aria-valuemax", (duration ?? 0).toFixed(2));
    this.draw();
  }

  // Records are [time, [[template, score, state, track], ...], [[event, label, template, time, thumbnail], ...]].
  add(history) {
    for (const [time, peaks, events] of history) {
      for (const [event, label, template, when, number] of events) {
        this.events.set(`${event} ${label} ${when.toFixed(1)}`, {event, label, template, when, number});
      }
      if (events.length) this.tell();
      if (time === null) continue;
      const part = Math.floor(time / this.part);
      for (const row of this.rows.values()) row.delete(part);
      for (const [template, score, state] of peaks) {
        if (!this.rows.has(template)) this.rows.set(template, new Map());
        const row = this.rows.get(template);
        if (!row.has(part) || row.get(part)[0] < score) row.set(part, [score, state]);
      }
      this.now = time;
    }
    if (!this.duration) {
      this.view = [Math.max(0, this.now - LIVE.span), Math.max(LIVE.span, this.now)];
      for (const row of this.rows.values()) {
        for (const part of row.keys()) if (part * this.part < this.view[0]) row.delete(part); else break;
      }
    }
    this.canvas.setAttribute("aria-valuenow", this.now.toFixed(2));
    this.canvas.setAttribute("aria-valuetext", clock(this.now));
  }

  // The last ones, in the order of their times.
  tell() {
    const sorted = [...this.events].sort((a, b) => a[1].when - b[1].when).slice(-MOST_EVENTS);
    this.events = new Map(sorted);
    forgetThumbnails(new Set(sorted.map(([, {number}]) => number)));
    this.canvas.classList.toggle("with-thumbnails", sorted.some(([, {number}]) => number !== null));
    this.onEvents(sorted.map(([, event]) => event));
  }

  seek(event) {
    const {left, width} = this.canvas.getBoundingClientRect();
    const [from, to] = this.view;
    const time = from + (event.clientX - left) / width * (to - from);
    if (this.duration) this.onSeek(Math.min(this.duration, Math.max(0, time)));
  }

  zoom(event) {
    if (!this.duration) return;
    event.preventDefault();
    const {left, width} = this.canvas.getBoundingClientRect();
    const [from, to] = this.view;
    const share = (event.clientX - left) / width;
    const span = Math.min(this.duration, Math.max(this.part * 50, (to - from) * 1.0015 ** event.deltaY));
    const start = Math.min(this.duration - span, Math.max(0, from + share * (to - from - span)));
    this.view = [start, start + span];
    this.draw();
  }

  draw() {
    const [context, width, height] = prepared(this.canvas);
    const [from, to] = this.view;
    const bands = Math.min(this.templates.length, 4) * 6;
    const strip = this.canvas.classList.contains("with-thumbnails") ? STRIP : 0;
    const [top, bottom] = [strip + 9, height - 22 - bands];
    const x = (time) => (time - from) / (to - from) * width;
    const y = (score) => bottom - Math.max(0, Math.min(1, score)) * (bottom - top);
    this.scale(context, width, height, x, y);
    this.templates.forEach(({id}, index) => this.row(context, id, x, y, bottom + 4 + index * 6, index < 4));
    const taken = [];
    for (const {event, template, when, number} of this.events.values()) {
      const at = x(when);
      if (strip && at >= 0 && at <= width) this.picture(context, at, event === "appeared", template, number, taken);
      this.mark(context, at, strip, event === "appeared", template);
    }
    context.setLineDash([4, 4]);
    context.strokeStyle = style("quiet");
    context.beginPath();
    context.moveTo(0, y(this.threshold));
    context.lineTo(width, y(this.threshold));
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = style("accent");
    context.fillRect(x(this.now) - 1, 0, 2, height - 18);
  }

  // A triangle that points on where something appears, and back where it is gone.
  mark(context, x, y, appeared, template) {
    const way = appeared ? 7 : -7;
    context.fillStyle = colour(template || 1);
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + way, y + 4);
    context.lineTo(x, y + 8);
    context.fill();
  }

  // A thumbnail begins where something appears, and ends where it is gone. Those that have no room are left out.
  picture(context, x, appeared, template, number, taken) {
    const image = thumbnail(number);
    if (!image?.naturalWidth) return;
    const tall = STRIP - 4;
    const wide = Math.round(tall * image.naturalWidth / image.naturalHeight);
    const left = appeared ? x : x - wide;
    if (taken.some((other) => Math.abs(other - left) < wide + 2)) return;
    taken.push(left);
    context.drawImage(image, left, 1, wide, tall);
    context.strokeStyle = context.fillStyle = colour(template || 1);
    context.lineWidth = 1;
    context.strokeRect(left + 0.5, 1.5, wide - 1, tall - 1);
    context.fillRect(appeared ? x : x - 2, 1, 2, tall + 3);
  }

  scale(context, width, height, x, y) {
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = style("quiet");
    context.strokeStyle = style("edge");
    context.lineWidth = 1;
    for (const score of [0, 0.5, 1]) {
      context.beginPath();
      context.moveTo(0, Math.round(y(score)) + 0.5);
      context.lineTo(width, Math.round(y(score)) + 0.5);
      context.stroke();
      if (score) context.fillText(score, width - 22, y(score) + 12);
    }
    const [from, to] = this.view;
    const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600].find((each) => (to - from) / each <= 9) ?? 7200;
    for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
      const text = clock(time).replace(/\.?0+$/, (zeros) => (zeros.includes(".") ? "" : zeros));
      context.fillText(text, Math.max(4, Math.min(width - 34, x(time) - 8)), height - 6);
    }
  }

  row(context, id, x, y, band, banded) {
    const parts = [...(this.rows.get(id) ?? [])].sort((a, b) => a[0] - b[0]);
    const gap = Math.max(3, 0.2 / this.part);
    context.strokeStyle = context.fillStyle = colour(id);
    context.lineWidth = 1.6;
    context.beginPath();
    let before = -Infinity;
    for (const [part, [score]] of parts) {
      const place = [x((part + 0.5) * this.part), y(score)];
      if (part - before > gap) context.moveTo(...place); else context.lineTo(...place);
      before = part;
    }
    context.stroke();
    if (!banded) return;
    before = -Infinity;
    for (const [part, [, state]] of parts) {
      context.globalAlpha = {lost: 0.15, tentative: 0.45}[state] ?? 1;
      const start = part - before > gap ? part : before;
      context.fillRect(x(start * this.part), band, Math.max(1, x((part + 1) * this.part) - x(start * this.part)), 4);
      before = part + 1;
    }
    context.globalAlpha = 1;
  }
}
