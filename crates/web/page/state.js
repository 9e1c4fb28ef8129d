// What the reader has chosen, and its form in the address of the page: nothing of it is sent to a server.

import { KINDS, ASKS } from "./kinds.js";

const MOST_ENTRIES = 20;

export const newEntry = (kind) => ({ kind, values: { ...KINDS[kind].start } });

export const initial = () => ({ ask: "epsilon", delta: "1e-5", epsilon: "1", adjacency: "add-remove", unit: "example", entries: [newEntry("dp-sgd")], at: 0 });

export function toHash(state) {
  const words = new URLSearchParams();
  words.set("ask", state.ask);
  words.set("delta", state.delta);
  words.set("epsilon", state.epsilon);
  if (state.adjacency !== "add-remove") words.set("adjacency", state.adjacency);
  if (state.unit !== "example") words.set("unit", state.unit);
  for (const { kind, values } of state.entries) {
    words.append("m", [kind, ...Object.entries(values).map(([name, value]) => `${name}:${encodeURIComponent(value)}`)].join(" "));
  }
  return `#${words}`;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// What an address says, as far as it says something that there is; the rest is as at the start.
export function fromHash(hash) {
  const state = initial();
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const short = (text) => (text ?? "").slice(0, 40);
  if (Object.hasOwn(ASKS, words.get("ask") ?? "")) state.ask = words.get("ask");
  for (const name of ["delta", "epsilon"]) if (words.has(name)) state[name] = short(words.get(name));
  if (["replace-one", "zero-out"].includes(words.get("adjacency"))) state.adjacency = words.get("adjacency");
  if (words.has("unit")) state.unit = short(words.get("unit"));
  const entries = words.getAll("m").slice(0, MOST_ENTRIES).flatMap((text) => {
    const [kind, ...pairs] = text.split(" ");
    if (!Object.hasOwn(KINDS, kind)) return [];
    const entry = newEntry(kind);
    for (const pair of pairs) {
      const [name, ...value] = pair.split(":");
      if (Object.hasOwn(entry.values, name)) entry.values[name] = short(decoded(value.join(":")));
    }
    return [entry];
  });
  if (entries.length) state.entries = entries;
  return state;
}
