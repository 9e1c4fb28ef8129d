// Files that are dropped on the page: read within limits, checked by a worker that may be stopped.

import { byId, element } from "./element.js";
import { Engine } from "./engine.js";

const LONGEST = 1 << 20;
const PATIENCE = 20000;

const engine = new Engine();
let latest = 0;

export function beginClaims() {
  const drop = byId("drop");
  const over = (isOver) => (event) => { event.preventDefault(); drop.classList.toggle("over-it", isOver); };
  for (const name of ["dragenter", "dragover"]) drop.addEventListener(name, over(true));
  drop.addEventListener("dragleave", over(false));
  drop.addEventListener("drop", (event) => { over(false)(event); take([...event.dataTransfer.files]); });
  // A file that misses the place must not replace the page.
  for (const name of ["dragenter", "dragover", "drop"]) addEventListener(name, (event) => event.preventDefault());
  byId("file").addEventListener("change", ({ target }) => { take([...target.files]); target.value = ""; });
  byId("try-true").addEventListener("click", () => example("a valid claim", (text) => text));
  // The same with a smaller promise, as a forger would write it.
  byId("try-forged").addEventListener("click", () => example("a forged claim", (text) => text.replace('"upper": 1.0999', '"upper": 0.0999')));
}

// Fetched with the page, so that it is there without a network.
const kept = fetch("example.claim.json").then((response) => response.text(), () => "");

async function example(name, change) {
  await check(name, change(await kept));
}

async function take(files) {
  if (files.length === 0) return;
  if (files.length > 1) return tell({ error: `you dropped ${files.length} files; drop one at a time` }, "");
  const [file] = files;
  const name = file.name.replace(/[^\p{L}\p{N} ._-]/gu, " ").slice(0, 80);
  // Its size is known before a byte of it is read.
  if (file.size > LONGEST) return tell({ error: "the file exceeds 1 MiB; choose a claim or a certificate" }, name);
  try {
    await check(name, new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer()));
  } catch {
    tell({ error: "the file is not text; choose a claim.json or a certificate.json" }, name);
  }
}

async function check(name, text) {
  const mine = ++latest;
  if (engine.isBusy) engine.restart();
  tell({ waiting: "Recomputing …" }, name);
  const found = await engine.ask({ ask: "verify", text }, PATIENCE);
  if (mine === latest && found) tell(found, name);
}

function tell(found, name) {
  const box = byId("verdict");
  box.hidden = false;
  box.className = `verdict ${found.error || found.stands === false ? "bad" : found.stands ? "good" : "neither"}`;
  const which = element("p", { class: "which" }, name);
  const first = element("p", { class: "first" }, found.error ?? found.waiting ?? found.verdict);
  const lines = (found.lines ?? []).map((line) => element("li", {}, line));
  box.replaceChildren(...(name ? [which] : []), first, ...(lines.length ? [element("ul", {}, ...lines)] : []));
}
