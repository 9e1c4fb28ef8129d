// A browser compiles well only what it has seen to be hot. A few typical questions make the next ones fast. A worker of their own asks
// them, so that no reader waits behind one; what is compiled for it is compiled for all, since they share one module.

import { Engine } from "./engine.js";

const mechanism = (mechanism, times) => ({ entries: [{ mechanism, ...(times ? { times } : {}) }] });
const sgd = (batch_size, dataset_size, noise_multiplier, epochs) => mechanism({ kind: "dp-sgd", batch_size, dataset_size, noise_multiplier, epochs });

const TYPICAL = [
  sgd(256, 60000, 1, 10), sgd(64, 1e6, 0.6, 20), sgd(4096, 50000, 4, 100), sgd(32, 1e7, 0.5, 3), sgd(1024, 2000, 9, 150),
  sgd(128, 3e5, 0.7, 2), sgd(16, 5e6, 0.55, 50), sgd(8192, 1e6, 1.5, 30),
  mechanism({ kind: "gaussian", noise_multiplier: 3 }, 30), mechanism({ kind: "laplace", noise_multiplier: 4 }, 60),
  mechanism({ kind: "laplace", noise_multiplier: 20 }, 700), mechanism({ kind: "discrete-gaussian", sigma: 8, sensitivity: 2 }, 20),
  mechanism({ kind: "discrete-laplace", scale: 8, sensitivity: 2 }, 20),
  { ...mechanism({ kind: "randomized-response", noise_parameter: 0.4, buckets: 5 }, 20), adjacency: "replace-one" },
];

let isBegun = false;
let touched = 0;

addEventListener("input", () => { touched = performance.now(); });

export async function warmUp() {
  if (isBegun) return;
  isBegun = true;
  const engine = new Engine();
  for (const given of [{ delta: 1e-5 }, { epsilon: 2 }, { delta: 1e-7 }, { delta: 1e-4 }]) {
    for (const subject of TYPICAL) {
      // A reader who moves a slider comes first.
      while (performance.now() - touched < 400) await new Promise((resolve) => setTimeout(resolve, 150));
      await engine.ask({ ask: "account", subject, ...given });
      await new Promise((resolve) => setTimeout(resolve, 4));
    }
  }
  engine.stop();
  document.documentElement.dataset.warm = "true";
}
