// Runs the module: a question in, an answer out, one after another, away from what the reader touches.

const texts = { write: new TextEncoder(), read: new TextDecoder() };
let exports;

function ask(question) {
  const bytes = texts.write.encode(JSON.stringify(question));
  const at = exports.room(bytes.length);
  new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
  const length = exports.reply();
  return JSON.parse(texts.read.decode(new Uint8Array(exports.memory.buffer, exports.answer(), length)));
}

addEventListener("message", async ({ data }) => {
  if (data.module) {
    exports = (await WebAssembly.instantiate(data.module, {})).exports;
    postMessage({ ready: true });
    return;
  }
  const begun = performance.now();
  let answer;
  try {
    answer = ask(data.question);
  } catch {
    // A trap leaves the module in no state to go on: the caller starts again.
    answer = { error: "this query failed in the browser; try it on the command line", broken: true };
  }
  postMessage({ id: data.id, answer, took: performance.now() - begun });
});
