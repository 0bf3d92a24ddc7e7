// SPDX-License-Identifier: LGPL-2.1-or-later
// The page of a fleet. It asks again when the screen has what came: a page that sleeps asks for nothing.
import {Connection} from "./connection.js";
import {element} from "./drawing.js";
import {follow} from "./theme.js";
import {Tiles} from "./tiles.js";

const get = (id) => document.getElementById(id);
const AGAIN = 500; // ms
const MOST_EVENTS = 300;
const SIGNS = {appeared: ["▸", "good"], gone: ["◂", "quiet"], gap: ["!", "alarm"]};
let events = []; // the earliest first: cameras that were read later may have earlier ones
let since = 0; // number of the last one
let next; // timer

const connection = new Connection({state, fleet: take, error: ({text}) => trouble(text), connected: (there) => {
  if (!there) trouble("No connection to xcorr studio. Is it still running? After a new start the page is at the address printed then.");
}});
const tiles = new Tiles({onChoose: list});
get("all").addEventListener("click", () => tiles.choose(null));

function trouble(text) {
  get("lost").hidden = !text;
  get("lost").textContent = text;
}

// A server that was started again numbers events from the first one on.
function state({source}) {
  get("address").textContent = source;
  [events, since] = [[], 0];
  look();
}

function look() {
  connection.send("look", {since});
}

function take(found) {
  trouble(found.trouble && `No answer from Redis: ${found.trouble}. It is tried again.`);
  requestAnimationFrame(() => {
    show(found);
    clearTimeout(next);
    next = setTimeout(look, AGAIN);
  });
}

function show({cameras, now, events: fresh, trouble: wrong}) {
  tiles.update({cameras, now});
  get("none").hidden = cameras.length > 0 || Boolean(wrong);
  const frames = cameras.reduce((sum, {rate}) => sum + rate, 0);
  get("figures").textContent = `${cameras.length} ${cameras.length === 1 ? "camera" : "cameras"}  ·  ${frames.toFixed(0)} frames/s`;
  if (!fresh.length) return;
  if (since) get("said").textContent = fresh.slice(-3).map(({camera, label, event}) => `${camera}: ${label} ${event}`).join(", ");
  since = fresh.at(-1).number;
  events = [...events, ...fresh].sort((a, b) => a.when - b.when).slice(-MOST_EVENTS);
  list();
}

// The newest ones first, of the camera that is chosen.
function list() {
  const chosen = tiles.chosen;
  get("all").hidden = chosen === null;
  const shown = events.filter(({camera}) => chosen === null || camera === chosen).reverse();
  get("no-events").hidden = shown.length > 0;
  get("events").replaceChildren(...shown.map(({camera, event, label, when, host}) => {
    const [sign, of] = SIGNS[event];
    const mark = element("span", {textContent: sign});
    mark.setAttribute("aria-hidden", "true");
    mark.style.setProperty("color", `var(--${of})`);
    return element("li", {}, element("span", {textContent: new Date(when * 1000).toLocaleTimeString("en-GB")}), mark,
      element("b", {textContent: event === "gap" ? camera : label}), element("span", {textContent: event}),
      element("small", {textContent: event === "gap" ? `${label}${host ? `, by ${host}` : ""}` : camera}));
  }));
}

follow(() => tiles.draw());
