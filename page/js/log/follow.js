// A run's stream: its output goes to the lines, what is told besides to whoever wants to know.

import { follow } from "../core/stream.js";
import { KEPT } from "./lines.js";

/**
 * Follows the run to its end. `on.status`, `on.warning`, `on.gap` and `on.end` are told of such events
 * (a gap with the line that it is behind); `on.state` of the connection.
 */
export function followRun(run, lines, on, signal) {
  let isOver = false;
  return follow(`stream/runs/${encodeURIComponent(run)}`, {
    state: on.state,
    events(events) {
      events.forEach((event, index) => {
        switch (event.type) {
          case "stdout":
          case "stderr": lines.add(event, index >= events.length - KEPT); break;
          case "status": on.status?.(event.data); break;
          case "warning": on.warning?.(event.data); break;
          case "gap": on.gap?.(lines.told, event.data.bytes); break;
          case "complete":
          case "error": isOver = true; break;
          default: // of a later version
        }
      });
      lines.changed();
    },
    done() {
      lines.finish();
      if (isOver) on.end?.();
    },
    refused: (problem) => on.refused?.(problem),
  }, signal);
}
