// Files that nobody should drop and links that nobody should follow: one line each, and the page does not freeze.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { command, difference, must, open, shell, told } from "../session.mjs";
import { verdict } from "./claims.mjs";

export async function hostile(setting, part) {
  const page = await open(setting);
  const at = (name) => `${setting.out}/${name}`;
  const claim = JSON.parse(fs.readFileSync(at("claim.json"), "utf8"));
  const numbers = JSON.stringify(claim).replace(/"upper":[^,}]*/, '"upper":1e999');
  const many = { ...claim, mechanism: { kind: "composed", parts: Array.from({ length: 3000 }, (_, i) => ({ kind: "laplace", noise_multiplier: 1 + i / 1000 })) } };
  let nested = { kind: "gaussian", noise_multiplier: 1 };
  for (let i = 0; i < 60; i++) nested = { kind: "repeated", times: 2, mechanism: nested };
  const files = {
    "deep.json": "[".repeat(500_000),
    "deep-objects.json": `${'{"schema":'.repeat(60_000)}1`,
    "binary.json": Buffer.from(Array.from({ length: 200_000 }, (_, i) => (i * 7919) % 256)),
    "empty.json": "",
    "spaces.json": " ".repeat(1_000_000),
    "numbers.json": numbers,
    "long-number.json": `{"schema": "veracity.claim/2", "delta": ${"9".repeat(900_000)}}`,
    "other.json": '{"schema": "somebody.else/1"}',
    "lines.json": JSON.stringify({ ...claim, unit: "a\nb<script>alert(1)</script>" }),
    "deep-mechanism.json": JSON.stringify({ ...claim, mechanism: nested }),
    "many-parts.json": JSON.stringify(many),
    "huge-times.json": JSON.stringify({ ...claim, mechanism: { kind: "repeated", times: 1e300, mechanism: { kind: "laplace", noise_multiplier: 1 } } }),
    "huge-sigma.json": JSON.stringify({ ...claim, mechanism: { kind: "discrete-gaussian", sigma: 1e4, sensitivity: 1e6 } }),
    "certificate.json": '{"schema": "veracity.certificate/3", "verdict": 3}',
    "surrogates.json": '{"schema": "\\ud800veracity.claim/2"}',
  };
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(at(name), text);
  execFileSync("truncate", ["-s", "1G", at("gigabyte.json")]);

  await part("hostile files give one line and no freeze", async () => {
    await page.evaluate(() => {
      window.gaps = [];
      let last = performance.now();
      setInterval(() => { const now = performance.now(); window.gaps.push(now - last); last = now; }, 20);
    });
    let slowest = ["", 0];
    for (const name of [...Object.keys(files), "gigabyte.json"]) {
      const begun = Date.now();
      const found = await verdict(page, at(name));
      const took = Date.now() - begun;
      if (took > slowest[1]) slowest = [name, took];
      must(found.kind.includes("bad"), `${name}: ${found.first}`);
      must(found.first.length > 10 && found.first.length < 700 && !found.first.includes("\n"), `${name}: ${found.first}`);
    }
    const gap = await page.evaluate(() => Math.max(...window.gaps));
    must(gap < 500, `the page stood still for ${gap} ms`);
    return `${Object.keys(files).length + 1} files, the slowest ${slowest[0]} after ${slowest[1]} ms; the page stood still for at most ${Math.round(gap)} ms`;
  });

  await part("a file that is dropped is taken, wherever it falls", async () => {
    const drop = (selector, name, text) => page.evaluate((selector, name, text) => {
      const carried = new DataTransfer();
      carried.items.add(new File([text], name, { type: "application/json" }));
      for (const kind of ["dragenter", "dragover", "drop"]) {
        const event = new DragEvent(kind, { dataTransfer: carried, bubbles: true, cancelable: true });
        document.querySelector(selector).dispatchEvent(event);
        if (!event.defaultPrevented) return "the browser would open the file";
      }
      return "";
    }, selector, name, text);
    must((await drop("#drop", "claim.json", JSON.stringify(claim))) === "", "the drop is not taken");
    await page.waitForFunction(() => document.getElementById("verdict").classList.contains("good"), { timeout: 20_000 });
    must((await drop("footer", "claim.json", "{}")) === "", "a drop beside the place leaves the page");
  });

  await part("what is no number is neither answered nor copied, whatever a link says", async () => {
    const links = [
      "#delta=1e-5&m=gaussian+noise_multiplier:4+times:1,000",
      "#m=gaussian+times:",
      "#m=gaussian+times:x;touch${IFS}planted;%23",
      "#m=gaussian&m=laplace+times:2%0APLAN%0Atouch%09planted%0A",
      "#delta=1e-5;+touch+planted+%23&m=gaussian",
      "#unit=a%0APLAN%0Atouch+planted%0A&m=gaussian&m=laplace",
    ];
    for (const hash of links) {
      const other = await open(setting, { hash });
      const [said, text] = [await told(other), await command(other)];
      must(said.startsWith("error: ") && text === "" && await other.$eval("#details", (box) => box.hidden), `${hash}: ${said} | ${text}`);
      await other.close();
    }
    return `${links.length} links`;
  });

  await part("a link to what there is not asks what is shown", async () => {
    for (const word of ["constructor", "toString", "__proto__"]) {
      const other = await open(setting, { hash: `#ask=${word}&m=gaussian+noise_multiplier:0.1` });
      const wrong = difference(await told(other), await shell(setting, await command(other)));
      must(wrong === null && (await command(other)).includes("0.1"), wrong);
      await other.close();
    }
  });

  await part("a claim is still confirmed after all of them", async () => {
    const found = await verdict(page, at("claim.json"));
    must(found.kind.includes("good"), found.first);
  });
  for (const name of [...Object.keys(files), "gigabyte.json"]) fs.rmSync(at(name));
  await page.close();
}
