// Files: true claims, forged ones, certificates.

import fs from "node:fs";
import { must, open, shell } from "../session.mjs";

export async function verdict(page, file, patience = 25_000) {
  await page.$eval("#verdict", (box) => { box.hidden = true; box.replaceChildren(); });
  const input = await page.$("#file");
  await input.uploadFile(file);
  await page.waitForFunction(() => {
    const first = document.querySelector("#verdict .first");
    return first && !first.textContent.startsWith("Computing");
  }, { timeout: patience, polling: 20 });
  return page.$eval("#verdict", (box) => ({ kind: box.className, first: box.querySelector(".first").textContent, lines: [...box.querySelectorAll("li")].map((line) => line.textContent) }));
}

export async function claims(setting, part) {
  const page = await open(setting);
  const file = (name, text) => { fs.writeFileSync(`${setting.out}/${name}`, text); return `${setting.out}/${name}`; };
  const flat = (text) => text.replace(/\s+/g, " ").trim();
  fs.rmSync(`${setting.out}/claim.json`, { force: true });
  await shell(setting, "veracity account laplace --noise-multiplier 3 --times 20 --delta 1e-6 --claim claim.json");
  const claim = fs.readFileSync(`${setting.out}/claim.json`, "utf8");

  await part("a true claim is confirmed, in the words of the command line", async () => {
    const found = await verdict(page, `${setting.out}/claim.json`);
    const ofCommand = await shell(setting, "veracity verify claim.json");
    must(found.kind.includes("good"), found.first);
    must(flat([found.first, ...found.lines].join(" ")) === flat(ofCommand.stdout), `${found.first} but ${ofCommand.stdout}`);
  });

  await part("forged claims do not hold", async () => {
    const read = JSON.parse(claim);
    const forge = (change) => { const forged = structuredClone(read); change(forged); return JSON.stringify(forged); };
    const forgeries = {
      "smaller-epsilon": forge((c) => { c.epsilon.upper *= 0.9; }),
      "smaller-delta": forge((c) => { c.delta /= 10; }),
      "more-uses": forge((c) => { c.mechanism.times = 21; }),
      "other-word": forge((c) => { c.adjacency = "zero-out"; }),
      "other-profile": forge((c) => { c.profile[1].delta.upper *= 0.99; }),
    };
    for (const [name, text] of Object.entries(forgeries)) {
      const found = await verdict(page, file(`${name}.json`, text));
      const ofCommand = await shell(setting, `veracity verify ${name}.json`);
      must(ofCommand.code !== 0, `${name} holds on the command line`);
      must(found.kind.includes("bad"), `${name}: ${found.first}`);
      const expected = flat(ofCommand.code === 1 ? ofCommand.stdout : ofCommand.stderr.replace(/^veracity: /, ""));
      must(flat(found.first) === expected, `${name}: ${found.first} but ${expected}`);
    }
    return `${Object.keys(forgeries).length} forgeries`;
  });

  await part("the examples of the page are what they say", async () => {
    for (const [button, kind] of [["#try-true", "good"], ["#try-forged", "bad"]]) {
      await page.$eval(button, (there) => there.click());
      await page.waitForFunction((kind) => document.getElementById("verdict").classList.contains(kind), { timeout: 20_000 }, kind);
    }
  });

  await part("a certificate is recomputed as far as it can be, and a forged proof is found", async () => {
    fs.rmSync(`${setting.out}/audited`, { recursive: true, force: true });
    const run = await shell(setting, "veracity audit --mechanism gaussian --noise-multiplier 2 --trials 4000 --out audited");
    must(fs.existsSync(`${setting.out}/audited/certificate.json`), run.stderr);
    const text = fs.readFileSync(`${setting.out}/audited/certificate.json`, "utf8");
    const found = await verdict(page, `${setting.out}/audited/certificate.json`);
    must(found.first.startsWith("nothing against it: "), found.first);
    must(found.lines.includes("recomputed: proved"), found.lines.join(" | "));
    must(found.lines.some((line) => line.startsWith("not recomputed here: ")), "it does not say what is left");
    const forged = JSON.parse(text);
    forged.proved *= 0.5;
    const other = await verdict(page, file("forged-certificate.json", JSON.stringify(forged)));
    must(other.kind.includes("bad") && other.first.startsWith("invalid: proved"), other.first);
    return found.lines.join("; ");
  });
  await page.close();
}
