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

/** Asks the daemon. */
export async function whoIs() {
  principal = (await api.get("api/session")).principal;
  return principal;
}

export async function logIn(key) {
  const headers = { authorization: `Bearer ${key}` };
  const answer = await request("api/session", { method: "POST", headers });
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
