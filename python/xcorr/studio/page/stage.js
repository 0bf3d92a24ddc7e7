// SPDX-License-Identifier: LGPL-2.1-or-later
// The picture with its marks, and the box that somebody draws in it. While a box is drawn the picture stands still here,
// and only here: the next one is not asked for, so what is in the box is what was seen.
import {colour, prepared} from "./drawing.js";

const SMALLEST = 8;

export class Stage {
  constructor({onShown, onBox, labelOf}) {
    this.root = document.getElementById("stage");
    this.under = document.getElementById("picture");
    this.over = document.getElementById("marks");
    this.onShown = onShown;
    this.onBox = onBox;
    this.labelOf = labelOf;
    this.picture = this.next = this.box = this.heat = this.field = null;
    this.over.addEventListener("pointerdown", (event) => this.begin(event));
    this.over.addEventListener("pointermove", (event) => this.drag(event));
    this.over.addEventListener("pointerup", () => this.finish());
    this.over.addEventListener("pointercancel", () => this.cancel());
    this.root.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.root);
  }

  // A picture, of a JPEG image or of a video, is shown when the screen is drawn next. A page that sleeps draws nothing, and
  // gets nothing new.
  take(header, image) {
    if (header.number < (this.next ?? this.picture)?.number) { // of a video that has been overtaken
      image.close();
      return;
    }
    this.next?.image.close();
    this.next = {...header, image};
    if (!this.box) requestAnimationFrame(() => this.show());
  }

  show() {
    if (!this.next || this.box) return;
    this.picture?.image.close();
    [this.picture, this.next] = [this.next, null];
    this.draw();
    this.onShown(this.picture);
  }

  // From the frame's pixels to those of the page.
  place() {
    const {clientWidth: width, clientHeight: height} = this.root;
    const [w, h] = this.picture.size;
    const scale = Math.min(width / w, height / h);
    return {scale, left: (width - w * scale) / 2, top: (height - h * scale) / 2, width: w * scale, height: h * scale};
  }

  draw() {
    if (!this.picture) return;
    const [context] = prepared(this.under);
    const place = this.place();
    const {scale, left, top, width, height} = place;
    context.drawImage(this.picture.image, left, top, width, height);
    if (this.heat) {
      context.globalCompositeOperation = "screen"; // what scores little changes nothing
      context.drawImage(this.heat, left, top, width, height);
      context.globalCompositeOperation = "source-over";
    }
    const [marks] = prepared(this.over);
    this.field?.draw(this.picture.size, place, context, marks);
    const lines = [];
    for (const peak of this.picture.results.peaks) this.mark(marks, peak, scale, left, top, lines);
    if (this.box) this.frame(marks, scale, left, top);
  }

  mark(context, peak, scale, left, top, taken) {
    const points = [0, 2, 4, 6].map((i) => [left + (peak.corners[i] + 0.5) * scale, top + (peak.corners[i + 1] + 0.5) * scale]);
    const outline = new Path2D(`M${points.map((point) => point.join(" ")).join("L")}Z`);
    context.setLineDash(peak.lost ? [5, 5] : []);
    context.lineJoin = "round";
    context.lineWidth = 4.5;
    context.strokeStyle = "rgb(0 0 0 / 55%)";
    context.stroke(outline);
    context.lineWidth = 2.2;
    context.strokeStyle = colour(peak["template-id"]);
    context.stroke(outline);
    context.setLineDash([]);
    const text = `${this.labelOf(peak["template-id"]) ?? peak.label}${peak.id ? ` #${peak.id}` : ""}  ${peak.score.toFixed(2)}${peak.lost ? "  lost" : ""}`;
    context.font = "600 12px system-ui, sans-serif";
    const width = context.measureText(text).width + 12;
    const x = Math.min(...points.map((point) => point[0])) - 1;
    let y = Math.min(...points.map((point) => point[1])) - 23;
    if (y < 2) y = Math.max(...points.map((point) => point[1])) + 4;
    while (taken.some((other) => Math.abs(other[1] - y) < 19 && x < other[0] + other[2] && other[0] < x + width)) y += 20;
    taken.push([x, y, width]);
    context.fillStyle = colour(peak["template-id"]);
    context.beginPath();
    context.roundRect(x, y, width, 19, 5);
    context.fill();
    context.fillStyle = "#11161c";
    context.fillText(text, x + 6, y + 13.5);
  }

  frame(context, scale, left, top) {
    const {x, y, width, height} = this.box;
    const [x0, y0, w, h] = [left + x * scale, top + y * scale, width * scale, height * scale];
    context.fillStyle = "rgb(0 0 0 / 38%)";
    context.fill(new Path2D(`M0 0H${this.root.clientWidth}V${this.root.clientHeight}H0Z M${x0} ${y0}v${h}h${w}v${-h}Z`), "evenodd");
    context.lineWidth = 1.5;
    context.strokeStyle = "#fff";
    context.strokeRect(x0, y0, w, h);
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = "#fff";
    context.fillText(`${width} × ${height}`, x0, y0 + h + 16);
  }

  // The pixel of the frame below the mouse.
  at(event) {
    const {scale, left, top} = this.place();
    const bounds = this.root.getBoundingClientRect();
    const [w, h] = this.picture.size;
    return [Math.min(w, Math.max(0, Math.round((event.clientX - bounds.left - this.root.clientLeft - left) / scale))),
            Math.min(h, Math.max(0, Math.round((event.clientY - bounds.top - this.root.clientTop - top) / scale)))];
  }

  begin(event) {
    if (!this.picture || event.button !== 0) return;
    this.over.setPointerCapture(event.pointerId);
    const [x, y] = this.at(event);
    this.from = [x, y];
    this.box = {x, y, width: 0, height: 0};
    this.draw();
  }

  drag(event) {
    if (!this.box || !this.from) return;
    const [[x0, y0], [x1, y1]] = [this.from, this.at(event)];
    this.box = {x: Math.min(x0, x1), y: Math.min(y0, y1), width: Math.abs(x1 - x0), height: Math.abs(y1 - y0)};
    this.draw();
  }

  finish() {
    if (!this.box) return;
    const {x, y, width, height} = this.box;
    if (width >= SMALLEST && height >= SMALLEST) this.onBox(this.picture.number, [x, y, width, height]);
    this.cancel();
  }

  cancel() {
    this.box = this.from = null;
    this.draw();
    requestAnimationFrame(() => this.show());
  }

  // A box by the keyboard, in the middle at first.
  offer() {
    if (!this.picture || this.box) return;
    const [w, h] = this.picture.size;
    const [width, height] = [Math.round(w / 8), Math.round(w / 8)].map((side) => Math.max(SMALLEST, Math.min(side, w, h)));
    this.box = {x: Math.round((w - width) / 2), y: Math.round((h - height) / 2), width, height};
    this.root.focus();
    this.draw();
  }

  key(event) {
    const move = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
    if (!this.box || this.from) return;
    if (move) this.change(move[0] * (event.ctrlKey ? 1 : 4), move[1] * (event.ctrlKey ? 1 : 4), event.shiftKey);
    else if (event.key === "Enter") this.finish();
    else if (event.key === "Escape") this.cancel();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  change(across, down, size) {
    const [w, h] = this.picture.size;
    const {x, y, width, height} = this.box;
    const within = (value, least, most) => Math.min(most, Math.max(least, value));
    this.box = size ? {x, y, width: within(width + across, SMALLEST, w - x), height: within(height + down, SMALLEST, h - y)}
                    : {x: within(x + across, 0, w - width), y: within(y + down, 0, h - height), width, height};
    this.draw();
  }
}
