// What is downloaded, and how soon something is seen.

import fs from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { must, open, told } from "../session.mjs";

const MOST = 400_000;

export async function weight(setting, part) {
  await part("all files of the page weigh at most 400 KB packed", () => {
    let [text, module] = [0, 0];
    for (const name of fs.readdirSync(setting.folder)) {
      const bytes = fs.readFileSync(path.join(setting.folder, name));
      if (name.endsWith(".gz")) module += bytes.length;
      else text += gzipSync(bytes, { level: 9 }).length;
    }
    must(module > 100_000, "the module is missing");
    must(text + module <= MOST, `${text + module} bytes`);
    return `${text + module} bytes, ${module} of them the module`;
  });

  await part("an answer is there at first paint, within a second", async () => {
    const page = await open(setting);
    const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
    const markup = fs.readFileSync(path.join(setting.folder, "index.html"), "utf8");
    const [number] = markup.match(/id="big-number">([^<]*)/).slice(1);
    const now = await told(page);
    await page.close();
    must(now.includes(` ${number} at`), `the page begins with ${number} and computes ${now}`);
    must(paint <= 1000, `${paint} ms`);
    return `first paint after ${Math.round(paint)} ms, with ε ≤ ${number}`;
  });
}
