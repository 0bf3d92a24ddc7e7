// SPDX-License-Identifier: LGPL-2.1-or-later
// Light or dark: as the system is, or as somebody has chosen by the button, which comes to lie behind the figures.
import {element} from "./drawing.js";

export function follow(redraw) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = (yes) => {
    document.documentElement.dataset.theme = yes ? "dark" : "light";
    redraw();
  };
  dark((localStorage.getItem("theme") ?? (system.matches ? "dark" : "light")) === "dark");
  system.addEventListener("change", () => localStorage.getItem("theme") ?? dark(system.matches));
  const button = element("button", {id: "theme", className: "icon", type: "button", title: "Light or dark"});
  button.setAttribute("aria-label", "Light or dark");
  button.addEventListener("click", () => {
    dark(document.documentElement.dataset.theme !== "dark");
    localStorage.setItem("theme", document.documentElement.dataset.theme);
  });
  document.querySelector(".figures").after(button);
}
