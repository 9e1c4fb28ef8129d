// The same question as a command line, as Python and as a TOML plan. Numbers are copied as they were typed, where everyone reads them so.

import { fieldsOf } from "./kinds.js";
import { isSolving, numberOf, placeholders, wrongIn } from "./question.js";

export const FORMS = { command: "Command line", python: "Python", toml: "TOML" };

const quoted = (text) => `"${text.replace(/[\\"]/g, "\\$&")}"`;
const inShell = (text) => (/^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const PLAIN = /^(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i;
const number = (text) => (PLAIN.test(text.trim()) ? text.trim() : String(numberOf(text)));
const shown = (entry, ask) => fieldsOf(entry.kind, ask).filter(({ name }) => name !== "times" || entry.values.times.trim() !== "1");
const usual = (state) => (state.entries.length === 1 && state.entries[0].kind === "randomized-response" ? "replace-one" : "add-remove");

function toml(state) {
  const lines = [];
  if (state.adjacency !== "add-remove") lines.push(`adjacency = "${state.adjacency}"`);
  if (state.unit !== "example") lines.push(`unit = ${quoted(state.unit)}`);
  for (const entry of state.entries) {
    if (lines.length) lines.push("");
    lines.push("[[mechanism]]", `kind = "${entry.kind}"`);
    for (const { name } of shown(entry, state.ask)) lines.push(`${name} = ${number(entry.values[name])}`);
    for (const [name, value] of Object.entries(placeholders(entry.kind, state.ask))) lines.push(`${name} = ${value}`);
  }
  return `${lines.join("\n")}\n`;
}

function flags(state) {
  const words = [];
  if (state.ask !== "delta") words.push("--delta", number(state.delta));
  if (state.ask !== "epsilon") words.push("--epsilon", number(state.epsilon));
  if (isSolving(state.ask) && state.ask !== "noise") words.push("--solve", state.ask);
  return words;
}

function command(state) {
  const verb = isSolving(state.ask) ? "calibrate" : "account";
  if (state.entries.length > 1) {
    return `veracity ${verb} /dev/stdin ${flags(state).join(" ")} <<'PLAN'\n${toml(state)}PLAN\n`;
  }
  const [entry] = state.entries;
  const words = shown(entry, state.ask).flatMap(({ name, flag }) => [flag, number(entry.values[name])]);
  words.push(...flags(state));
  if (state.adjacency !== usual(state)) words.push("--adjacency", state.adjacency);
  // With an equals sign, what begins with a dash is a value, too.
  if (state.unit !== "example") words.push(`--unit=${inShell(state.unit)}`, "");
  // A flag and its value to a line, as a person would break a long command.
  const pairs = words.flatMap((word, i) => (i % 2 === 0 ? [`${word} ${words[i + 1]}`.trimEnd()] : []));
  return `${[`veracity ${verb} ${entry.kind}`, ...pairs].join(" \\\n  ")}\n`;
}

function python(state) {
  const call = (entry) => {
    const given = shown(entry, state.ask).filter(({ name }) => name !== "times").map(({ name }) => `${name}=${number(entry.values[name])}`);
    given.push(...Object.entries(placeholders(entry.kind, state.ask)).map(([name, value]) => `${name}=${value}`));
    const made = `v.${entry.kind.replaceAll("-", "_")}(${given.join(", ")})`;
    const repeated = shown(entry, state.ask).some(({ name }) => name === "times");
    return repeated ? `${number(entry.values.times)} * ${made}` : made;
  };
  const sum = state.entries.map(call).join(" + ");
  const under = [];
  if (state.adjacency !== usual(state)) under.push(`adjacency="${state.adjacency}"`);
  if (state.unit !== "example") under.push(`unit=${quoted(state.unit)}`);
  const whole = under.length ? `(${sum}).with_adjacency(${under.join(", ")})` : sum;
  const delta = `delta=${number(state.delta)}`;
  const epsilon = `epsilon=${number(state.epsilon)}`;
  const last = isSolving(state.ask)
    ? `v.calibrate(mechanism, ${epsilon}, ${delta}, solve="${state.ask}")`
    : state.ask === "epsilon" ? `mechanism.epsilon(${delta})` : `mechanism.delta(${epsilon})`;
  return `import veracity as v\n\nmechanism = ${whole}\n${last}\n`;
}

// The text of one form. A plan says nothing of what is asked about it, so the command that asks stands above it.
export function textOf(state, form) {
  if (wrongIn(state)) return "";
  if (form === "command") return command(state);
  if (form === "python") return python(state);
  const verb = isSolving(state.ask) ? "calibrate" : "account";
  return `# veracity ${verb} plan.toml ${flags(state).join(" ")}\n${toml(state)}`;
}
