// Every control: numbers, sliders, choices, the plan, copies, the address, the theme, the keyboard.

import fs from "node:fs";
import { answered, choose, command, difference, must, open, plain, press, seen, shell, told, turnOf, type } from "../session.mjs";

const same = async (setting, page, where) => {
  const wrong = difference(await told(page), await shell(setting, await command(page)));
  must(!wrong, `${where}: ${wrong}`);
};

export async function controls(setting, part) {
  const page = await open(setting);
  const kinds = await page.$$eval("#kind option", (options) => options.map((option) => option.value));
  const fields = () => page.$$eval("#fields input[type=text]", (inputs) => inputs.map((input) => input.id));

  await part("every field of every mechanism changes the answer to that of the command line", async () => {
    let count = 0;
    for (const kind of kinds) {
      await choose(page, "#kind", kind);
      await same(setting, page, kind);
      for (const id of await fields()) {
        const before = await told(page);
        const value = await page.$eval(`#${id}`, (input) => input.value);
        await type(page, `#${id}`, id.endsWith("noise_parameter") ? "0.25" : String(Number(value) * 2));
        must(before !== (await told(page)), `${kind} ${id} changes nothing`);
        await same(setting, page, `${kind} ${id}`);
        count += 1;
      }
    }
    return `${kinds.length} mechanisms, ${count} fields`;
  });

  await part("every slider moves its number, by the keyboard", async () => {
    let count = 0;
    for (const kind of kinds) {
      await choose(page, "#kind", kind);
      for (const slider of await page.$$("#controls input[type=range]")) {
        const before = await turnOf(page);
        await slider.focus();
        const key = await slider.evaluate((there) => (Number(there.value) < 200 ? "ArrowRight" : "ArrowLeft"));
        for (let i = 0; i < 15; i++) await page.keyboard.press(key);
        await answered(page, before);
        await same(setting, page, `${kind} slider`);
        count += 1;
      }
    }
    return `${count} sliders`;
  });

  await part("ε, δ, noise, steps and rate are each looked for", async () => {
    let [count, refused] = [0, 0];
    for (const kind of kinds) {
      await choose(page, "#kind", kind);
      const asks = await page.$$eval("#asks button:not(:disabled)", (buttons) => buttons.map((button) => button.dataset.name));
      for (const ask of asks) {
        await press(page, `#asks [data-name="${ask}"]`);
        await same(setting, page, `${kind} ${ask}`);
        refused += (await told(page)).startsWith("error") ? 1 : 0;
        count += 1;
      }
      await press(page, '#asks [data-name="epsilon"]');
    }
    must(refused <= 2, `${refused} of ${count} have no answer`);
    return `${count} questions, ${refused} of them refused by both doors`;
  });

  await part("adjacency and unit reach the answer", async () => {
    await press(page, '#asks [data-name="epsilon"]');
    await choose(page, "#kind", "gaussian");
    for (const adjacency of ["replace-one", "zero-out", "add-remove"]) {
      await choose(page, "#adjacency", adjacency);
      must((await told(page)).includes(`(${adjacency}, per`), adjacency);
      await same(setting, page, adjacency);
    }
    await type(page, "#unit", "patient's visit");
    must((await told(page)).includes("per patient's visit"), "the unit is not told");
    await same(setting, page, "unit");
    await type(page, "#unit", "example");
  });

  await part("a plan is composed, and taken apart again", async () => {
    await choose(page, "#kind", "dp-sgd");
    await press(page, "#add");
    await choose(page, "#kind", "gaussian");
    await press(page, "#add");
    must((await page.$$("#entries [aria-pressed]")).length === 3, "expected three mechanisms");
    await same(setting, page, "plan of three");
    await press(page, "#forms [data-name=toml]").catch(() => {});
    await press(page, "#forms [data-name=command]").catch(() => {});
    await press(page, "#entries .drop-it");
    await press(page, "#entries .drop-it");
    await same(setting, page, "plan of one");
  });

  await part("the copies as TOML and Python are the same question", async () => {
    await choose(page, "#kind", "dp-sgd");
    await press(page, "#add");
    await press(page, "#forms [data-name=toml]");
    const toml = await command(page);
    fs.writeFileSync(`${setting.out}/plan.toml`, toml);
    const asked = toml.split("\n")[0].replace(/^# /, "");
    const wrong = difference(await told(page), await shell(setting, asked));
    must(!wrong, wrong);
    await press(page, "#forms [data-name=python]");
    fs.writeFileSync(`${setting.out}/copied.py`, await command(page));
    const read = await shell(setting, "python3 -c 'import ast; print(ast.dump(ast.parse(open(\"copied.py\").read())))'");
    must(read.code === 0 && read.stdout.includes("dp_sgd") && read.stdout.includes("epsilon"), read.stderr);
    await setting.browser.defaultBrowserContext().overridePermissions(new URL(setting.url).origin, ["clipboard-read", "clipboard-write", "clipboard-sanitized-write"]);
    await page.bringToFront();
    await page.click("#copy");
    await page.waitForFunction(() => document.getElementById("copied").textContent !== "", { timeout: 5000 });
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    must(copied.trim() === (await command(page)).trim(), "the clipboard has something else");
    await press(page, "#forms [data-name=command]");
  });

  await part("the address holds the question", async () => {
    await type(page, "#field-at-delta", "3e-7");
    const [address, before] = [await page.evaluate(() => location.hash), await told(page)];
    const other = await open(setting, { hash: address });
    must((await told(other)) === before, `${before} became ${await told(other)}`);
    await other.close();
    const odd = await open(setting, { hash: "#ask=everything&m=evil%20a:b&m=dp-sgd%20noise_multiplier:%3Cb%3E&delta=x" });
    must((await told(odd)).startsWith("error: "), "an address of nonsense has an answer");
    await odd.close();
  });

  await part("the theme is switched, and stays", async () => {
    const shade = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const before = await shade();
    await page.click("#theme");
    await page.click("#theme");
    const dark = await shade();
    must(before !== dark, "dark is as light");
    await page.reload({ waitUntil: "load" });
    must((await shade()) === dark, "the choice is forgotten");
    await page.click("#theme");
    must((await shade()) === before, "auto is not light again");
    await answered(page, 0);
  });

  await part("curves, words and other methods follow the answer", async () => {
    await page.goto("about:blank");
    await page.goto(setting.url, { waitUntil: "load" });
    await page.waitForFunction(() => document.getElementById("details").getAttribute("aria-busy") === "false", { timeout: 120_000 });
    const asked = await command(page);
    const all = await shell(setting, `${asked} --compare`);
    const rows = await page.$$eval("#others tbody tr", (rows) => rows.map((row) => [...row.cells].slice(0, 3).map((cell) => cell.textContent)));
    must(rows.length === 12, `${rows.length} methods`);
    for (const [method, lower, upper] of rows) {
      const line = all.stdout.split("\n").find((line) => line.split(" ")[0] === method);
      must(line && plain(line).startsWith(`${method} ${lower} ${upper} `), `${method}: ${lower} ${upper}, but ${line}`);
    }
    const explained = await shell(setting, asked.replace("account", "explain"));
    const words = plain((await page.$eval("#words", (box) => box.innerText)).replace(/\s+/g, " "));
    const flat = plain(explained.stdout.replace(/\s+/g, " "));
    for (const sentence of ["is right at most", "found, at most", "2 together:"]) {
      const after = (text) => text.slice(text.indexOf(sentence)).slice(0, sentence.length + 8);
      must(words.includes(sentence) && after(words) === after(flat), `${after(words)} but ${after(flat)}`);
    }
    await page.focus("#profile");
    for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowRight");
    const readout = await page.$eval("#profile .readout", (told) => told.textContent);
    must(/^at ε = .*: δ ≤ /.test(readout), `the chart reads ${readout}`);
    await page.$eval("#tradeoff", (there) => there.scrollIntoView({ block: "center" }));
    const box = await (await page.$("#tradeoff svg")).boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    must((await page.$eval("#tradeoff .readout", (told) => told.textContent)).includes("misses at least"), "nothing under the pointer");
  });

  await part("no control has thrown", () => must(seen.errors.length === 0, seen.errors.join("; ")));
  await page.close();
}
