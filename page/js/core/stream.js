// A stream of server-sent events that survives: it resumes by Last-Event-ID after a dropped network or
// a restart of the daemon, and lets go of its connection while the tab is hidden, for a browser has
// only six for each daemon. (EventSource can do neither the last nor tell a refusal from a lost line.)

import { problemOf } from "./api.js";

// The daemon says something at least every 15 seconds; silence beyond this is a dead connection.
const SILENCE = 40_000;
const FIRST_WAIT = 300;
const LONGEST_WAIT = 10_000;

/**
 * Follows `address` until it ends, is refused for good or `signal` aborts.
 *
 * `on.events` gets lists of { id, type, data }, as they come together; `on.state` gets "open",
 * "waiting" or "paused" (hidden), and of "waiting" whether the daemon itself closed it; `on.refused` a Problem that trying again will not mend;
 * `on.done` is called when there is nothing more to come.
 */
export async function follow(address, on, signal) {
  let lastId = null;
  let wait = FIRST_WAIT;
  while (!signal.aborted) {
    if (document.hidden) {
      on.state?.("paused");
      await happens(document, "visibilitychange", signal);
      continue;
    }
    const line = new Line(signal);
    let isClosed = false;
    try {
      const response = await fetch(address, {
        headers: { accept: "text/event-stream", ...(lastId === null ? {} : { "last-event-id": lastId }) },
        credentials: "same-origin",
        cache: "no-store",
        signal: line.signal,
      });
      if (response.status === 204) return on.done?.();
      if (!response.ok) {
        const problem = await problemOf(response);
        if (!isPassing(problem)) return on.refused?.(problem);
        throw problem;
      }
      on.state?.("open");
      let ended = false;
      await readEvents(response.body, line, (events) => {
        wait = FIRST_WAIT;
        lastId = events.findLast((event) => event.id !== null)?.id ?? lastId;
        ended = ["complete", "error"].includes(events.at(-1).type);
        on.events(events);
      });
      // A run's stream closes behind its last event; any other end is a lost line.
      if (ended) return on.done?.();
      isClosed = true;
    } catch {
      // Lost, refused for now, or let go of by ourselves: the loop knows which.
    } finally {
      line.close();
    }
    if (signal.aborted || document.hidden) continue;
    on.state?.("waiting", isClosed);
    await pause(wait, signal);
    wait = Math.min(wait * 1.7, LONGEST_WAIT) * (0.8 + 0.4 * Math.random());
  }
}

function isPassing(problem) {
  return problem.status >= 500 || problem.status === 429;
}

/** One connection's life: it ends with the view, with the network, when the tab is hidden, and after a long silence. */
class Line {
  #controller = new AbortController();
  #timer = null;

  constructor(signal) {
    this.signal = this.#controller.signal;
    signal.addEventListener("abort", () => this.close(), { signal: this.signal });
    document.addEventListener("visibilitychange", () => document.hidden && this.close(), { signal: this.signal });
    window.addEventListener("offline", () => this.close(), { signal: this.signal });
    this.alive();
  }

  alive() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.close(), SILENCE);
  }

  close() {
    clearTimeout(this.#timer);
    this.#controller.abort();
  }
}

async function readEvents(body, line, take) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    line.alive();
    rest += value;
    const end = rest.lastIndexOf("\n\n");
    if (end < 0) continue;
    const events = rest.slice(0, end).split("\n\n").map(parseEvent).filter(Boolean);
    rest = rest.slice(end + 2);
    if (events.length > 0) take(events);
  }
}

/** An event of a stream. Nothing of it is parsed before it is asked for: a log may bring tens of thousands a second. */
class StreamEvent {
  #text;

  constructor(text) {
    this.#text = text;
  }

  get id() {
    return this.#field("id: ");
  }

  get type() {
    return this.#field("event: ") ?? "message";
  }

  get data() {
    return JSON.parse(this.#field("data: "));
  }

  /** Of output: whether the rest of its line is still to come. */
  get isOpen() {
    return this.#text.endsWith('"eol":""}');
  }

  #field(name) {
    const at = this.#text.startsWith(name) ? 0 : this.#text.indexOf(`\n${name}`) + 1;
    if (at === 0 && !this.#text.startsWith(name)) return null;
    const end = this.#text.indexOf("\n", at);
    return this.#text.slice(at + name.length, end < 0 ? undefined : end);
  }
}

/** The event of a text; null of a comment. */
function parseEvent(text) {
  return text.startsWith("data: ") || text.includes("\ndata: ") ? new StreamEvent(text) : null;
}

/** Waits, but no longer once the tab is looked at again or the network is back. */
function pause(ms, signal) {
  const early = new AbortController();
  const over = AbortSignal.any([signal, early.signal]);
  const timer = setTimeout(() => early.abort(), ms);
  return Promise.race([
    happens(window, "online", over),
    happens(document, "visibilitychange", over),
  ]).finally(() => {
    clearTimeout(timer);
    early.abort();
  });
}

/** Resolves at the next such event, or when `signal` aborts. */
function happens(target, type, signal) {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    target.addEventListener(type, resolve, { once: true, signal });
    signal.addEventListener("abort", resolve, { once: true });
  });
}
