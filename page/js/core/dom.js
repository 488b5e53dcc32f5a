// Elements are made by script, and text is only ever text: whatever a build, a branch or a commit
// message contains, none of it is parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

/**
 * h("a.button.primary", { href: "#/", onclick }, "Yard", [more, children]), or without attributes.
 *
 * Attributes that are null, undefined or false are left out; `vars` sets custom properties, which
 * the Content-Security-Policy allows where it forbids style attributes.
 */
export function h(what, ...rest) {
  const [tag, ...classes] = what.split(".");
  return finish(document.createElement(tag), classes, rest);
}

/** The same for SVG. */
export function svg(what, ...rest) {
  const [tag, ...classes] = what.split(".");
  return finish(document.createElementNS(SVG, tag), classes, rest);
}

function finish(element, classes, rest) {
  const hasAttributes = rest[0]?.constructor === Object;
  const [attributes, children] = hasAttributes ? [rest[0], rest.slice(1)] : [{}, rest];
  if (classes.length > 0) element.classList.add(...classes);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (name === "vars") setVars(element, value);
    else if (name === "class") element.classList.add(...value.split(" ").filter(Boolean));
    else element.setAttribute(name, value === true ? "" : value);
  }
  append(element, children);
  return element;
}

export function setVars(element, vars) {
  for (const [name, value] of Object.entries(vars)) element.style.setProperty(name, value);
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** Puts these in place of what the element has. */
export function fill(element, ...children) {
  const fresh = document.createDocumentFragment();
  append(fresh, children);
  element.replaceChildren(fresh);
  return element;
}

/** As `fill`, but only if `key` differs from the last one: what did not change keeps its focus. */
export function refill(element, key, make) {
  const text = JSON.stringify(key) ?? "";
  if (element.shownKey === text) return;
  element.shownKey = text;
  fill(element, make());
}

/**
 * Makes `element` what `fresh` is, and touches only what differs: what stays keeps its focus. Listeners cannot be
 * compared: a button that differs is replaced, and one that does not must still do what the fresh one would.
 */
export function morph(element, fresh) {
  if (element.isEqualNode(fresh)) return;
  const [old, wanted] = [[...element.childNodes], [...fresh.childNodes]];
  const isAlike = element.nodeName === fresh.nodeName && element.attributes && element.nodeName !== "BUTTON"
    && old.length === wanted.length;
  if (!isAlike) return void element.replaceWith(fresh);
  for (const { name } of [...element.attributes]) if (!fresh.hasAttribute(name)) element.removeAttribute(name);
  for (const { name, value } of fresh.attributes) {
    // The Content-Security-Policy forbids style attributes.
    if (name === "style") element.style.cssText = value;
    else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  }
  old.forEach((child, index) => morph(child, wanted[index]));
}

/** Calls that come together are done once, with the next frame. */
export function perFrame(work) {
  let asked = 0;
  return () => {
    asked ||= requestAnimationFrame(() => {
      asked = 0;
      work();
    });
  };
}

/** Calls that come together are done once, after a quiet moment. */
export function debounce(work, ms) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), ms);
  };
}

/** Says something to those who listen rather than look. */
export function announce(text) {
  const announcer = document.getElementById("announcer");
  if (announcer) announcer.textContent = text;
}
