// Light, dark, or as the system has it.

import { byId } from "./element.js";

const NAMES = ["auto", "light", "dark"];
const KEPT = "veracity-theme";

function kept() {
  // A browser may forbid to keep anything.
  try { return localStorage.getItem(KEPT); } catch { return null; }
}

function wear(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  byId("theme").textContent = `Theme: ${name}`;
  try { localStorage.setItem(KEPT, name); } catch { /* then it is not kept */ }
}

export function beginTheme() {
  let now = NAMES.includes(kept()) ? kept() : "auto";
  wear(now);
  byId("theme").addEventListener("click", () => {
    now = NAMES[(NAMES.indexOf(now) + 1) % NAMES.length];
    wear(now);
  });
}
