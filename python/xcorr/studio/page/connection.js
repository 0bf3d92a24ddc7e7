// SPDX-License-Identifier: LGPL-2.1-or-later
// The websocket. Messages are JSON, or a header as JSON and bytes behind it; each goes to the handler with the name of its type.
const AGAIN = 1000; // ms, until the next attempt

export class Connection {
  constructor(handlers) {
    this.handlers = handlers;
    this.connect();
  }

  connect() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.socket = new WebSocket(`${scheme}://${location.host}/socket`);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => this.handlers.connected(true);
    this.socket.onclose = () => {
      this.handlers.connected(false);
      setTimeout(() => this.connect(), AGAIN);
    };
    this.socket.onmessage = ({data}) => {
      const [header, body] = typeof data === "string" ? [JSON.parse(data), null] : parted(data);
      this.handlers[header.type]?.(header, body);
    };
  }

  send(what, values = {}) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({do: what, ...values}));
  }
}

function parted(data) {
  const length = new DataView(data).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
  return [header, data.slice(4 + length)];
}
