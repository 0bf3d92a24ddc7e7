// SPDX-License-Identifier: LGPL-2.1-or-later
// Asks for something about the picture on the screen, again as often as the answer comes: a slow machine has fewer of them.
const PAUSE = 150; // ms
const PATIENCE = 5000; // where the answer was an error

export class Asking {
  constructor(ask) {
    this.ask = ask;
    this.on = false;
    this.number = this.asked = this.waits = null;
  }

  // At each picture, and after a change.
  want(again = false) {
    if (again) this.asked = null;
    if (!this.on || this.waits || document.hidden || this.number === null || this.asked === this.number) return;
    this.waits = setTimeout(() => this.rest(), PATIENCE);
    this.asked = this.number;
    this.ask();
  }

  answered() {
    clearTimeout(this.waits);
    this.waits = setTimeout(() => this.rest(), PAUSE);
  }

  rest() {
    this.waits = null;
    this.want();
  }
}
