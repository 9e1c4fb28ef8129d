// From what was chosen to a question for the accountant.

import { KINDS, fieldsOf } from "./kinds.js";

export const isSolving = (ask) => ["noise", "steps", "sampling-rate"].includes(ask);

export function numberOf(text) {
  const trimmed = text.trim();
  // Number("") is 0, and Number("0x10") a number.
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) ? Number(trimmed) : NaN;
}

// What is wrong with what was typed, in one line, wherever it was: a value that is not a number is never sent or copied.
export function wrongIn(state) {
  const many = state.entries.length > 1;
  for (const [at, { kind, values }] of state.entries.entries()) {
    for (const { name, label } of fieldsOf(kind, state.ask)) {
      if (Number.isNaN(numberOf(values[name]))) return `${label.toLowerCase()}${many ? ` of mechanism ${at + 1}` : ""} is not a number, expected one such as 10, 0.5 or 1e-5`;
    }
  }
  const given = { epsilon: ["delta"], delta: ["epsilon"] }[state.ask] ?? ["epsilon", "delta"];
  for (const name of given) if (Number.isNaN(numberOf(state[name]))) return `${name} is not a number, expected one such as 10, 0.5 or 1e-5`;
  if (/\p{C}|^$/u.test(state.unit)) return "unit is empty or has a control character, name it, such as person";
  return null;
}

// What is looked for has a placeholder, which is never read.
export function placeholders(kind, ask) {
  const { noise } = KINDS[kind];
  if (ask === "noise" && noise) return { [noise]: 1 };
  if (ask === "steps" && kind === "dp-sgd") return { steps: 1 };
  if (ask === "sampling-rate" && kind === "dp-sgd") return { sampling_rate: 0.5 };
  return {};
}

function mechanism({ kind, values }, ask) {
  const spec = { kind, ...placeholders(kind, ask) };
  for (const { name } of fieldsOf(kind, ask)) if (name !== "times") spec[name] = numberOf(values[name]);
  return spec;
}

export function subjectOf(state) {
  const entries = state.entries.map((entry) => {
    const shown = fieldsOf(entry.kind, state.ask).some(({ name }) => name === "times");
    const times = shown ? numberOf(entry.values.times) : 1;
    return { mechanism: mechanism(entry, state.ask), ...(times === 1 ? {} : { times }) };
  });
  return { entries, adjacency: state.adjacency, unit: state.unit };
}

// The main question, with which of δ and ε is given.
export function questionOf(state) {
  const [delta, epsilon] = [numberOf(state.delta), numberOf(state.epsilon)];
  const subject = subjectOf(state);
  if (isSolving(state.ask)) return { ask: "calibrate", solve: state.ask, subject, epsilon, delta };
  return state.ask === "epsilon" ? { ask: "account", subject, delta } : { ask: "account", subject, epsilon };
}
