// SPDX-License-Identifier: LGPL-2.1-or-later
// The displacement field of the picture on the screen: what is measured, its map and its arrows, and what they say.
import {Asking} from "./asking.js";
import {prepared, style} from "./drawing.js";

const get = (id) => document.getElementById(id);
const SLIDERS = ["window", "spacing"];
const CHOICES = ["show", "subpixel", "reference"];
const OF_WINDOW = ["x", "y", "dx", "dy", "status", "value"]; // as the server sends them
const MASKED = 2; // and more: there is nothing to show
const SMALLEST = 0.25; // pixels of motion that the longest arrow stands for, so that noise stays small
const APART = 9; // pixels on the screen between arrows
const [MEASURED, REPLACED] = ["#f7e948", "#ff7d2e"];
// From the least to the largest; those of signed values are pale in the middle.
const LENGTHS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
const SIGNED = [[33, 102, 172], [103, 169, 207], [247, 247, 247], [239, 138, 98], [178, 24, 43]];

function mixed(ramp, share) {
  const at = Math.min(1, Math.max(0, share)) * (ramp.length - 1);
  const from = Math.min(ramp.length - 2, Math.floor(at));
  return ramp[from].map((value, index) => Math.round(value + (ramp[from + 1][index] - value) * (at - from)));
}

export class Field {
  constructor({ask, onChange, onTake, onField}) {
    this.asking = new Asking(ask);
    this.onChange = onChange;
    this.onTake = onTake;
    this.onField = onField;
    this.found = null;
    for (const id of SLIDERS) get(`field-${id}`).addEventListener("input", () => this.later());
    for (const id of CHOICES) get(`field-${id}`).addEventListener("change", () => this.choose(id));
    get("field-take").addEventListener("click", () => onTake());
    new ResizeObserver(() => this.scale()).observe(get("field-scale"));
  }

  // A picture that fields are measured from is taken when it is chosen.
  choose(id) {
    if (id === "reference" && get("field-reference").value === "picture") this.onTake();
    else this.send();
  }

  later() {
    this.label();
    this.soon ??= setTimeout(() => this.send(), 70);
  }

  send() {
    clearTimeout(this.soon);
    this.soon = undefined;
    this.sent = performance.now();
    this.onChange({...Object.fromEntries(SLIDERS.map((id) => [id, get(`field-${id}`).valueAsNumber])),
      ...Object.fromEntries(CHOICES.map((id) => [id, get(`field-${id}`).value]))});
  }

  label() {
    for (const id of SLIDERS) document.querySelector(`output[for=field-${id}]`).textContent = `${get(`field-${id}`).value} px`;
  }

  // As the server has it, which another page may have changed. A slider that moves stays where the hand is.
  update(view) {
    if (performance.now() - (this.sent ?? -1000) >= 400) for (const id of SLIDERS) get(`field-${id}`).value = view[id];
    for (const id of CHOICES) get(`field-${id}`).value = view[id];
    this.label();
    this.asking.on = view.show !== "off";
    for (const each of document.querySelectorAll(".of-field")) each.hidden = !this.asking.on;
    get("field-take").hidden = view.reference !== "picture" || !this.asking.on;
    if (!this.asking.on) this.show(null, "How far each part of the picture has moved.");
  }

  take(header, body) {
    this.asking.answered();
    if (!this.asking.on) return;
    if (!header.columns) {
      this.show(null, header.state);
      return;
    }
    const count = header.columns * header.rows;
    const arrays = OF_WINDOW.map((name, index) => [name, new Float32Array(body, index * count * 4, count)]);
    const found = {...header, count, ...Object.fromEntries(arrays)};
    const counts = [...found.status.keys()].filter((index) => found.status[index] < MASKED);
    const most = (of) => counts.reduce((largest, index) => Math.max(largest, Math.abs(of(index))), 0);
    found.longest = most((index) => Math.hypot(found.dx[index], found.dy[index]));
    found.extent = most((index) => found.value[index]) || 1;
    found.map = found.show === "none" ? null : this.map(found);
    this.show(found, `${found.state === "cut" ? "The pictures do not resemble each other. " : ""}Median ` +
      `${found["median-x"].toFixed(2)} right, ${found["median-y"].toFixed(2)} down, the longest arrow ${found.longest.toFixed(2)} ` +
      `pixels; ${(100 * found.valid).toFixed(0)} % of ${count} windows are plausible.`);
  }

  show(found, text) {
    this.found = found;
    get("field-says").textContent = text;
    this.scale();
    this.onField();
  }

  colour(found, value) {
    return found.show === "magnitude" ? mixed(LENGTHS, value / found.extent) : mixed(SIGNED, 0.5 + value / found.extent / 2);
  }

  // A pixel for each window.
  map(found) {
    const canvas = Object.assign(document.createElement("canvas"), {width: found.columns, height: found.rows});
    const image = new ImageData(found.columns, found.rows);
    for (let index = 0; index < found.count; index++) {
      image.data.set([...this.colour(found, found.value[index]), found.status[index] < MASKED ? 255 : 0], index * 4);
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }

  // Into the pictures of the stage: where that is, what is to be below the marks, and what above.
  draw(size, {scale, left, top}, under, over) {
    const found = this.found;
    if (!found || found.size[0] !== size[0] || found.size[1] !== size[1]) return;
    if (found.map) {
      const [x, y] = [found.x[0], found.y[0]].map((middle) => (middle + 0.5 - found.spacing / 2) * scale);
      under.globalAlpha = 0.62;
      under.imageSmoothingEnabled = false;
      under.drawImage(found.map, left + x, top + y, found.columns * found.spacing * scale, found.rows * found.spacing * scale);
      under.imageSmoothingEnabled = true;
      under.globalAlpha = 1;
    }
    const every = Math.max(1, Math.ceil(APART / (found.spacing * scale)));
    const longer = 1.2 * every * found.spacing / Math.max(SMALLEST, found.longest);
    const [measured, replaced] = [new Path2D(), new Path2D()];
    for (let row = 0; row < found.rows; row += every) {
      for (let column = 0; column < found.columns; column += every) {
        const index = row * found.columns + column;
        if (found.status[index] >= MASKED) continue;
        const from = [left + (found.x[index] + 0.5) * scale, top + (found.y[index] + 0.5) * scale];
        arrow(found.status[index] ? replaced : measured, from, found.dx[index] * longer * scale, found.dy[index] * longer * scale);
      }
    }
    over.lineCap = over.lineJoin = "round";
    for (const [path, colour] of [[measured, MEASURED], [replaced, REPLACED]]) {
      over.lineWidth = 3;
      over.strokeStyle = "rgb(0 0 0 / 55%)";
      over.stroke(path);
      over.lineWidth = 1.4;
      over.strokeStyle = colour;
      over.stroke(path);
    }
  }

  // The colours of the map, with their values.
  scale() {
    const canvas = get("field-scale");
    canvas.hidden = !this.found?.map;
    if (canvas.hidden) return;
    const [context, width, height] = prepared(canvas);
    const [{extent, show}, bar] = [this.found, height - 15];
    const least = show === "magnitude" ? 0 : -extent;
    for (let x = 0; x < width; x++) {
      context.fillStyle = `rgb(${this.colour(this.found, least + x / width * (extent - least))})`;
      context.fillRect(x, 0, 1, bar);
    }
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = style("quiet");
    const text = (value) => (["magnitude", "u", "v"].includes(show) ? `${value.toFixed(2)} px` : value.toPrecision(2));
    context.fillText(text(least), 0, height - 2);
    context.fillText(text(extent), width - context.measureText(text(extent)).width, height - 2);
    canvas.setAttribute("aria-label", `Colours from ${text(least)} to ${text(extent)}`);
  }
}

function arrow(path, [x, y], dx, dy) {
  const [length, turn] = [Math.hypot(dx, dy), Math.atan2(dy, dx)];
  path.moveTo(x, y);
  path.lineTo(x + dx, y + dy);
  if (length < 3) return;
  const head = Math.min(6, length * 0.45);
  for (const side of [turn + 2.6, turn - 2.6]) {
    path.moveTo(x + dx, y + dy);
    path.lineTo(x + dx + head * Math.cos(side), y + dy + head * Math.sin(side));
  }
}
