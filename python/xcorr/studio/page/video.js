// SPDX-License-Identifier: LGPL-2.1-or-later
// Live video by WebRTC, where the server offers it. Each frame of it belongs to what the server says of the frame with that
// RTP timestamp; one of which nothing is known is not shown, so marks are always those of the picture below them.
const PATIENCE = 5000; // ms, until the first frame
const MOST_TOLD = 100; // frames, of which the video has not come
const SAME = 1e-4; // s, at most between two times of one frame

export class Video {
  constructor({send, onFrame, onChange}) {
    this.send = send;
    this.onFrame = onFrame;
    this.onChange = onChange; // what it is now
    this.told = new Map(); // by the timestamp
    this.peer = this.waits = null;
  }

  // What this browser can play, for the server to choose.
  ask() {
    this.stop();
    const needed = [window.RTCPeerConnection, window.VideoFrame, HTMLVideoElement.prototype.requestVideoFrameCallback];
    if (!needed.every(Boolean)) return;
    const codecs = RTCRtpReceiver.getCapabilities("video")?.codecs ?? [];
    this.send("video", {codecs: [...new Set(codecs.map(({mimeType}) => mimeType.split("/")[1]))]});
  }

  async offer({sdp, codec}) {
    this.stop();
    const peer = this.peer = new RTCPeerConnection(); // it asks no server for addresses
    this.element = Object.assign(document.createElement("video"), {className: "unseen", muted: true, playsInline: true});
    this.element.setAttribute("aria-hidden", "true");
    document.body.append(this.element);
    this.codec = codec;
    this.waits = setTimeout(() => this.giveUp("the video does not arrive"), PATIENCE);
    peer.ontrack = ({receiver, track}) => {
      receiver.jitterBufferTarget = receiver.playoutDelayHint = 0; // what is late is worse than what is not smooth
      this.element.srcObject = new MediaStream([track]);
      this.element.play().catch(() => {}); // it is stopped with the connection
      this.follow(this.element);
    };
    const failed = (why) => peer === this.peer && this.giveUp(why); // unless it has been stopped
    peer.onconnectionstatechange = () => peer.connectionState === "failed" && failed("the connection for video was lost");
    try {
      await peer.setRemoteDescription({type: "offer", sdp});
      await peer.setLocalDescription(await peer.createAnswer());
      this.send("answer", {sdp: peer.localDescription.sdp});
    } catch (error) {
      failed(error.message);
    }
  }

  candidate({line, text}) {
    this.peer?.addIceCandidate({candidate: text, sdpMLineIndex: line}).catch(() => {}); // others may do
  }

  // What the server says of a frame, which may come before the video or after it.
  tell(header) {
    if (this.told.size >= MOST_TOLD) this.told.delete(this.told.keys().next().value);
    this.told.set(header.stamp, header);
  }

  follow(element) {
    element.requestVideoFrameCallback((_, {rtpTimestamp, mediaTime}) => {
      if (element !== this.element) return;
      this.follow(element);
      const header = this.told.get(rtpTimestamp);
      if (!header) return;
      const image = frameOf(element, mediaTime);
      if (!image) return;
      this.told.delete(rtpTimestamp);
      if (this.waits) this.onChange(`WebRTC, ${this.codec}`);
      clearTimeout(this.waits);
      this.waits = null;
      this.onFrame(header, image);
    });
  }

  giveUp(why) {
    this.stop(why);
    this.send("no_video");
  }

  stop(why = "") {
    clearTimeout(this.waits);
    this.waits = null;
    this.peer?.close();
    this.peer = null;
    this.element?.remove();
    this.element = null;
    this.told.clear();
    this.onChange("JPEG", why);
  }
}

// Null where the element has gone on since, or has none now.
function frameOf(element, mediaTime) {
  try {
    const image = new VideoFrame(element);
    if (Math.abs(image.timestamp / 1e6 - mediaTime) <= SAME) return image;
    image.close();
  } catch (error) {
    if (error.name !== "InvalidStateError") throw error;
  }
  return null;
}
