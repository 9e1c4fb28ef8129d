// The mechanisms of the page: what each is called, its fields with their ranges, and which setting can be looked for.

const noise = (low, high) => ({ name: "noise_multiplier", label: "Noise multiplier", flag: "--noise-multiplier", low, high, of: "noise" });
const times = { name: "times", label: "How often", flag: "--times", low: 1, high: 1000, whole: true, of: "steps" };

export const KINDS = {
  "dp-sgd": {
    label: "DP-SGD: noisy training",
    hint: "Each record enters a batch by chance; its clipped gradient is hidden in Gaussian noise.",
    short: "DP-SGD",
    fields: [
      { name: "batch_size", label: "Batch size", flag: "--batch-size", low: 64, high: 8192, whole: true, of: "sampling-rate" },
      { name: "dataset_size", label: "Records", flag: "--dataset-size", low: 1000, high: 1e6, whole: true, of: "sampling-rate" },
      noise(0.7, 10),
      { name: "epochs", label: "Epochs", flag: "--epochs", low: 2, high: 100, of: "steps" },
    ],
    start: { batch_size: "256", dataset_size: "60000", noise_multiplier: "1", epochs: "10", steps: "1000" },
    solves: ["noise", "steps", "sampling-rate"],
  },
  gaussian: {
    label: "Gaussian noise on a sum",
    hint: "The multiplier is the standard deviation over the most that one record can move the sum.",
    short: "Gaussian",
    fields: [noise(0.5, 50), times],
    start: { noise_multiplier: "4", times: "1" },
    solves: ["noise", "steps"],
  },
  laplace: {
    label: "Laplace noise on a count",
    hint: "The multiplier is the scale over the most that one record can move the count.",
    short: "Laplace",
    fields: [noise(0.5, 50), times],
    start: { noise_multiplier: "2", times: "1" },
    solves: ["noise", "steps"],
  },
  "discrete-gaussian": {
    label: "Gaussian noise on whole numbers",
    hint: "Drawn as whole numbers, so that no rounding leaks.",
    short: "Discrete Gaussian",
    fields: [
      { name: "sigma", label: "Sigma", flag: "--sigma", low: 0.5, high: 20, of: "noise" },
      { name: "sensitivity", label: "Sensitivity", flag: "--sensitivity", low: 1, high: 10, whole: true },
      times,
    ],
    start: { sigma: "4", sensitivity: "1", times: "1" },
    solves: ["noise", "steps"],
  },
  "discrete-laplace": {
    label: "Laplace noise on whole numbers",
    hint: "Drawn as whole numbers, so that no rounding leaks.",
    short: "Discrete Laplace",
    fields: [
      { name: "scale", label: "Scale", flag: "--scale", low: 0.5, high: 50, of: "noise" },
      { name: "sensitivity", label: "Sensitivity", flag: "--sensitivity", low: 1, high: 10, whole: true },
      times,
    ],
    start: { scale: "4", sensitivity: "1", times: "1" },
    solves: ["noise", "steps"],
  },
  "randomized-response": {
    label: "Randomized response",
    hint: "Everyone answers for themselves, and at random with some chance.",
    short: "Randomized response",
    adjacency: "replace-one",
    fields: [
      { name: "noise_parameter", label: "Chance of a random answer", flag: "--noise-parameter", low: 0.05, high: 1 },
      { name: "buckets", label: "Possible answers", flag: "--buckets", low: 2, high: 100, whole: true },
      times,
    ],
    start: { noise_parameter: "0.5", buckets: "2", times: "1" },
    solves: ["steps"],
  },
  exponential: {
    label: "Exponential mechanism",
    hint: "Chooses among candidates; the range is 2 × sensitivity ÷ temperature.",
    short: "Exponential",
    fields: [{ name: "epsilon", label: "Range of its losses", flag: "--range", low: 0.01, high: 5 }],
    start: { epsilon: "1" },
    solves: [],
  },
};

export const ASKS = {
  epsilon: "ε",
  delta: "δ",
  noise: "Noise",
  steps: "Steps",
  "sampling-rate": "Rate",
};

const steps = { name: "steps", label: "Steps", flag: "--steps", low: 10, high: 100000, whole: true };

// The fields that are shown: those of the kind, without the one that is looked for.
export function fieldsOf(kind, ask) {
  const left = KINDS[kind].fields.filter((field) => field.of === undefined || field.of !== ask);
  // A rate is looked for at so many steps: how many epochs they are follows from it.
  if (kind === "dp-sgd" && ask === "sampling-rate") return [...left.filter((field) => field.name !== "epochs"), steps];
  return left;
}

export const DELTA = { name: "delta", label: "δ", low: 1e-7, high: 1e-3 };
export const EPSILON = { name: "epsilon", label: "ε", low: 0.1, high: 10 };
