// The yard's events: one stream for the whole tab, handed out to whichever view listens.

import { setClock } from "./format.js";
import { follow } from "./stream.js";

class Events extends EventTarget {
  #controller = null;
  /** "open", "waiting" (for the daemon to come back), "paused" (hidden) or "off". */
  state = "off";
  /** While it waits: whether the daemon closed the stream, as it does when it is stopped. */
  isClosed = false;
  /** Whether the daemon has said that it takes no new runs, for it is being stopped. */
  isDraining = false;
  /** The last { running, waiting }. */
  queue = null;

  start() {
    this.stop();
    this.#controller = new AbortController();
    const { signal } = this.#controller;
    follow("stream/events", {
      state: (state, isClosed) => {
        // What comes after the close is a daemon that cannot be reached yet.
        this.isClosed = state === "waiting" && (isClosed || this.isClosed);
        this.#become(state);
      },
      events: (events) => events.forEach((event) => this.#take(event)),
      refused: ({ status }) => {
        this.#become("off");
        if (status === 401) this.#take({ type: "gone", data: {} });
        if (status !== 400) return;
        // The daemon does not know how far we were: from here on, then, and everything is read again.
        this.start();
        this.#take({ type: "reset", data: {} });
      },
    }, signal);
  }

  stop() {
    this.#controller?.abort();
    this.#controller = null;
    this.#become("off");
  }

  /** `listen("run", callback, signal)`: until the view goes. */
  listen(type, callback, signal) {
    this.addEventListener(type, (event) => callback(event.detail), { signal });
  }

  /** A start was refused because the daemon is being stopped. */
  drain() {
    this.isDraining = true;
    this.dispatchEvent(new CustomEvent("state", { detail: this.state }));
  }

  #take({ type, data }) {
    if (type === "hello") {
      setClock(data.at);
      this.isDraining = false;
    }
    if (type === "queue") this.queue = data;
    this.dispatchEvent(new CustomEvent(type, { detail: data }));
  }

  #become(state) {
    if (this.state === state) return;
    this.state = state;
    this.dispatchEvent(new CustomEvent("state", { detail: state }));
  }
}

export const events = new Events();
