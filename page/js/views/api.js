// The API's documents: /openapi.json, to be read by people.

import { api } from "../core/api.js";
import { debounce, fill, h } from "../core/dom.js";
import { shortcut } from "../core/keys.js";
import { button, chip, heading } from "../ui/parts.js";
import { prose, resolve, schemaView } from "./api-schema.js";

const METHODS = ["get", "post", "put", "delete", "patch"];

export function title() {
  return "API";
}

export async function mount(root, route, signal) {
  const document = await api.get("openapi.json", signal);
  const operations = Object.entries(document.paths).flatMap(([path, item]) => METHODS.filter((method) => item[method]).map((method) => (
    { path, method, ...item[method], parameters: [...(item.parameters ?? []), ...(item[method].parameters ?? [])] })));
  const byTag = Map.groupBy(operations, (operation) => operation.tags?.[0] ?? "Other");
  // In the order of the document, which is that of its tags.
  const tags = new Map([...(document.tags ?? []).map(({ name, description }) => [name, description]), ["Other", ""]]);
  const sections = [...tags].filter(([tag]) => byTag.has(tag)).map(([tag, about]) => {
    const entries = byTag.get(tag).map((operation) => new Entry(operation, document));
    const head = [h("h2", tag), about && h("p.muted", prose(about))];
    return { tag, entries, element: h("section", { "aria-label": tag }, head, entries.map((entry) => entry.element)) };
  });
  const filter = h("input.grow", { type: "search", placeholder: "Filter: path, summary, right", "aria-label": "Filter the operations", oninput: debounce(() => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { element, entries } of sections) {
      for (const entry of entries) entry.element.hidden = !words.every((word) => entry.words.includes(word));
      element.hidden = entries.every((entry) => entry.element.hidden);
    }
  }, 80) });
  shortcut("/", "Filter the operations", () => filter.focus(), signal);
  fill(root, heading(`${document.info.title} ${document.info.version}`, filter),
    h("div.docs",
      h("nav.docs-nav", { "aria-label": "Tags" }, sections.map(({ tag, entries, element }) =>
        h("button.bare", { type: "button", onclick: () => element.scrollIntoView({ block: "start" }) }, tag, h("span", entries.length)))),
      h("div", document.info.description && h("p.muted", prose(document.info.description)), sections.map(({ element }) => element))));
}

/** One operation; what is inside is made when it is first opened. */
class Entry {
  constructor(operation, document) {
    const { path, method, summary = "", "x-right": right = "open" } = operation;
    this.words = `${method} ${path} ${summary} ${right}`.toLowerCase();
    const body = h("div.op-body");
    this.element = h("details.op", { ontoggle: () => { if (this.element.open && !body.hasChildNodes()) fill(body, inside(operation, document)); } },
      h("summary",
        h("span.method", { "data-method": method }, method), h("code", path),
        chip(right, right === "open" ? "ok" : "", "the right that it takes"), h("span.about", prose(summary))),
      body);
  }
}

/** The request as a command line: what is in braces is to be filled in. */
function asCurl({ method, path, parameters, requestBody, "x-right": right }) {
  const base = new URL(".", location.href).href.replace(/\/$/, "");
  const required = parameters.filter((parameter) => parameter.in === "query" && parameter.required).map(({ name }) => `${name}={${name}}`);
  const word = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  return ["curl", path.startsWith("/stream") && "-N", right !== "open" && "-H @\"$AUTH_HEADER\"",
    method !== "get" && `-X ${method.toUpperCase()}`, requestBody && "--json '{}'",
    word(`${base}${path}${required.length > 0 ? `?${required.join("&")}` : ""}`)].filter(Boolean).join(" ");
}

function curlButton(operation) {
  const copy = button("Copy as curl", async () => {
    await navigator.clipboard.writeText(asCurl(operation));
    copy.textContent = "Copied";
  }, { title: "AUTH_HEADER is the path of the file auth.header, which the daemon keeps" });
  return copy;
}

function inside(operation, document) {
  const { description, parameters: given, requestBody, responses } = operation;
  const parameters = given.map((parameter) => resolve(parameter, document));
  return [
    navigator.clipboard && h("div.toolbar", h("code.curl", asCurl({ ...operation, parameters })), curlButton({ ...operation, parameters })),
    description && h("p", prose(description)),
    parameters.length > 0 && [h("h3", "Parameters"), h("ul.schema", parameters.map((parameter) => h("li",
      h("code", parameter.name), h("span.muted", ` in ${parameter.in}${parameter.required ? ", required" : ""} `),
      schemaView(parameter.schema ?? {}, document), parameter.description && h("span.muted", " – ", prose(parameter.description)))))],
    requestBody && [h("h3", "Request"), content(resolve(requestBody, document), document)],
    h("h3", "Responses"),
    Object.entries(responses ?? {}).map(([status, given]) => {
      const response = resolve(given, document);
      const tone = { 2: "ok", 3: "live" }[status[0]] ?? "warn";
      return h("div",
        h("code.chip", { "data-tone": tone }, status), " ", h("span.muted", prose(response.description ?? "")), content(response, document));
    }),
  ];
}

function content({ content: types = {} }, document) {
  return Object.entries(types).map(([type, { schema, "x-item-schema": event }]) =>
    h("div.schema.fold", h("span.muted", type), " ",
      event ? ["of events, each ", schemaView(event, document)] : schema && schemaView(schema, document)));
}
