// The page in a real browser. Each part is one line; the last line adds up.
//
// Environment: PAGE_URL (veracity serve), PAGE_FOLDER (target/page), VERACITY (the program), CHROMIUM, OUT (a folder for pictures and files).

import fs from "node:fs";
import path from "node:path";
import { audits } from "./parts/audits.mjs";
import { claims } from "./parts/claims.mjs";
import { controls } from "./parts/controls.mjs";
import { hostile } from "./parts/hostile.mjs";
import { looks } from "./parts/looks.mjs";
import { policy } from "./parts/policy.mjs";
import { questions } from "./parts/questions.mjs";
import { weight } from "./parts/weight.mjs";
import { launch } from "./session.mjs";

const out = process.env.OUT;
fs.mkdirSync(out, { recursive: true });
const only = process.argv[2];
const browser = await launch();
let [passed, failed] = [0, 0];

async function part(name, run) {
  if (only && !name.includes(only)) return;
  try {
    const told = await run();
    passed += 1;
    console.log(`ok: ${name}${told ? `: ${told}` : ""}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED: ${name}: ${String(error.message ?? error).split("\n").slice(0, 6).join(" | ")}`);
  }
}

const setting = { browser, url: process.env.PAGE_URL, folder: process.env.PAGE_FOLDER, veracity: path.resolve(process.env.VERACITY), out };
for (const parts of [weight, controls, questions, claims, hostile, audits, looks, policy]) await parts(setting, part);
await browser.close();
const verdict = failed === 0 && passed > 0;
console.log(`test result: ${verdict ? "ok" : "FAILED"}. ${passed} passed; ${failed} failed`);
process.exit(verdict ? 0 : 1);
