// SPDX-License-Identifier: LGPL-2.1-or-later
// Keys as in video editors. Fields and sliders keep theirs.
export function listen(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
    const target = event.target;
    if (target.matches("select, input:not([type=checkbox])")) return;
    if (event.key === " " && target.matches("button, input")) return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
