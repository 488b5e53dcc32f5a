// Log-in: a key or token, exchanged for a cookie that scripts cannot read.

import { fill, h } from "../core/dom.js";
import { here } from "../core/router.js";
import { logIn } from "../core/session.js";
import { field, problemBox } from "../ui/parts.js";
import { themeButton } from "../ui/shell.js";

const STORE = "branchyard-name";

function remembered() {
  try {
    return localStorage.getItem(STORE) ?? "";
  } catch {
    return ""; // storage may be forbidden
  }
}

function remember(name) {
  try {
    localStorage.setItem(STORE, name);
  } catch { /* then it is asked for again */ }
}

/** The name as a token can bear it: Zoë Ada is Zoe-Ada. */
function called(name) {
  return name.normalize("NFKD").replace(/\p{M}/gu, "").replace(/[^\w.-]+/g, "-").replace(/^[^a-z0-9]+|-+$/gi, "");
}

export function showLogin(root, onEnter) {
  const isUsed = here().query.get("link") === "used";
  const trouble = h("div", { role: "status" }, isUsed && h("p.bad", "The link that led here was used already, or is older than a minute. ",
    h("code", "branchyard open"), " makes another."));
  const key = h("input", { type: "password", name: "key", autocomplete: "current-password", required: true, spellcheck: "false", autocapitalize: "off" });
  const name = h("input", { name: "name", autocomplete: "name", maxlength: 60, value: remembered() });
  const enter = h("button.primary", { type: "submit" }, "Log in");

  async function onsubmit(event) {
    event.preventDefault();
    enter.disabled = true;
    fill(trouble);
    try {
      // What auth.header holds may be pasted whole.
      await logIn(key.value.trim().replace(/^(authorization:\s*)?bearer\s+/i, ""), called(name.value));
      remember(name.value.trim());
      fill(root);
      onEnter();
    } catch (error) {
      fill(trouble, problemBox(error.status === 401 ? new Error("Unknown key or token") : error));
      key.select();
    } finally {
      enter.disabled = false;
    }
  }

  fill(root, h("section.login",
    h("div.login-head", h("img", { src: "icon.svg", alt: "", width: 40, height: 40 }), h("h1", "Branchyard"), themeButton()),
    h("form", { onsubmit },
      field("Key or token", key),
      field("Your name", name, "So that others see who did what. It may stay empty."),
      trouble,
      enter),
    h("div.login-help",
      h("p", "On the daemon's own machine, ", h("code", "branchyard open"), " opens this page already logged in."),
      h("p", "Or paste the session key from the file ", h("code", "<workspaces>/.branchyard/auth.header"),
        ", or a token that was created by ", h("code", "branchyard token create"), ".")),
    h("p.muted", h("a", { href: "api.html" }, "API documentation"))));
  key.focus();
}
