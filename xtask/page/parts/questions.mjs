// Random questions, by the page and by the command line: the same digits. A wrong digit is found.

import { answered, command, difference, must, open, pause, shell, told, turnOf } from "../session.mjs";

const COUNT = 500;
const SEED = 20261117;

function numbers(seed) {
  let state = seed;
  // Mulberry32: small, and the same everywhere.
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// A question within the ranges of the sliders, as an address. The δ at an ε is asked at an ε that goes with some δ of the slider:
// where δ is far below what anyone promises, its interval is wide, and machines differ in digits that are not certain.
function address(random, kinds, asks) {
  const among = (list) => list[Math.floor(random() * list.length)];
  const between = ({ low, high, whole }) => {
    const x = low * (high / low) ** random();
    return whole ? String(Math.round(x)) : String(Number(x.toPrecision(3)));
  };
  const entry = (kind) => [kind, ...kinds[kind].map((field) => {
    return `${field.name}:${between(field)}`;
  })].join(" ");
  const kind = random() < 0.5 ? "dp-sgd" : among(Object.keys(kinds));
  const words = new URLSearchParams();
  const solve = random() < 0.25 ? among(asks[kind].concat("epsilon")) : random() < 0.85 ? "epsilon" : "delta";
  words.set("ask", solve);
  words.set("delta", between({ low: 1e-7, high: 1e-3 }));
  words.set("epsilon", between({ low: 0.1, high: 10 }));
  if (kind === "randomized-response") words.set("adjacency", "replace-one");
  else if (random() < 0.15) words.set("adjacency", among(["replace-one", "zero-out"]));
  words.append("m", entry(kind));
  return { words, solve };
}

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
const summary = (times) => {
  const sorted = [...times].sort((a, b) => a - b);
  return `median ${quantile(sorted, 0.5).toFixed(1)}, 95% ${quantile(sorted, 0.95).toFixed(1)}, 99% ${quantile(sorted, 0.99).toFixed(1)}, worst ${sorted[sorted.length - 1].toFixed(1)} ms`;
};

async function go(page, words) {
  const before = await turnOf(page);
  await page.evaluate((hash) => { location.hash = hash; }, `#${words}`);
  await answered(page, before);
}

// The least of several times, by a worker of its own: what a question takes where the machine has nothing else to do.
const leastOf = (page, hash) => page.evaluate(async (hash) => {
  const [{ Engine }, { fromHash }, { questionOf }] = await Promise.all(["./engine.js", "./state.js", "./question.js"].map((name) => import(name)));
  window.measuring ??= new Engine();
  let least = Infinity;
  for (let i = 0; i < 6; i++) least = Math.min(least, (await window.measuring.ask(questionOf(fromHash(hash)))).took);
  return least;
}, hash);

export async function questions(setting, part) {
  await part(`${COUNT} random questions have the same digits as the command line`, async () => {
    const page = await open(setting);
    await page.waitForFunction(() => document.documentElement.dataset.warm === "true", { timeout: 120_000 });
    const { kinds, asks } = await page.evaluate(async () => {
      const { KINDS, fieldsOf } = await import("./kinds.js");
      const all = Object.entries(KINDS);
      return {
        kinds: Object.fromEntries(all.map(([kind, { fields }]) => [kind, kind === "dp-sgd" ? [...fields, fieldsOf(kind, "sampling-rate").at(-1)] : fields])),
        asks: Object.fromEntries(all.map(([kind, { solves }]) => [kind, solves])),
      };
    });
    const random = numbers(SEED);
    const [times, least, waits, solving, wrong, slow] = [[], [], [], [], [], []];
    let errors = 0;
    for (let i = 0; i < COUNT + errors; i++) {
      const { words, solve } = address(random, kinds, asks);
      if (solve === "delta") {
        words.set("ask", "epsilon");
        await go(page, words);
        words.set("ask", "delta");
        const epsilon = await page.$eval("#big-number", (number) => Number(number.textContent));
        words.set("epsilon", String(Number(epsilon.toPrecision(3))));
      }
      await go(page, words);
      const [ofPage, line] = [await told(page), await command(page)];
      const { took, waited } = await page.$eval("#answer", (box) => ({ took: Number(box.dataset.took), waited: Number(box.dataset.waited) }));
      (solve === "epsilon" || solve === "delta" ? times : solving).push(took);
      if (solve === "epsilon" || solve === "delta") { waits.push(waited); slow.push([took, line.replaceAll("\\\n  ", "")]); }
      if (solve === "epsilon" || solve === "delta") least.push(await leastOf(page, `#${words}`));
      const ofCommand = await shell(setting, line);
      errors += ofCommand.code === 2 ? 1 : 0;
      const differs = difference(ofPage, ofCommand);
      if (differs) wrong.push(`${line}: ${differs}`);
      if (i === 7) {
        // The twin: one digit off is found.
        const digit = ofPage.replace(/\d(?=\D*$)/, (d) => String((Number(d) + 1) % 10));
        must(ofCommand.code === 2 || difference(digit, ofCommand), "a wrong digit is not found");
      }
    }
    await page.close();
    must(wrong.length === 0, `${wrong.length} differ, such as ${wrong[0]}`);
    must(errors < COUNT / 5, `${errors} questions have no answer`);
    slow.sort((a, b) => b[0] - a[0]);
    for (const [took, line] of slow.slice(0, 5)) console.log(`    slowest: ${took.toFixed(1)} ms  ${line}`);
    return `${COUNT} answers, and ${errors} refusals in the same words\n    accounting (${times.length}): ${summary(times)}\n    the same, least of six: ${summary(least)}\n    the reader waits: ${summary(waits)}\n    solving (${solving.length}): ${summary(solving)}`;
  });

  await part("an answer comes while slower parts are still at work", async () => {
    const page = await open(setting, { hash: "#ask=epsilon&delta=1e-7&m=dp-sgd%20batch_size:64%20dataset_size:1000000%20noise_multiplier:0.6%20epochs:20" });
    await pause(400);
    const begun = Date.now();
    const before = await turnOf(page);
    await page.evaluate(() => { location.hash = "#ask=epsilon&delta=1e-6&m=gaussian%20noise_multiplier:3%20times:7"; });
    await answered(page, before);
    const waited = Date.now() - begun;
    await page.close();
    must(waited < 1000, `${waited} ms`);
    return `${waited} ms, with the driver's own`;
  });
}
