// SPDX-License-Identifier: LGPL-2.1-or-later
// What the chosen template scores at every place: colours, how often each score is there, and a threshold between what the
// target scores and the rest does.
import {Asking} from "./asking.js";
import {colour, prepared, style} from "./drawing.js";

const CLEAR = 0.1; // between the target and the rest, for a threshold to be safe

export class Scores {
  constructor({ask, onHeat, onUse}) {
    this.asking = new Asking(() => ask(this.template.id));
    this.onHeat = onHeat;
    this.template = this.found = null;
    this.threshold = 0;
    this.button = document.getElementById("use");
    this.button.addEventListener("click", () => onUse(this.found.suggested));
    new ResizeObserver(() => this.draw()).observe(document.getElementById("histogram"));
  }

  choose(template) {
    if (template?.id === this.template?.id) return;
    this.template = template ?? null;
    this.found = null;
    this.asking.on = template !== null;
    document.getElementById("scores-of").textContent = template ? `of ${template.label}` : "";
    if (!template) this.show(null);
    this.asking.want(true);
  }

  async take(found, body) {
    const image = await createImageBitmap(new Blob([body], {type: "image/jpeg"}));
    this.asking.answered();
    if (found.id === this.template?.id) this.show(found, image);
  }

  show(found, image = null) {
    this.found = found;
    const heat = document.getElementById("heat");
    heat.hidden = !image;
    if (image) {
      heat.width = image.width;
      heat.height = image.height;
      heat.getContext("2d").drawImage(image, 0, 0);
    }
    this.onHeat(image);
    this.draw();
    this.advise();
  }

  advise() {
    const [found, text] = [this.found, document.getElementById("advice")];
    this.button.hidden = !found;
    if (!found) {
      text.textContent = "What a template scores at every place, in colours.";
      return;
    }
    const {target, other, suggested} = found;
    this.button.textContent = `Use ${suggested.toFixed(2)}`;
    text.textContent = target - other >= CLEAR
      ? `The best scores ${target.toFixed(2)}, anything away from it ${other.toFixed(2)} at most.`
      : `The best scores ${target.toFixed(2)}, something else ${other.toFixed(2)}: no threshold is safe. Is the target there? Or cut another template.`;
  }

  draw() {
    const canvas = document.getElementById("histogram");
    canvas.hidden = !this.found;
    if (!this.found) return;
    const [context, width, height] = prepared(canvas);
    const {counts, target, other} = this.found;
    const [base, tallest] = [height - 15, Math.log1p(Math.max(...counts))];
    const x = (score) => score * width;
    counts.forEach((count, index) => {
      const tall = Math.log1p(count) / tallest * (base - 4);
      context.fillStyle = index / counts.length >= this.threshold ? colour(this.template.id) : style("quiet");
      context.globalAlpha = index / counts.length >= this.threshold ? 1 : 0.5;
      context.fillRect(x(index / counts.length), base - tall, width / counts.length - 1, tall);
    });
    context.globalAlpha = 1;
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = style("quiet");
    for (const score of [0, 0.25, 0.5, 0.75, 1]) context.fillText(score, Math.min(width - 8, Math.max(0, x(score) - 8)), height - 2);
    context.fillStyle = style("text");
    for (const score of [target, other]) {
      const at = Math.min(width - 4, Math.max(4, x(score)));
      context.beginPath();
      context.moveTo(at, base);
      context.lineTo(at - 4, base - 7);
      context.lineTo(at + 4, base - 7);
      context.fill();
    }
    context.fillStyle = style("accent");
    context.fillRect(x(this.threshold) - 1, 0, 2, base);
    canvas.setAttribute("aria-label", `How often each score is there: the target ${target.toFixed(2)}, the rest up to ${other.toFixed(2)}`);
  }
}
