// Audits to their verdicts: what is honest stands, what is broken falls.

import { must, open } from "../session.mjs";

async function run(page, subject, bug, patience) {
  await page.select("#subject", subject);
  await page.select("#bug", bug);
  await page.$eval("#start", (button) => button.click());
  await page.waitForFunction(() => document.getElementById("headline").dataset.verdict === "" || document.getElementById("headline").dataset.verdict === undefined, { timeout: 10_000 }).catch(() => {});
  await page.waitForFunction(() => document.getElementById("headline").dataset.verdict, { timeout: patience, polling: 50 });
  return page.evaluate(() => ({
    verdict: document.getElementById("headline").dataset.verdict,
    headline: document.getElementById("headline").textContent,
    tallies: Object.fromEntries([...document.querySelectorAll("#tallies div")].map((row) => [row.children[0].textContent, row.children[1].textContent])),
    points: document.querySelector("#race .line").getAttribute("d").length,
  }));
}

export async function audits(setting, part) {
  const page = await open(setting);
  for (const [subject, bug, expected, patience] of [
    ["laplace", "half-noise", "refuted", 60_000],
    ["gaussian", "half-noise", "refuted", 120_000],
    ["gaussian", "no-clip", "refuted", 60_000],
    ["dp-sgd", "same-noise", "refuted", 60_000],
    ["laplace", "honest", "not-refuted", 240_000],
  ]) {
    await part(`an audit of ${subject}, ${bug}, ends ${expected}`, async () => {
      const found = await run(page, subject, bug, patience);
      must(found.verdict === expected, found.headline);
      const word = expected === "refuted" ? "REFUTED: observed epsilon ≥" : "NOT REFUTED: observed epsilon ≥";
      must(found.headline.startsWith(word), found.headline);
      must(found.points > 20, "nothing is drawn");
      return `${found.tallies.trials} trials; ${found.headline}`;
    });
  }

  await part("an audit can be stopped", async () => {
    await page.select("#bug", "honest");
    await page.$eval("#start", (button) => button.click());
    await new Promise((resolve) => setTimeout(resolve, 800));
    await page.$eval("#stop", (button) => button.click());
    await new Promise((resolve) => setTimeout(resolve, 400));
    const trials = () => page.$$eval("#tallies dd", (all) => all[1].textContent);
    const before = await trials();
    await new Promise((resolve) => setTimeout(resolve, 800));
    must(before === (await trials()), "it goes on");
  });
  await page.close();
}
