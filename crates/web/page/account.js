// The accountant's part: controls, the answer at once, and then curves, explanations and other methods.

import { segments, numberField } from "./controls.js";
import { textOf, FORMS } from "./copying.js";
import { details } from "./details.js";
import { byId, element, say } from "./element.js";
import { Engine } from "./engine.js";
import { ASKS, DELTA, EPSILON, KINDS, fieldsOf } from "./kinds.js";
import { isSolving, questionOf, wrongIn } from "./question.js";
import { fromHash, initial, newEntry, toHash } from "./state.js";
import { warmUp } from "./warm.js";

const quick = new Engine();
let state = initial();
let form = "command";
let latest = 0;

// Milliseconds after which an outdated query is stopped, and after which any query is.
const [HELD, PATIENCE] = [2000, 20000];

export function beginAccount() {
  state = fromHash(location.hash);
  for (const [name, { label }] of Object.entries(KINDS)) byId("kind").append(element("option", { value: name }, label));
  byId("kind").addEventListener("change", ({ target }) => {
    const before = state.entries[state.at].kind;
    state.entries[state.at] = newEntry(target.value);
    if (state.entries.length === 1) followAdjacency(before, target.value);
    if (isSolving(state.ask) && !KINDS[target.value].solves.includes(state.ask)) state.ask = "epsilon";
    rebuild();
  });
  byId("adjacency").addEventListener("change", ({ target }) => { state.adjacency = target.value; changed(); });
  byId("unit").addEventListener("input", ({ target }) => { state.unit = target.value; changed(); });
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("copy").addEventListener("click", () => copy(textOf(state, form), "Copied."));
  byId("link").addEventListener("click", () => copy(location.href.replace(/#.*/, "") + toHash(state), "Link copied."));
  addEventListener("hashchange", () => {
    if (location.hash.includes("=") && location.hash !== toHash(state)) { state = fromHash(location.hash); rebuild(); }
  });
  // The address holds the question: a link to a part of the page must not replace it.
  for (const link of document.querySelectorAll('nav a[href^="#"], a.skip')) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const part = byId(link.getAttribute("href").slice(1));
      part.scrollIntoView();
      part.setAttribute("tabindex", "-1");
      part.focus({ preventScroll: true });
    });
  }
  rebuild();
}

// Randomized response has no theorem for records that come and go.
function followAdjacency(before, after) {
  const usual = (kind) => KINDS[kind].adjacency ?? "add-remove";
  if (state.adjacency === usual(before)) state.adjacency = usual(after);
}

// Rebuilds the controls when another choice has other fields.
function rebuild() {
  const entry = state.entries[state.at];
  segments(byId("asks"), ASKS, state.ask, (name) => { state.ask = name; rebuild(); }, isThere);
  byId("kind").value = entry.kind;
  say("kind-hint", KINDS[entry.kind].hint);
  const fields = fieldsOf(entry.kind, state.ask).map((field) =>
    numberField(field, entry.values[field.name], (value) => { entry.values[field.name] = value; changed(); }));
  byId("fields").replaceChildren(...fields);
  const given = { epsilon: [DELTA], delta: [EPSILON] }[state.ask] ?? [EPSILON, DELTA];
  byId("budget").replaceChildren(...given.map((field) =>
    numberField({ ...field, id: `at-${field.name}` }, state[field.name], (value) => { state[field.name] = value; changed(); })));
  byId("adjacency").value = state.adjacency;
  byId("unit").value = state.unit;
  listEntries();
  changed();
}

const isThere = (ask) => !isSolving(ask) || (state.entries.length === 1 && KINDS[state.entries[0].kind].solves.includes(ask));

function listEntries() {
  const chips = state.entries.flatMap(({ kind }, i) => {
    const chip = element("button", { type: "button", "aria-pressed": String(i === state.at) }, `${i + 1} ${KINDS[kind].short}`);
    chip.addEventListener("click", () => { state.at = i; rebuild(); });
    if (state.entries.length === 1) return [chip];
    const drop = element("button", { type: "button", class: "quiet drop-it", "aria-label": `Remove mechanism ${i + 1}` }, "×");
    drop.addEventListener("click", () => { state.entries.splice(i, 1); state.at = 0; rebuild(); });
    return [chip, drop];
  });
  const add = element("button", { type: "button", id: "add", class: "quiet" }, "+ add a mechanism");
  add.addEventListener("click", () => {
    state.entries.push(newEntry("laplace"));
    state.at = state.entries.length - 1;
    if (isSolving(state.ask)) state.ask = "epsilon";
    rebuild();
  });
  byId("entries").replaceChildren(...chips, ...(state.entries.length < 20 ? [add] : []));
}

function changed() {
  const hash = toHash(state);
  // The first view keeps its short address.
  if (location.hash || hash !== toHash(initial())) history.replaceState(null, "", hash);
  segments(byId("forms"), FORMS, form, (name) => { form = name; changed(); });
  say("code", textOf(state, form).trimEnd());
  answer();
}

async function answer() {
  const mine = ++latest;
  byId("answer").classList.add("stale");
  const wrong = wrongIn(state);
  if (wrong) return tell({ error: wrong }, mine, null);
  // A question that takes long, or has been given up, does not hold the next one.
  if (quick.heldFor > HELD) quick.restart();
  const [asked, question] = [performance.now(), questionOf(state)];
  const found = await quick.ask(question, PATIENCE);
  if (mine !== latest || !found) return;
  byId("answer").dataset.took = String(found.took);
  byId("answer").dataset.waited = String(performance.now() - asked);
  tell(found, mine, question);
  warmUp();
}

function tell(found, mine, question) {
  byId("answer").classList.remove("stale");
  // For measurements: which answer this is.
  byId("answer").dataset.mine = String(mine);
  show(found);
  details(found.error ? null : { question, state: structuredClone(state), found });
}

function show(found) {
  byId("error").hidden = !found.error;
  for (const id of ["big", "conditions", "standing", "describes"]) byId(id).hidden = Boolean(found.error);
  const cautions = [(found.answer ?? found).fallback, ...((found.answer ?? found).cautions ?? [])].filter(Boolean);
  byId("fallback").hidden = Boolean(found.error) || !cautions.length;
  if (found.error) { say("answer-head", "No answer"); say("error", found.error); return; }
  const told = found.answer ?? found;
  const letter = told.asked === "epsilon" ? "ε" : "δ";
  const relation = told.relation;
  if (found.found) {
    const [, name, number] = found.found.match(/^(.*) (\S+)$/);
    say("answer-head", { noise: "The least noise", steps: "The most steps", "sampling-rate": "The largest rate" }[state.ask]);
    say("big-symbol", name);
    say("big-number", number);
    say("conditions", `${told.asked} ${relation} ${told.number} at ${told.given} ${told.conditions}`);
  } else {
    say("answer-head", relation === "≤" ? "At most" : "About");
    say("big-symbol", `${letter} ${relation}`);
    say("big-number", told.number);
    say("conditions", `at ${told.given} ${told.conditions}`);
  }
  say("standing", told.standing);
  say("fallback", cautions.join(" "));
  say("describes", told.describes);
}

async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    say("copied", done);
  } catch {
    // Without leave to write, the text is at least marked.
    getSelection().selectAllChildren(byId("code"));
    say("copied", "Selected. Copy it with your keyboard.");
  }
  setTimeout(() => say("copied", ""), 4000);
}

