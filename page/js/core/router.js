// Routes are in the hash, so that every one is the same document and works behind any prefix.

/** "#/run/ID?line=3" → { name: "run", rest: ["ID"], query } */
export function here() {
  const [path, query = ""] = location.hash.replace(/^#/, "").split("?", 2);
  const [name = "", ...rest] = path.split("/").filter(Boolean).map(decoded);
  return { name, rest, query: new URLSearchParams(query) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a stray %, typed by hand
  }
}

/** link("run", id) or link("history", { repo }) */
export function link(...parts) {
  const query = typeof parts.at(-1) === "object" ? parts.pop() : {};
  const filled = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const search = new URLSearchParams(filled).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${search ? `?${search}` : ""}`;
}

export function go(address) {
  location.hash = address;
}

/** The address of the same view with these parts of its query changed. */
export function sameWith(changed) {
  const { name, rest, query } = here();
  return link(...[name, ...rest].filter(Boolean), { ...Object.fromEntries(query), ...changed });
}

/** Goes there: no entry in the history, and nobody is told. */
export function noteQuery(changed) {
  history.replaceState(null, "", sameWith(changed));
}
