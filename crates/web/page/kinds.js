// The mechanisms of the page: what each is called, its fields with their ranges, and which setting can be looked for.

// The table is made from the table of kinds: BLESS=1 cargo test -p veracity-account kinds.
export const KINDS = {
  "dp-sgd": {
    label: "DP-SGD: noisy training",
    hint: "Each record enters a batch at random, and Gaussian noise hides its clipped gradient.",
    short: "DP-SGD",
    noise: "noise_multiplier",
    solves: ["noise","steps","sampling-rate"],
    fields: [
      {"flag":"--batch-size","high":8192.0,"label":"Batch size","low":64.0,"name":"batch_size","of":"sampling-rate","whole":true},
      {"flag":"--dataset-size","high":1000000.0,"label":"Records","low":1000.0,"name":"dataset_size","of":"sampling-rate","whole":true},
      {"flag":"--noise-multiplier","high":10.0,"label":"Noise multiplier","low":0.7,"name":"noise_multiplier","of":"noise"},
      {"flag":"--epochs","high":100.0,"label":"Epochs","low":2.0,"name":"epochs","of":"steps"},
    ],
    start: {"batch_size":"256","dataset_size":"60000","epochs":"10","noise_multiplier":"1","steps":"1000"},
  },
  "gaussian": {
    label: "Gaussian noise on a sum",
    hint: "The multiplier is the standard deviation divided by the largest change that one record can cause.",
    short: "Gaussian",
    noise: "noise_multiplier",
    solves: ["noise","steps"],
    fields: [
      {"flag":"--noise-multiplier","high":50.0,"label":"Noise multiplier","low":0.5,"name":"noise_multiplier","of":"noise"},
      {"flag":"--times","high":1000.0,"label":"How often","low":1.0,"name":"times","of":"steps","whole":true},
    ],
    start: {"noise_multiplier":"4","times":"1"},
  },
  "laplace": {
    label: "Laplace noise on a count",
    hint: "The multiplier is the scale divided by the largest change that one record can cause.",
    short: "Laplace",
    noise: "noise_multiplier",
    solves: ["noise","steps"],
    fields: [
      {"flag":"--noise-multiplier","high":50.0,"label":"Noise multiplier","low":0.5,"name":"noise_multiplier","of":"noise"},
      {"flag":"--times","high":1000.0,"label":"How often","low":1.0,"name":"times","of":"steps","whole":true},
    ],
    start: {"noise_multiplier":"2","times":"1"},
  },
  "discrete-gaussian": {
    label: "Gaussian noise on integers",
    hint: "Drawn as integers, so that no rounding leaks information.",
    short: "Discrete Gaussian",
    noise: "sigma",
    solves: ["noise","steps"],
    fields: [
      {"flag":"--sigma","high":20.0,"label":"Sigma","low":0.5,"name":"sigma","of":"noise"},
      {"flag":"--sensitivity","high":10.0,"label":"Sensitivity","low":1.0,"name":"sensitivity","whole":true},
      {"flag":"--times","high":1000.0,"label":"How often","low":1.0,"name":"times","of":"steps","whole":true},
    ],
    start: {"sensitivity":"1","sigma":"4","times":"1"},
  },
  "discrete-laplace": {
    label: "Laplace noise on integers",
    hint: "Drawn as integers, so that no rounding leaks information.",
    short: "Discrete Laplace",
    noise: "scale",
    solves: ["noise","steps"],
    fields: [
      {"flag":"--scale","high":50.0,"label":"Scale","low":0.5,"name":"scale","of":"noise"},
      {"flag":"--sensitivity","high":10.0,"label":"Sensitivity","low":1.0,"name":"sensitivity","whole":true},
      {"flag":"--times","high":1000.0,"label":"How often","low":1.0,"name":"times","of":"steps","whole":true},
    ],
    start: {"scale":"4","sensitivity":"1","times":"1"},
  },
  "skellam": {
    label: "Skellam noise on integers",
    hint: "The difference of two Poisson variables. The sum of several parties' noise is Skellam noise again.",
    short: "Skellam",
    noise: "variance",
    solves: ["noise","steps"],
    fields: [
      {"flag":"--variance","high":400.0,"label":"Variance","low":0.25,"name":"variance","of":"noise"},
      {"flag":"--sensitivity","high":10.0,"label":"Sensitivity","low":1.0,"name":"sensitivity","whole":true},
      {"flag":"--times","high":1000.0,"label":"How often","low":1.0,"name":"times","of":"steps","whole":true},
    ],
    start: {"sensitivity":"1","times":"1","variance":"16"},
  },
  "randomized-response": {
    label: "Randomized response",
    hint: "Each person answers at random with some probability, and truthfully otherwise.",
    short: "Randomized response",
    adjacency: "replace-one",
    solves: ["steps"],
    fields: [
      {"flag":"--noise-parameter","high":1.0,"label":"Probability of a random answer","low":0.05,"name":"noise_parameter"},
      {"flag":"--buckets","high":100.0,"label":"Possible answers","low":2.0,"name":"buckets","whole":true},
      {"flag":"--times","high":1000.0,"label":"How often","low":1.0,"name":"times","of":"steps","whole":true},
    ],
    start: {"buckets":"2","noise_parameter":"0.5","times":"1"},
  },
  "exponential": {
    label: "Exponential mechanism",
    hint: "Chooses one of many candidates. The range is 2 × sensitivity ÷ temperature.",
    short: "Exponential",
    solves: [],
    fields: [
      {"flag":"--range","high":5.0,"label":"Range of its losses","low":0.01,"name":"epsilon"},
    ],
    start: {"epsilon":"1"},
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
