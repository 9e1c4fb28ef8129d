// The content security policy, and that no request leaves the page. Each check has a twin that must fail.

import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { must, open, pause, seen } from "../session.mjs";

export async function policy(setting, part) {
  const origin = new URL(setting.url).origin;
  const sent = seen.requests.filter((url) => /^https?:|^wss?:/.test(url));
  const away = (urls) => urls.filter((url) => new URL(url).hostname !== "127.0.0.1");

  await part("no request has left the page in all of this", () => {
    must(sent.length > 100 && away(sent).length === 0, away(sent).slice(0, 3).join(" "));
    const asked = sent.filter((url) => new URL(url).search !== "");
    must(asked.length === 0, `a request says more than a name: ${asked[0]}`);
    return `${sent.length} requests, all for files of the page`;
  });

  await part("a request that would leave is blocked and seen", async () => {
    const page = await open(setting);
    const before = seen.breaches.length;
    const reached = await page.evaluate(() => fetch("http://127.0.0.2:9/").then(() => true, () => false));
    await pause(200);
    must(!reached && seen.breaches.slice(before).some((what) => what.startsWith("connect-src")), "nothing was seen");
    seen.breaches.length = before;
    await page.close();
  });

  await part("the policy has no unsafe-inline, and nothing has breached it", async () => {
    const response = await fetch(setting.url);
    const header = response.headers.get("content-security-policy") ?? "";
    must(header.includes("default-src 'none'") && header.includes("script-src 'self' 'wasm-unsafe-eval'") && !header.includes("unsafe-inline") && !header.includes("'unsafe-eval'"), header);
    must(seen.breaches.length === 0, seen.breaches.join("; "));
    return header;
  });

  await part("an inline script, a handler and a style would be stopped", async () => {
    const server = http.createServer((request, response) => {
      const name = path.basename(new URL(request.url, "http://x").pathname) || "index.html";
      const kinds = { html: "text/html", js: "text/javascript", css: "text/css" };
      let bytes = fs.readFileSync(path.join(setting.folder, name));
      if (name === "index.html") bytes = Buffer.from(bytes.toString().replace("</header>", "</header><script>window.hacked = true</script><p id=\"styled\" style=\"color: rgb(1, 2, 3)\">x</p>"));
      response.writeHead(200, { "Content-Type": kinds[name.split(".").pop()] ?? "application/octet-stream" }).end(bytes);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const before = seen.breaches.length;
    const page = await open(setting, { url: `http://127.0.0.1:${server.address().port}/` });
    const [hacked, color] = await page.evaluate(() => [window.hacked === true, getComputedStyle(document.getElementById("styled")).color]);
    await pause(200);
    const breaches = seen.breaches.slice(before).join("; ");
    await page.close();
    server.close();
    server.closeAllConnections();
    must(!hacked && color !== "rgb(1, 2, 3)", "it ran");
    must(breaches.includes("script-src") && breaches.includes("style-src"), breaches);
    return breaches;
  });

  await part("a name that leads here from elsewhere is refused", async () => {
    const { port } = new URL(origin);
    const status = (headers, method = "GET", file = "/") => new Promise((resolve, reject) => {
      http.request({ host: "127.0.0.1", port, path: file, method, headers }, (response) => { response.resume(); resolve(response.statusCode); }).on("error", reject).end();
    });
    must((await status({ Host: `evil.example:${port}` })) === 421, "another host is served");
    must((await status({ Host: `localhost:${port}` })) === 200, "localhost is refused");
    must((await status({ Host: `127.0.0.1:${port}` }, "POST")) === 405, "POST is taken");
    must((await status({ Host: `127.0.0.1:${port}` }, "GET", "/../../etc/passwd")) === 404, "a path is followed");
  });
}
