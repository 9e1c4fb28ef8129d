// Numbers as text, rounded to their safe side, as the accountant's own are.

function toward(x, digits, sign) {
  if (x === 0 || !Number.isFinite(x)) return String(x);
  const near = Number(x.toPrecision(digits));
  if ((near - x) * sign >= 0) return plain(near);
  const step = 10 ** (Math.floor(Math.log10(Math.abs(x))) - digits + 1);
  return plain(Number((near + sign * step).toPrecision(digits)));
}

const plain = (x) => (x !== 0 && Math.abs(x) < 1e-4 ? x.toExponential().replace("e-0", "e-") : String(x));

export const up = (x, digits) => toward(x, digits, 1);
export const down = (x, digits) => toward(x, digits, -1);
