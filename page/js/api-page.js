// The API's documents by themselves, for those who are not logged in.

import { fill } from "./core/dom.js";
import { problemBox } from "./ui/parts.js";
import { mount } from "./views/api.js";

const main = document.getElementById("main");
try {
  await mount(main, null, new AbortController().signal);
} catch (error) {
  fill(main, problemBox(error));
}
