// Who is logged in. The credential itself is an HttpOnly cookie that no script ever sees.

import { api, request } from "./api.js";

let principal = null;

export function me() {
  return principal;
}

/** Whether the principal's scopes allow it: hides what would be refused; the daemon decides. */
export function can(scope) {
  return principal !== null && (scope === null || principal.scopes.includes(scope));
}

// page-PERSON-ID, or page-ID where it is not known who that is.
const LOG_IN = /^(?:token:)?page-(?:(.+)-)?[0-9a-f]{12}$/;

/** Who a principal is, as people call them: a log-in is known by its person, not by the token that it holds. */
export function person(name) {
  const logIn = LOG_IN.exec(name ?? "");
  if (!logIn) return name;
  return logIn[1] ?? (principal && [principal.name, `token:${principal.name}`].includes(name) ? personOf(principal) : "a log-in");
}

/** The name of who is logged in. */
export function personOf({ name, created_by: by }) {
  const logIn = LOG_IN.exec(name);
  return logIn ? logIn[1] ?? by ?? name : name;
}

/** Asks the daemon. */
export async function whoIs() {
  principal = (await api.get("api/session")).principal;
  return principal;
}

export async function logIn(key, name) {
  const headers = { authorization: `Bearer ${key}` };
  const answer = await request("api/session", { method: "POST", headers, body: name ? { name } : undefined });
  principal = (await answer.json()).principal;
  return principal;
}

export async function logOut() {
  await api.delete("api/session");
  principal = null;
}

export function forget() {
  principal = null;
}
