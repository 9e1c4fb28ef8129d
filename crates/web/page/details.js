// What comes after the answer: curves, words, other methods. A slow worker does it, and is restarted when the question changes.

import { Chart } from "./chart.js";
import { byId, element, say } from "./element.js";
import { Engine } from "./engine.js";
import { KINDS } from "./kinds.js";
import { down, up } from "./rounding.js";

const METHODS = ["exact", "gdp", "rdp", "moments", "zcdp", "optimal", "advanced-kov", "advanced", "basic", "gdp-clt", "edgeworth", "pld"];
const LEAST_DELTA = 1e-10;
// How long the question must have stood still, and how long a part may take, in milliseconds.
const REST = 120;
const PATIENCE = 60_000;

const slow = new Engine();
const profile = new Chart(byId("profile"), "Privacy profile");
const tradeoff = new Chart(byId("tradeoff"), "Trade-off curve");
let timer;
let turn = 0;

export function details(asked) {
  clearTimeout(timer);
  turn += 1;
  if (slow.isBusy) slow.restart();
  byId("details").setAttribute("aria-busy", "true");
  // What is shown of another question must not be taken for this one's.
  byId("details").hidden = !asked;
  if (!asked) return;
  timer = setTimeout(() => run(asked, turn), REST);
}

// The question with what was found in its place, and the δ or ε that it was asked at.
function settled({ question, state, found }) {
  const { subject, delta, epsilon } = question;
  if (question.ask === "account") return { subject, ...(delta === undefined ? { epsilon } : { delta }) };
  const [entry] = structuredClone(subject.entries);
  if (state.ask === "noise") entry.mechanism[KINDS[entry.mechanism.kind].noise] = found.value;
  if (state.ask === "steps") entry.mechanism.kind === "dp-sgd" ? entry.mechanism.steps = found.value : entry.times = found.value;
  if (state.ask === "sampling-rate") entry.mechanism.sampling_rate = found.value;
  return { subject: { ...subject, entries: [entry] }, delta };
}

async function run(asked, mine) {
  const question = settled(asked);
  const told = asked.found.answer ?? asked.found;
  const [epsilon, delta] = told.asked === "epsilon" ? [told.upper, question.delta] : [question.epsilon, told.upper];
  const steps = [
    async () => drawCurves(await slow.ask({ ask: "curves", subject: question.subject, delta: delta ?? 1e-5 }, PATIENCE), [epsilon, delta]),
    async () => tell(await slow.ask({ ask: "explain", ...question }, PATIENCE)),
    async () => compare(question, told.asked, mine),
  ];
  for (const step of steps) {
    if (mine !== turn) return;
    await step();
  }
  if (mine === turn) byId("details").setAttribute("aria-busy", "false");
}

function drawCurves(found, [epsilon, delta]) {
  if (!found) return;
  if (found.error) {
    for (const id of ["profile", "tradeoff"]) byId(id).replaceChildren(element("p", { class: "waiting" }, found.error));
    return;
  }
  const points = found.profile[0][0] > 0 ? [[0, 1], ...found.profile] : found.profile;
  const far = points[points.length - 1][0];
  profile.draw({
    description: `Privacy profile: delta for each epsilon, from 0 to ${down(far, 3)}`,
    x: { label: "ε", low: 0, high: far },
    y: { label: "δ (upper bound)", low: LEAST_DELTA, high: 1, log: true },
    points,
    spot: epsilon > 0 && delta > 0 ? { at: [epsilon, delta], label: `ε ≤ ${up(epsilon, 4)}` } : undefined,
    told: ([e, d]) => `at ε = ${up(e, 4)}: δ ≤ ${up(d, 3)}`,
    hint: `certified by ${found.method}`,
  });
  tradeoff.draw({
    description: "Trade-off curve: the lowest possible false-negative rate for each false-positive rate",
    x: { label: "false-positive rate", low: 0, high: 1 },
    y: { label: "false-negative rate (lower bound)", low: 0, high: 1 },
    points: found.tradeoff,
    even: [[0, 1], [1, 0]],
    told: ([a, b]) => `false-positive rate ${down(100 * a, 3)}%: false-negative rate at least ${down(100 * b, 3)}%`,
    hint: "dashed: random guessing (perfect privacy)",
  });
}

// A paragraph whose first words, up to the full stop, are its head.
function paragraph(text) {
  const flat = text.replace(/\s+/g, " ").trim();
  const [, head, rest] = flat.match(/^([^.]*)\. (.*)$/) ?? [null, "", flat];
  return [element("h3", {}, head), element("p", {}, rest)];
}

function tell(found) {
  if (!found) return;
  const box = byId("words");
  if (found.error) { box.replaceChildren(element("p", { class: "waiting" }, found.error)); return; }
  const head = element("tr", {}, ...found.columns.map((text) => element("th", { scope: "col" }, text)));
  const rows = found.rows.map((row) => element("tr", {}, ...row.map((text) => element("td", {}, text))));
  const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
  const [first, ...lines] = found.groups.trim().split("\n");
  const groups = element("ul", {}, ...lines.map((line) => element("li", {}, line.trim())));
  const parts = [
    [...paragraph(found.odds)],
    [...paragraph(found.advantage)],
    [...paragraph(found.found), element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of attacks" }, table)],
    [...paragraph(first), groups],
    ...(found.yardstick ? [paragraph(found.yardstick)] : []),
  ];
  box.replaceChildren(...parts.map((inside) => element("div", {}, ...inside)));
  box.setAttribute("aria-busy", "false");
}

async function compare(question, asked, mine) {
  const letter = asked === "epsilon" ? "ε" : "δ";
  say("others-lower", `${letter} ≥`);
  say("others-upper", `${letter} ≤`);
  const rows = METHODS.map((method) => element("tr", { "data-method": method }, element("td", {}, method), element("td", { class: "number" }, "…"), element("td", { class: "number" }, "…"), element("td", {}, "")));
  const at = rows.length - 1;
  // The grid is asked last, since it takes longest, and stands second, since it is the sharpest but one.
  byId("others").tBodies[0].replaceChildren(rows[0], rows[at], ...rows.slice(1, at));
  for (const [i, method] of METHODS.entries()) {
    const found = await slow.ask({ ask: "account", ...question, method }, PATIENCE);
    if (!found || mine !== turn) return;
    const cells = rows[i].cells;
    const { lower = "–", upper = "–", standing = found.error } = found;
    cells[1].textContent = lower;
    cells[2].textContent = upper;
    cells[3].textContent = standing.replace(/^–: /, "");
    rows[i].classList.toggle("none", upper === "–");
    rows[i].classList.toggle("best", method === "exact" && upper !== "–");
  }
}
