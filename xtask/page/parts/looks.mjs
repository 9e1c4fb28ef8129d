// Phone and desktop, light and dark, print, offline, any file server; an accessibility checker; pictures to be looked at.

import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { answered, choose, must, open, told, turnOf, type } from "../session.mjs";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const settled = (page) => page.waitForFunction(() => document.getElementById("details").getAttribute("aria-busy") === "false", { timeout: 120_000 });

async function serious(page) {
  // Through the protocol, as a person's own tools run: the page's policy lets no script in.
  const client = await page.createCDPSession();
  await client.send("Runtime.evaluate", { expression: axe });
  const { result } = await client.send("Runtime.evaluate", { expression: "axe.run(document, { resultTypes: ['violations'] }).then((found) => JSON.stringify(found.violations.map(({ id, impact, nodes }) => ({ id, impact, where: nodes.map((node) => node.target.join(' ')) }))))", awaitPromise: true });
  await client.detach();
  return JSON.parse(result.value);
}

export async function looks(setting, part) {
  for (const width of [360, 1280]) {
    for (const scheme of ["light", "dark"]) {
      await part(`${width} px, ${scheme}: nothing overflows, and axe-core finds nothing serious`, async () => {
        const page = await open(setting, { width, scheme });
        await settled(page);
        await page.$eval("#try-forged", (button) => button.click());
        await page.select("#subject", "laplace");
        await page.$eval("#start", (button) => button.click());
        await page.waitForFunction(() => document.getElementById("headline").dataset.verdict && document.getElementById("verdict").classList.contains("bad"), { timeout: 60_000 });
        const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        must(wide <= window, `${wide} px of ${window}`);
        await page.screenshot({ path: `${setting.out}/page-${width}-${scheme}.png`, fullPage: true });
        const found = await serious(page);
        const bad = found.filter(({ impact }) => ["serious", "critical"].includes(impact));
        must(bad.length === 0, JSON.stringify(bad));
        await page.close();
        return found.length ? `minor: ${found.map(({ id }) => id).join(", ")}` : "nothing at all";
      });
    }
  }

  await part("axe-core finds a field without a label, were there one", async () => {
    const page = await open(setting);
    await page.evaluate(() => document.querySelector("main").append(document.createElement("input")));
    const found = await serious(page);
    await page.close();
    must(found.some(({ id, impact }) => id === "label" && impact === "critical"), JSON.stringify(found));
  });

  await part("printed, the answer and its meaning are there, and the controls are not", async () => {
    const page = await open(setting);
    await settled(page);
    await page.emulateMediaType("print");
    const shown = (id) => page.$eval(id, (there) => there.checkVisibility());
    must((await shown("#big")) && (await shown("#words")) && (await shown("#profile svg")), "the answer is not printed");
    must(!(await shown("#controls")) && !(await shown("#start")), "controls are printed");
    await page.pdf({ path: `${setting.out}/page.pdf` });
    await page.close();
  });

  await part("everything goes on without a network", async () => {
    const page = await open(setting);
    await settled(page);
    await page.setOfflineMode(true);
    await choose(page, "#kind", "laplace");
    await type(page, "#field-noise_multiplier", "7");
    must((await told(page)).startsWith("epsilon ≤ 0.142837143 "), await told(page));
    await page.$eval("#try-true", (button) => button.click());
    await page.waitForFunction(() => document.getElementById("verdict").classList.contains("good"), { timeout: 20_000 });
    await page.select("#subject", "laplace");
    await page.$eval("#start", (button) => button.click());
    await page.waitForFunction(() => document.getElementById("headline").dataset.verdict === "refuted", { timeout: 60_000 });
    await page.close();
  });

  await part("any file server will do, also one that unpacks on the way", async () => {
    for (const packs of [false, true]) {
      const kinds = { html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };
      const server = http.createServer((request, response) => {
        const name = path.basename(new URL(request.url, "http://x").pathname) || "index.html";
        const file = path.join(setting.folder, name);
        if (!fs.existsSync(file)) { response.writeHead(404).end(); return; }
        const encoding = packs && name.endsWith(".gz") ? { "Content-Encoding": "gzip" } : {};
        response.writeHead(200, { "Content-Type": kinds[name.split(".").pop()] ?? "application/octet-stream", ...encoding }).end(fs.readFileSync(file));
      });
      await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
      const page = await open(setting, { url: `http://127.0.0.1:${server.address().port}/` });
      must((await told(page)).startsWith("epsilon ≤ 1.0999"), await told(page));
      const before = await turnOf(page);
      await page.evaluate(() => { location.hash = "#ask=epsilon&delta=0&m=laplace%20noise_multiplier:1%20times:1"; });
      await answered(page, before);
      must((await told(page)).startsWith("epsilon ≤ 1.0000000"), await told(page));
      await page.close();
      server.close();
      server.closeAllConnections();
    }
  });
}
