// SPDX-License-Identifier: LGPL-2.1-or-later
// What all parts of the pages need: elements, colours, and canvases with as many pixels as the screen has.
const OF_TEMPLATES = ["#ffb224", "#3ea6ff", "#f2637e", "#2fc98a", "#b583f7", "#ff8a4c", "#22c3cf", "#c3d53a"];

export const colour = (id) => OF_TEMPLATES[(id - 1) % OF_TEMPLATES.length];

// Whatever comes from files or people becomes text, never HTML.
export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

export const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);

// A context in CSS pixels, empty, and its size.
export function prepared(canvas) {
  const {clientWidth: width, clientHeight: height} = canvas;
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return [context, width, height];
}

const thumbnails = new Map(); // images by the server's numbers

// Of an event's frame, or null; the document gets an event "thumbnail" when it is there.
export function thumbnail(number) {
  if (number === null) return null;
  if (!thumbnails.has(number)) {
    const image = Object.assign(new Image(), {alt: "", src: `thumbnail/${number}`});
    image.addEventListener("load", () => document.dispatchEvent(new Event("thumbnail")));
    thumbnails.set(number, image);
  }
  return thumbnails.get(number);
}

export function forgetThumbnails(but) {
  for (const number of thumbnails.keys()) if (!but.has(number)) thumbnails.delete(number);
}

export const clock = (seconds) =>
  `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(2).padStart(5, "0")}`;
