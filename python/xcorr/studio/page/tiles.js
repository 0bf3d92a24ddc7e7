// SPDX-License-Identifier: LGPL-2.1-or-later
// Cameras of a fleet as tiles: where matches are in the last frame, frames of each second of the last minute, and gaps.
import {colour, element, prepared, style} from "./drawing.js";

const SILENT = 3; // s without a frame

export const ago = (seconds) => (seconds < 60 ? `${seconds.toFixed(0)} s` : seconds < 3600 ? `${(seconds / 60).toFixed(0)} min`
  : `${(seconds / 3600).toFixed(0)} h`);

export class Tiles {
  constructor({onChoose}) {
    this.list = document.getElementById("cameras");
    this.onChoose = onChoose;
    this.tiles = new Map();
    this.chosen = null;
    new ResizeObserver(() => this.draw()).observe(this.list);
  }

  update({cameras, now}) {
    const there = new Set(cameras.map(({name}) => name));
    for (const [name, tile] of this.tiles) if (!there.has(name)) tile.root.remove(), this.tiles.delete(name);
    if (this.chosen !== null && !there.has(this.chosen)) this.choose(null);
    for (const camera of cameras) {
      if (!this.tiles.has(camera.name)) this.add(camera.name, cameras);
      const tile = this.tiles.get(camera.name);
      [tile.camera, tile.now] = [camera, now];
      this.show(tile);
    }
    this.draw();
  }

  // In the order of their names.
  add(name, cameras) {
    const [state, rate, found, gap] = ["small", "small", "span", "small"].map((each) => element(each));
    found.className = "found";
    const [places, counts] = ["places", "counts"].map((className) => element("canvas", {className}));
    for (const canvas of [places, counts]) canvas.setAttribute("aria-hidden", "true");
    const button = element("button", {type: "button", className: "tile"}, element("span", {}, element("b", {textContent: name}), state),
      places, element("span", {}, found, rate), counts, gap);
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => this.choose(this.chosen === name ? null : name));
    const root = element("li", {}, button);
    this.tiles.set(name, {root, button, state, rate, found, gap, places, counts});
    const next = cameras.map((camera) => camera.name).slice(cameras.findIndex((camera) => camera.name === name) + 1)
      .find((other) => this.tiles.has(other));
    this.list.insertBefore(root, next === undefined ? null : this.tiles.get(next).root);
  }

  choose(name) {
    this.chosen = name;
    for (const [each, {button}] of this.tiles) button.setAttribute("aria-pressed", String(each === name));
    this.onChoose(name);
  }

  show({camera, now, state, rate, found, gap}) {
    const since = camera.last === null ? Infinity : Math.max(0, now - camera.last);
    state.textContent = since < SILENT ? "live" : since === Infinity ? "no frame yet" : `silent for ${ago(since)}`;
    state.className = since < SILENT ? "live" : "silent";
    rate.textContent = `${camera.rate.toFixed(1)}/s${camera.missed ? `, ${camera.missed} not analysed` : ""}`;
    found.textContent = camera.peaks.map(({label, score, state: of}) => `${label} ${score.toFixed(2)}${of === "lost" ? " lost" : ""}`).join(", ") || "nothing";
    found.title = found.textContent;
    const last = camera.gaps.at(-1);
    gap.textContent = camera.refused ? `${camera.refused} entries are no results` : !last ? ""
      : last.until === null ? `a gap since ${ago(now - last.from)}` : `a gap of ${(last.until - last.from).toFixed(1)} s, ${ago(now - last.until)} ago`;
  }

  draw() {
    for (const tile of this.tiles.values()) if (tile.camera) this.places(tile), this.counts(tile);
  }

  places({places, camera}) {
    const [context, width, height] = prepared(places);
    const [w, h] = camera.size;
    if (!(w > 0 && h > 0)) return;
    const scale = Math.min(width / w, height / h);
    const [left, top] = [(width - w * scale) / 2, (height - h * scale) / 2];
    context.strokeStyle = style("edge");
    context.strokeRect(left + 0.5, top + 0.5, w * scale - 1, h * scale - 1);
    context.lineWidth = 2;
    for (const {template, state, box: [x, y, wide, tall]} of camera.peaks) {
      context.strokeStyle = colour(Math.max(1, template));
      context.setLineDash(state === "lost" ? [4, 4] : []);
      context.strokeRect(left + x * w * scale, top + y * h * scale, Math.max(3, wide * w * scale), Math.max(3, tall * h * scale));
    }
    context.setLineDash([]);
  }

  // A bar a second; gaps are red.
  counts({counts, camera, now}) {
    const [context, width, height] = prepared(counts);
    const [most, begin] = [Math.max(1, ...camera.counts), Math.floor(now) - camera.counts.length];
    const each = width / camera.counts.length;
    context.fillStyle = style("accent");
    camera.counts.forEach((count, index) => {
      const tall = count / most * (height - 4);
      context.fillRect(index * each, height - 3 - tall, Math.max(1, each - 1), tall);
    });
    context.fillStyle = style("edge");
    context.fillRect(0, height - 2, width, 2);
    context.fillStyle = style("alarm");
    for (const {from, until} of camera.gaps) {
      const [start, end] = [from, until ?? now].map((time) => Math.min(width, Math.max(0, (time - begin) * each)));
      if (end > start) context.fillRect(start, height - 4, Math.max(2, end - start), 4);
    }
  }
}
