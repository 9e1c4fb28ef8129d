// Workers that share one compiled module. Each answers in the order in which it is asked, and can be restarted.

const GZIP = [0x1f, 0x8b];

async function unpacked(bytes) {
  const head = new Uint8Array(bytes, 0, 2);
  // Some servers unpack on the way, and then there is nothing left to do.
  if (head[0] !== GZIP[0] || head[1] !== GZIP[1]) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

async function load() {
  const response = await fetch("veracity.wasm.gz");
  if (!response.ok) throw new Error("veracity.wasm.gz is missing");
  return WebAssembly.compile(await unpacked(await response.arrayBuffer()));
}

const compiled = load();

export class Engine {
  #worker; #ready; #waiting = new Map(); #next = 0;

  constructor() { this.#begin(); }

  #begin() {
    this.#worker = new Worker("worker.js");
    this.#worker.addEventListener("message", ({ data }) => this.#told(data));
    this.#ready = compiled.then((module) => this.#worker.postMessage({ module }));
  }

  #told(data) {
    const waiting = this.#waiting.get(data.id);
    if (!waiting) return;
    this.#waiting.delete(data.id);
    waiting.resolve({ ...data.answer, took: data.took });
    if (data.answer.broken) this.restart();
  }

  // The answer; an error where there is none within so many milliseconds; nothing where the question was given up.
  async ask(question, within) {
    const id = this.#next++;
    const answer = new Promise((resolve) => this.#waiting.set(id, { resolve, question, since: performance.now() }));
    const late = within && setTimeout(() => this.#giveUp(id), within);
    await this.#post(id);
    return answer.finally(() => clearTimeout(late));
  }

  async #post(id) {
    try {
      await this.#ready;
      const waiting = this.#waiting.get(id);
      if (waiting) this.#worker.postMessage({ id, question: waiting.question });
    } catch (error) {
      this.#waiting.get(id)?.resolve({ error: `${error.message}, expected it next to the page` });
      this.#waiting.delete(id);
    }
  }

  // What has taken too long holds the worker: the others are asked again.
  #giveUp(id) {
    const late = this.#waiting.get(id);
    if (!late) return;
    this.#waiting.delete(id);
    late.resolve({ error: "this takes too long in the browser; use the command line, which has no time limit" });
    this.#worker.terminate();
    this.#begin();
    for (const [other, waiting] of this.#waiting) {
      waiting.since = performance.now();
      this.#post(other);
    }
  }

  get isBusy() { return this.#waiting.size > 0; }

  // For how long the first of what waits has been waiting, in milliseconds.
  get heldFor() {
    const [first] = this.#waiting.values();
    return first ? performance.now() - first.since : 0;
  }

  // Gives up all that is under way.
  restart() {
    this.stop();
    this.#begin();
  }

  // The same for good: nothing is asked any more.
  stop() {
    this.#worker.terminate();
    for (const { resolve } of this.#waiting.values()) resolve(null);
    this.#waiting.clear();
  }
}
