// Tokens: what others may do in one's name, for less than one has oneself.

import { api, at } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { when } from "../core/format.js";
import { me, person } from "../core/session.js";
import { ask, showDialog } from "../ui/dialog.js";
import { button, chip, empty, field, heading, select, show, table } from "../ui/parts.js";

const ROLES = ["dev", "ui", "ops", "admin"];

export function title() {
  return "Tokens";
}

export async function mount(root, route, signal) {
  const list = h("div.card.scroll");
  const all = h("input", { type: "checkbox", onchange: () => load() });
  const load = () => show(list, async () => {
    const { items } = await api.get(all.checked ? "api/tokens?all=true" : "api/tokens", signal);
    const isLogIn = (token) => token.session ?? token.name === `page-${token.id}`;
    const [tokens, logIns] = [items.filter((token) => !isLogIn(token)), items.filter(isLogIn)];
    return [
      tokens.length === 0 ? empty("No tokens. Create one for an agent, a CI job or a colleague.") : tokenTable("Tokens", tokens, load),
      logIns.length > 0 && h("section", { "aria-labelledby": "log-ins" }, h("h2.apart", { id: "log-ins" }, "Log-ins to this page"), tokenTable("Log-ins", logIns, load))];
  }, signal);
  const make = button("Create token", () => makeToken(load), { tone: "primary", iconName: "plus" });
  fill(root, heading("Tokens", h("label.check", all, "Show ended"), make), list);
  await load();
}

function tokenTable(label, items, again) {
  return table(label, [
    { name: "Name", plain: true, class: "name", cell: (token) => [h("b", label === "Log-ins" ? token.principal ?? person(token.created_by) : token.name), h("div.muted.mono", token.id)] },
    { name: "State", plain: true, class: "fit", cell: (token) => chip(token.state, token.state === "live" ? "ok" : "bad") },
    { name: "May", cell: ({ role, scopes }) => h("div.chips", role && chip(`role ${role}`, "live"), scopes.map((scope) => h("code.chip", scope))) },
    { name: "Where", cell: ({ areas }) => (areas.length === 0 ? "everywhere" : areas.map(areaText)) },
    { name: label === "Log-ins" ? "Since" : "Created by", cell: (token) => [label !== "Log-ins" && [person(token.created_by), " "], h("span.muted", when(token.created_at))] },
    { name: "Used", class: "fit", cell: (token) => when(token.last_used) },
    { name: "Ends", class: "fit", cell: (token) => (token.expires ? when(token.expires) : "never") },
    { name: "Actions", hidden: true, class: "acts", cell: (token) => token.state === "live" && revokeButton(token, again) },
  ], items);
}

function areaText({ repos, branches }) {
  return h("div.mono", `${repos.join(" ")} : ${branches.join(" ")}`);
}

function revokeButton(token, again) {
  return h("button", { type: "button", "aria-label": `Revoke ${token.name}`, onclick: () => revoke(token, again) }, "Revoke");
}

async function makeToken(again) {
  const { scopes } = me();
  const made = await ask({
    title: "Create token",
    content: [
      field("Name", h("input", { name: "name", autofocus: true, autocomplete: "off" }), "Shown in lists and in the audit log."),
      field("Role", select({ name: "role" }, [["", "by scopes"], ...ROLES.map((role) => [role, role])])),
      h("fieldset", h("legend", "Scopes, if no role is chosen"), h("div.boxes", scopes.map((scope) =>
        h("label.check", h("input", { type: "checkbox", name: "scopes", value: scope, checked: scope === "repo:read" }), h("code", scope))))),
      field("Repos", h("input.mono", { name: "repos", placeholder: "all, or globs" })),
      field("Branches", h("input.mono", { name: "branches", placeholder: "all, or globs" })),
      field("Ends after", h("input", { name: "expires", placeholder: "such as 2h" }),
        "It ends when you log out, at the latest. To create one that lasts longer, use `branchyard token create`."),
    ],
    action: "Create token",
    submit(values) {
      const wish = {};
      if (values.get("role")) wish.role = values.get("role");
      else wish.scopes = values.getAll("scopes");
      for (const name of ["name", "expires"]) if (values.get(name).trim()) wish[name] = values.get(name).trim();
      for (const name of ["repos", "branches"]) if (values.get(name).trim()) wish[name] = values.get(name).trim().split(/[\s,]+/);
      return api.post("api/tokens", wish);
    },
  });
  if (!made) return;
  again();
  showDialog("The new token", [
    h("p", "Copy it now: it is not shown again, because only its hash is kept."),
    h("code.secret", made.token),
    navigator.clipboard && button("Copy", async ({ target }) => {
      await navigator.clipboard.writeText(made.token);
      target.textContent = "Copied";
    }),
  ]);
}

async function revoke(token, again) {
  const isDone = await ask({
    title: `Revoke ${token.name}?`,
    content: h("p", "Requests with it are refused from now on, and so are those with tokens that were created with it."),
    action: "Revoke",
    tone: "danger",
    submit: async () => { await api.delete(at.token(token.id)); return true; },
  });
  if (isDone) again();
}
