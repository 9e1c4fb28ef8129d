// An audit that is watched: trials in a worker, a bound that rises, a verdict.

import { Chart } from "./chart.js";
import { numberField } from "./controls.js";
import { byId, element, say } from "./element.js";
import { Engine } from "./engine.js";
import { numberOf } from "./question.js";
import { down, up } from "./rounding.js";

// Trials of one portion: few at first, so that the beginning can be seen.
const portion = (trials) => Math.min(4000, Math.max(20, Math.round(trials / 12)));
// A portion per tenth of a second: fast enough to wait for, slow enough to watch.
const BEAT = 60;

const engine = new Engine();
const race = new Chart(byId("race"), "Lower bound on ε, trial by trial");
let noise = "2";
let turn = 0;

export function beginAudit() {
  const field = { name: "noise", id: "audit", label: "Declared noise multiplier", low: 0.5, high: 4 };
  byId("audit-noise").replaceChildren(numberField(field, noise, (value) => { noise = value; }));
  byId("order").addEventListener("submit", (event) => event.preventDefault());
  byId("start").addEventListener("click", run);
  byId("stop").addEventListener("click", () => { turn += 1; byId("stop").disabled = true; });
  byId("subject").addEventListener("change", followSubject);
  followSubject();
  draw({ claimed: 1 }, [[0, 0]], 1000);
}

// A count with Laplace noise is protected without a δ.
function followSubject() {
  byId("audit-delta").disabled = byId("subject").value === "laplace";
}

// 53 bits of the browser's own randomness: a seed that anyone can give again.
function freshSeed() {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high & 0x1fffff) * 2 ** 32 + low;
}

async function run() {
  const mine = ++turn;
  if (engine.isBusy) engine.restart();
  const mechanism = byId("subject").value;
  const order = { mechanism, bug: byId("bug").value, noise_multiplier: numberOf(noise), delta: mechanism === "laplace" ? 0 : Number(byId("audit-delta").value), seed: freshSeed() };
  byId("stop").disabled = false;
  byId("headline").className = "headline";
  say("headline", "Proving the claim …");
  let state = await engine.ask({ ask: "audit", audit: order });
  const points = [[0, 0]];
  while (mine === turn && state && !state.error && !state.over) {
    state = await engine.ask({ ask: "trials", trials: portion(state.trials) });
    if (mine !== turn || !state || state.error) break;
    points.push([state.trials, state.shown]);
    tell(state, points, state.over);
    await new Promise((resolve) => setTimeout(resolve, BEAT));
  }
  if (state?.error) { byId("headline").className = "headline bad"; say("headline", state.error); }
  if (mine === turn) byId("stop").disabled = true;
}

function tell(state, points, isOver) {
  const headline = byId("headline");
  headline.className = `headline ${state.verdict === "refuted" ? "bad" : isOver && state.verdict === "not-refuted" ? "good" : ""}`;
  headline.dataset.verdict = isOver ? state.verdict : "";
  say("headline", state.headline);
  draw(state, points, state.trials);
  const rows = {
    "claimed and proved": state.claimedWords,
    trials: state.trials.toLocaleString("en"),
    "included / excluded": `${state.ins.toLocaleString("en")} / ${state.outs.toLocaleString("en")}`,
    "planted bug": isOver ? state.wrong : "revealed at the end",
    seed: String(state.seed),
  };
  byId("tallies").replaceChildren(...Object.entries(rows).map(([term, text]) => element("div", {}, element("dt", {}, term), element("dd", {}, text))));
}

function draw(state, points, trials) {
  race.draw({
    height: 290,
    description: `Lower bound by number of trials: epsilon at least ${down(points[points.length - 1][1], 3)}, ${up(state.claimed, 3)} claimed`,
    x: { label: "trials", low: 0, high: Math.max(200, trials) },
    y: { label: "ε", low: 0, high: state.claimed * 1.18 },
    points,
    step: true,
    level: { at: state.claimed, label: state.trials === undefined ? "claimed" : `claimed ε ≤ ${up(state.claimed, 4)}` },
    told: ([t, e]) => `after ${t.toLocaleString("en")} trials: ε ≥ ${down(e, 4)}`,
    hint: "solid: lower bound on ε; above the dashed line the claim is refuted",
  });
}
