// What every part needs: a page, its answer, the command line's answer to the same question.

import { execFile } from "node:child_process";
import puppeteer from "puppeteer-core";

const ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export const launch = () => puppeteer.launch({ executablePath: process.env.CHROMIUM, headless: true, args: ARGUMENTS, protocolTimeout: 300_000 });

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export function must(holds, why) {
  if (!holds) throw new Error(why);
}

// Every request and every breach of the policy, of every page of a session.
export const seen = { requests: [], breaches: [], errors: [] };

export async function open(setting, { hash = "", url = setting.url, width = 1280, scheme = "light" } = {}) {
  const page = await setting.browser.newPage();
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }, { name: "prefers-reduced-motion", value: "reduce" }]);
  page.on("request", (request) => seen.requests.push(request.url()));
  page.on("pageerror", (error) => seen.errors.push(error.message));
  await page.exposeFunction("breached", (what) => seen.breaches.push(what));
  await page.evaluateOnNewDocument(() => addEventListener("securitypolicyviolation", (event) => window.breached(`${event.violatedDirective} ${event.blockedURI}`)));
  await page.goto(url + hash, { waitUntil: "load" });
  await answered(page, 0);
  return page;
}

// Waits until the answer is that of a later question than `before`; its number.
export async function answered(page, before) {
  await page.waitForFunction((least) => {
    const box = document.getElementById("answer");
    return !box.classList.contains("stale") && Number(box.dataset.mine ?? 0) > least;
  }, { timeout: 60_000, polling: 5 }, before);
  return turnOf(page);
}

export const turnOf = (page) => page.$eval("#answer", (box) => Number(box.dataset.mine));

// What the page says, in the words of the command line.
export function told(page) {
  return page.evaluate(() => {
    const text = (id) => { const there = document.getElementById(id); return there.hidden ? "" : there.textContent; };
    if (text("error")) return `error: ${text("error")}`;
    const head = `${text("big-symbol")} ${text("big-number")}`.replace("ε", "epsilon").replace("δ", "delta");
    const solved = !/[≤≈]/.test(head);
    return [head + (solved ? "\n" : " ") + text("conditions"), text("standing"), text("fallback")].filter(Boolean).join("\n");
  });
}

export const plain = (text) => text.split("\n").map((line) => line.replace(/\s+/g, " ").trim()).filter(Boolean).join("\n");

// Runs what the page gives to copy, as it is.
export function shell(setting, command, files = setting.out) {
  const bin = setting.veracity.replace(/\/[^/]*$/, "");
  return new Promise((resolve) => {
    execFile("bash", ["-c", command], { cwd: files, env: { ...process.env, PATH: `${bin}:${process.env.PATH}` }, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      resolve({ code: error ? error.code : 0, stdout, stderr });
    });
  });
}

export const command = (page) => page.$eval("#code", (code) => code.textContent);

// A note of the command line alone, about a default that the page states in its controls.
const NOTES = /^adjacency .* is the default for .*$/;

// Whether both doors say the same; else what each says.
export function difference(ofPage, ofCommand) {
  if (ofCommand.code === 2) {
    const [one, other] = [ofPage.replace(/^error: /, ""), ofCommand.stderr.replace(/^veracity: /, "").trim()];
    return ofPage.startsWith("error: ") && one === other ? null : `page ${ofPage} | command ${ofCommand.stderr}`;
  }
  const lines = plain(ofCommand.stdout).split("\n").filter((line) => !NOTES.test(line)).join("\n");
  return plain(ofPage) === lines ? null : `page ${plain(ofPage)} | command ${lines}`;
}

export async function type(page, selector, text) {
  const before = await turnOf(page);
  await page.$eval(selector, (input, value) => { input.value = value; input.dispatchEvent(new Event("input", { bubbles: true })); }, text);
  return answered(page, before);
}

export async function choose(page, selector, value) {
  const before = await turnOf(page);
  await page.select(selector, value);
  return answered(page, before);
}

export async function press(page, selector) {
  const before = await turnOf(page);
  await page.$eval(selector, (button) => button.click());
  return answered(page, before);
}
