// SPDX-License-Identifier: LGPL-2.1-or-later
// The page: what comes from the server goes to its part, what somebody does goes to the server.
import {Connection} from "./connection.js";
import {clock} from "./drawing.js";
import {Field} from "./field.js";
import {listen} from "./keyboard.js";
import {Events, Export, Settings, Templates} from "./panels.js";
import {Scores} from "./scores.js";
import {Stage} from "./stage.js";
import {follow} from "./theme.js";
import {Timeline} from "./timeline.js";
import {Video} from "./video.js";

const get = (id) => document.getElementById(id);
const FASTEST = 4;
let state = {playing: false, rate: 1, duration: null, templates: []};
let opened = null; // the source that the timeline is of
const times = []; // ms, of the last pictures
const delays = []; // ms

const connection = new Connection({state: take, picture, scores: (header, body) => scores.take(header, body), field: (header, body) => field.take(header, body),
  frame, offer: (header) => video.offer(header), candidate: (header) => video.candidate(header), images: ({text}) => video.giveUp(text),
  error: news, warning: news, connected});
const video = new Video({send: (what, values) => connection.send(what, values), onFrame: (header, image) => stage.take(header, image),
  onChange: (way, why = "") => {
    get("way").textContent = way;
    get("way").title = why;
  }});
const stage = new Stage({onShown: shown, labelOf: (id) => templates.label(id),
  onBox: (number, box) => {
    connection.send("template", {number, box, label: get("label").value});
    get("label").value = "";
  }});
const events = new Events({onSeek: seek});
const timeline = new Timeline({onSeek: seek, onEvents: (some) => events.show(some, state.duration !== null)});
const templates = new Templates({onRemove: (id) => connection.send("remove", {id}), onChoose: (one) => scores.choose(one)});
const settings = new Settings({onChange: (values) => {
  timeline.threshold = scores.threshold = values.threshold;
  timeline.draw();
  scores.draw();
  connection.send("set", {settings: values});
}});
const scores = new Scores({ask: (id) => connection.send("scores", {id}),
  onUse: (threshold) => settings.use(threshold), onHeat: heat});
const field = new Field({ask: () => connection.send("field"), onChange: (values) => connection.send("set_field", {settings: values}),
  onTake: () => connection.send("reference"), onField: () => stage.draw()});
stage.field = field;
const asking = [scores.asking, field.asking];
const exported = new Export();

function take(next) {
  state = next;
  if (next.source !== opened) {
    opened = next.source;
    timeline.reset(next.duration);
    times.length = delays.length = 0;
  }
  timeline.templates = next.templates;
  timeline.threshold = scores.threshold = next.settings.threshold;
  templates.update(next.templates);
  settings.update(next.settings);
  field.update(next.field);
  get("hint").hidden = next.templates.length > 0 || field.asking.on;
  exported.update(next.export);
  document.body.classList.toggle("playing", next.playing);
  get("play").setAttribute("aria-label", next.playing ? "Pause" : "Play");
  get("rate").textContent = next.rate === 1 ? "" : `× ${next.rate}`;
  for (const id of ["back", "on"]) get(id).disabled = next.kind !== "video";
  get("play").disabled = next.kind === "picture";
  get("track").disabled = document.querySelector(".timeline").hidden = next.kind === "picture";
  sources(next);
  timeline.draw();
  scores.draw();
  for (const each of asking) each.want(true);
}

function sources({sources: names, source}) {
  const select = get("source");
  if (select.options.length !== names.length || names.some((name, index) => select.options[index].value !== name)) {
    select.replaceChildren(...names.map((name) => new Option(name.split("/").at(-1), name)));
  }
  select.value = source;
}

function connected(there) {
  get("lost").hidden = there;
  if (there) video.ask();
  else video.stop();
}

function told({history, behind}) {
  timeline.add(history);
  if (behind !== null) delays.push(behind * 1000);
  if (delays.length > 300) delays.shift();
}

async function picture(header, body) {
  told(header);
  stage.take(header, await createImageBitmap(new Blob([body], {type: "image/jpeg"})));
}

// Its picture comes by the video.
function frame(header) {
  told(header);
  video.tell(header);
}

// The picture is on the screen now: the next one may come.
function shown({type, number, results, size}) {
  connection.send("shown", {number, video: type === "frame"});
  for (const each of asking) {
    each.number = number;
    each.want();
  }
  timeline.draw();
  const seconds = (results["stream-time"] ?? 0) / 1e9;
  get("time").textContent = state.duration ? `${clock(seconds)} / ${clock(state.duration)}` : state.kind === "live" ? clock(seconds) : "";
  const said = templates.show(results.peaks);
  if (said.length) get("said").textContent = said.join(", ");
  times.push(performance.now());
  if (times.length > 30) times.shift();
  const rate = times.length > 1 ? (times.length - 1) * 1000 / (times.at(-1) - times[0]) : 0;
  const sorted = [...delays].sort((a, b) => a - b);
  const p95 = sorted[Math.floor(sorted.length * 0.95)];
  get("figures").textContent = [size.join(" × "), state.playing ? `${rate.toFixed(0)} pictures/s` : "",
    state.playing && p95 !== undefined ? `p95 ${p95.toFixed(0)} ms behind` : ""].filter(Boolean).join("  ·  ");
}

let newest = null;
function heat(image) {
  newest = image;
  stage.heat = get("over").checked ? image : null;
  stage.draw();
}

function news({text}) {
  const line = Object.assign(document.createElement("p"), {textContent: text});
  get("news").append(line);
  setTimeout(() => line.remove(), 8000);
}

// Keys may come faster than answers.
function play(playing, rate = 1) {
  Object.assign(state, {playing, rate});
  connection.send("play", {playing, rate});
}
function seek(time) {
  connection.send("seek", {time: Math.min(state.duration, Math.max(0, time))});
}

const step = (frames) => connection.send("step", {frames});
function shuttle(way) {
  const faster = state.playing && Math.sign(state.rate) === way ? Math.min(FASTEST, Math.abs(state.rate) * 2) : 1;
  play(true, way * faster);
}

follow(() => [stage, timeline, scores].forEach((part) => part.draw()));
get("source").addEventListener("change", (event) => connection.send("open", {source: event.target.value}));
get("play").addEventListener("click", () => play(!state.playing));
get("back").addEventListener("click", () => step(-1));
get("on").addEventListener("click", () => step(1));
get("over").addEventListener("change", () => heat(newest));
get("keys").addEventListener("click", () => get("help").showModal());
listen({" ": () => play(!state.playing), ArrowLeft: () => step(-1), ArrowRight: () => step(1),
  j: () => shuttle(-1), k: () => play(false), l: () => shuttle(1), b: () => stage.offer(), "?": () => get("help").showModal(),
  Delete: () => templates.chosen !== null && connection.send("remove", {id: templates.chosen})});
