// A JSON schema as a short list: what it is, its fields, and theirs when they are asked for.

import { fill, h } from "../core/dom.js";

const DEEPEST = 12;

/** What a reference stands for. */
export function resolve(given, document) {
  if (!given?.$ref) return given;
  return given.$ref.split("/").slice(1).reduce((at, key) => at?.[key.replaceAll("~1", "/").replaceAll("~0", "~")], document) ?? {};
}

/** Text with its `code` as such. */
export function prose(text) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? h("code", part) : part));
}

export function schemaView(given, document, depth = 0) {
  const schema = resolve(given, document);
  const type = h("span.type", typeOf(given, document));
  const inner = insideOf(schema, document);
  const fields = Object.entries(inner?.properties ?? {});
  const choices = (inner?.oneOf ?? inner?.anyOf ?? []).filter((choice) => fieldsOf(choice, document));
  if ((fields.length === 0 && choices.length === 0) || depth > DEEPEST) return type;
  const list = h("ul");
  const draw = () => {
    if (list.hasChildNodes()) return;
    fill(list,
      fields.map(([name, field]) => h("li",
        h("code", name), !inner.required?.includes(name) && h("span.muted", "?"),
        " ", schemaView(field, document, depth + 1), describe(field, document))),
      choices.map((choice) => h("li", "one of ", schemaView(choice, document, depth + 1))));
  };
  // Only the first level is open: schemas may contain themselves.
  if (depth === 0) draw();
  return h("details", { open: depth === 0, ontoggle: draw }, h("summary", type), list);
}

function describe(field, document) {
  const { description, default: usual } = { ...resolve(field, document), ...field };
  const text = [description, usual !== undefined && usual !== null && `Default \`${JSON.stringify(usual)}\`.`].filter(Boolean).join(" ");
  return text && h("span.muted", " – ", prose(text));
}

function fieldsOf(choice, document) {
  return Object.keys(insideOf(resolve(choice, document), document)?.properties ?? {}).length > 0;
}

/** The schema whose fields are of interest: of a list, that of its items; of what may be null, the other. */
function insideOf(schema, document) {
  const choices = (schema?.oneOf ?? schema?.anyOf ?? []).filter((choice) => choice.type !== "null");
  if (choices.length === 1) return insideOf(resolve(choices[0], document), document);
  if (schema?.items) return insideOf(resolve(schema.items, document), document);
  if (schema?.allOf) {
    const parts = schema.allOf.map((part) => insideOf(resolve(part, document), document) ?? {});
    return {
      properties: Object.assign({}, ...parts.map((part) => part.properties), schema.properties),
      required: [...parts, schema].flatMap((part) => part.required ?? []),
    };
  }
  return schema;
}

function typeOf(given, document) {
  if (given === true) return "anything";
  if (given?.$ref) return given.$ref.split("/").at(-1);
  const { type, items, enum: values, const: only, format, oneOf, anyOf } = given ?? {};
  if (only !== undefined) return JSON.stringify(only);
  if (values) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (items) return `list of ${typeOf(items, document)}`;
  const choices = oneOf ?? anyOf;
  if (choices) return [...new Set(choices.map((choice) => typeOf(choice, document)))].join(" | ");
  return [[type ?? "anything"].flat().join(" | "), format && `(${format})`].filter(Boolean).join(" ");
}
