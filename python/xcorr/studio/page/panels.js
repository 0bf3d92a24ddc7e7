// SPDX-License-Identifier: LGPL-2.1-or-later
// Templates, sliders, events and the export. Whatever comes from files or people becomes text, never HTML.
import {clock, colour, element, thumbnail} from "./drawing.js";

const get = (id) => document.getElementById(id);

export class Templates {
  constructor({onChoose, onRemove}) {
    this.list = get("templates");
    this.onChoose = onChoose;
    this.onRemove = onRemove;
    this.items = new Map();
    this.chosen = null;
  }

  // The newest one is chosen when it comes.
  update(templates) {
    const before = new Set(this.items.keys());
    const there = new Set(templates.map(({id}) => id));
    for (const [id, item] of this.items) if (!there.has(id)) item.root.remove(), this.items.delete(id);
    for (const template of templates) if (!this.items.has(template.id)) this.add(template);
    get("none").hidden = templates.length > 0;
    const fresh = templates.filter(({id}) => !before.has(id)).at(-1);
    this.choose(fresh?.id ?? (there.has(this.chosen) ? this.chosen : templates.at(-1)?.id ?? null));
  }

  add({id, label, size}) {
    const image = element("img", {src: `template/${id}`, alt: ""});
    image.style.setProperty("--of-template", colour(id));
    const [score, state] = [element("span"), element("small")];
    const choose = element("button", {type: "button", className: "choose", title: label}, image,
      element("span", {}, element("b", {textContent: label}), element("small", {textContent: `${size[0]} × ${size[1]}`})),
      element("span", {className: "score"}, score, state));
    const remove = element("button", {type: "button", className: "remove", textContent: "×", title: "Remove"});
    remove.setAttribute("aria-label", `Remove ${label}`);
    choose.addEventListener("click", () => this.choose(id));
    remove.addEventListener("click", () => this.onRemove(id));
    const root = element("li", {}, choose, remove);
    this.items.set(id, {root, choose, score, state, label, size});
    this.list.append(root);
  }

  choose(id) {
    this.chosen = id;
    for (const [each, {root, choose}] of this.items) {
      root.classList.toggle("chosen", each === id);
      choose.setAttribute("aria-pressed", each === id);
    }
    this.onChoose(id === null ? null : {id, label: this.label(id)});
  }

  label(id) {
    return this.items.get(id)?.label;
  }

  // Of one frame; returns what is new to say.
  show(peaks) {
    const news = [];
    for (const [id, item] of this.items) {
      const found = peaks.filter((peak) => peak["template-id"] === id);
      const best = found.reduce((one, other) => (one && one.score >= other.score ? one : other), null);
      const state = !best ? "not found" : best.state === "none" ? "found" : best.state;
      item.score.textContent = best ? best.score.toFixed(2) : "–";
      if (item.shown === `${state}${found.length}`) continue;
      item.shown = `${state}${found.length}`;
      item.state.textContent = found.length > 1 ? `${found.length} places` : state;
      item.state.className = state.replace(" ", "-");
      news.push(`${item.label}: ${item.state.textContent}`);
    }
    return news;
  }
}

export class Events {
  constructor({onSeek}) {
    this.onSeek = onSeek;
  }

  // The newest ones first.
  show(events, canSeek) {
    get("no-events").hidden = events.length > 0;
    get("events").replaceChildren(...[...events].reverse().map(({event, label, template, when, number}) => {
      const sign = element("span", {textContent: event === "appeared" ? "▸" : "◂"});
      sign.setAttribute("aria-hidden", "true");
      sign.style.setProperty("color", template ? colour(template) : "inherit");
      const line = element("button", {type: "button", disabled: !canSeek}, thumbnail(number) ?? element("span"),
        element("span", {textContent: clock(when)}), sign,
        element("b", {textContent: label}), element("span", {textContent: event}));
      line.addEventListener("click", () => this.onSeek(when));
      return element("li", {}, line);
    }));
  }
}

// Sizes double and halve at both ends of their sliders, and the template's own is in the middle.
const sizeOf = (place) => Math.round(100 * 2 ** place) / 100;
const size = (place) => `× ${sizeOf(place).toFixed(2)}`;
const degrees = (value) => (value === 0 ? "upright" : value === 180 ? "any" : `±${value}°`);
const SLIDERS = {
  threshold: (value) => value.toFixed(2), angles: degrees, smallest: size, largest: size, peaks: (value) => `${value}`,
};
const CHOICES = ["track", "match_on"];

export class Settings {
  constructor({onChange}) {
    this.onChange = onChange;
    for (const id of Object.keys(SLIDERS)) {
      get(id).addEventListener("input", () => this.touched(id));
      get(id).addEventListener("change", () => this.send());
    }
    for (const id of CHOICES) get(id).addEventListener("change", () => this.send());
  }

  // While a slider moves, the newest place of it is sent a few times a second.
  touched(id) {
    this.label(id);
    if (get("smallest").valueAsNumber > get("largest").valueAsNumber) { // one takes the other along
      const other = id === "smallest" ? "largest" : "smallest";
      get(other).value = get(id).value;
      this.label(other);
    }
    this.later ??= setTimeout(() => this.send(), 70);
  }

  send() {
    clearTimeout(this.later);
    this.later = undefined;
    const {threshold, angles, smallest, largest, peaks} = Object.fromEntries(
      Object.keys(SLIDERS).map((id) => [id, get(id).valueAsNumber]));
    const choices = Object.fromEntries(CHOICES.map((id) => [id, get(id).value]));
    this.sent = performance.now();
    this.onChange({threshold, angles: [-angles, angles], scales: [sizeOf(smallest), sizeOf(largest)], peaks, ...choices});
  }

  label(id) {
    const text = SLIDERS[id](get(id).valueAsNumber);
    document.querySelector(`output[for=${id}]`).textContent = text;
    get(id).setAttribute("aria-valuetext", text);
  }

  // As the server has them, which another page may have changed. A slider that moves stays where the hand is.
  update({threshold, angles, scales, peaks, ...choices}) {
    if (performance.now() - (this.sent ?? -1000) < 400) return;
    const values = {threshold, angles: angles[1], smallest: Math.log2(scales[0]), largest: Math.log2(scales[1]), peaks};
    for (const [id, value] of Object.entries(values)) {
      get(id).value = value;
      this.label(id);
    }
    for (const id of CHOICES) get(id).value = choices[id];
  }

  use(threshold) {
    get("threshold").value = threshold;
    this.label("threshold");
    this.send();
  }
}

const FORMS = ["line", "c", "python", "settings"];

export class Export {
  constructor() {
    this.texts = {};
    this.kind = "line";
    this.of = ""; // or "field-"
    get("export-of").addEventListener("change", (event) => {
      this.of = event.target.value;
      this.choose(this.kind);
    });
    for (const kind of FORMS) get(`as-${kind}`).addEventListener("click", () => this.choose(kind));
    get("copy").addEventListener("click", async () => {
      await navigator.clipboard.writeText(this.texts[this.of + this.kind]);
      get("copy").textContent = "Copied";
      setTimeout(() => (get("copy").textContent = "Copy"), 1500);
    });
  }

  choose(kind) {
    this.kind = this.of + kind in this.texts ? kind : "line";
    for (const each of FORMS) {
      get(`as-${each}`).setAttribute("aria-pressed", each === this.kind);
      get(`as-${each}`).hidden = !(this.of + each in this.texts);
    }
    const text = this.texts[this.of + this.kind];
    get("export").classList.toggle("code", this.kind !== "line");
    get("export").textContent = text || "There is something to export when there is a template.";
    get("copy").disabled = !text;
  }

  // A field that is new is what is exported at first.
  update(texts) {
    const [had, has] = [this.texts, texts].map((each) => "field-line" in each);
    if (had !== has) this.of = has ? "field-" : "";
    this.texts = texts;
    get("export-of").hidden = !has;
    get("export-of").value = this.of;
    this.choose(this.kind);
  }
}
