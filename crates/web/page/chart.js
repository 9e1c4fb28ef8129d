// Line charts as SVG: labelled axes, a value under the pointer, arrow keys for those who have none.

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = { left: 52, right: 14, top: 28, bottom: 40 };

function node(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const SUPERSCRIPT = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const power = (exponent) => (exponent === 0 ? "1" : `10${[...String(exponent)].map((c) => SUPERSCRIPT[c]).join("")}`);

// Marks of an axis: whole powers of ten, or round steps.
function marks({ low, high, log }, most) {
  if (log) {
    const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
    const stride = Math.max(1, Math.ceil((last - first) / most));
    const all = [];
    for (let k = last; k >= first; k -= stride) all.push([10 ** k, power(k)]);
    return all;
  }
  const rough = (high - low) / most;
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * ten).find((k) => k >= rough * 0.999);
  const all = [];
  for (let x = Math.ceil(low / step) * step; x <= high * 1.0000001; x += step) {
    const value = Number(x.toPrecision(12));
    all.push([value, value.toLocaleString("en", { maximumSignificantDigits: 6 })]);
  }
  return all;
}

export class Chart {
  #box; #drawn; #readout; #at = -1;

  constructor(box, label) {
    this.#box = box;
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", `${label}, use the arrow keys to read its points`);
    this.#readout = document.createElement("p");
    this.#readout.className = "readout";
    this.#readout.setAttribute("aria-live", "polite");
    box.addEventListener("keydown", (event) => this.#key(event));
    box.addEventListener("pointermove", (event) => this.#point(event));
    box.addEventListener("pointerleave", () => this.#show(-1));
    // What is read out may change the height, and that is no reason to redraw.
    new ResizeObserver(() => {
      if (this.#drawn && this.#drawn.width !== this.#width()) this.draw(this.#drawn.plot);
    }).observe(box);
  }

  // plot: description, x and y axes, points, floor of the area or nothing, even line or nothing, level, spot, step, told(point).
  draw(plot) {
    const width = this.#width();
    const height = plot.height ?? Math.min(310, Math.max(240, width * 0.74));
    const place = (axis, from, to) => (value) => {
      const [v, low, high] = axis.log ? [Math.max(value, axis.low), axis.low, axis.high].map(Math.log) : [value, axis.low, axis.high];
      return from + ((v - low) / (high - low || 1)) * (to - from);
    };
    const x = place(plot.x, MARGIN.left, width - MARGIN.right);
    const y = place(plot.y, height - MARGIN.bottom, MARGIN.top);
    const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": plot.description });
    for (const [value, text] of marks(plot.y, 5)) {
      svg.append(node("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(value), y2: y(value) }));
      svg.append(node("text", { x: MARGIN.left - 8, y: y(value) + 4, "text-anchor": "end" }, text));
    }
    for (const [value, text] of marks(plot.x, width < 420 ? 4 : 6)) {
      svg.append(node("text", { x: x(value), y: height - MARGIN.bottom + 18, "text-anchor": "middle" }, text));
    }
    const base = height - MARGIN.bottom;
    svg.append(node("line", { class: "axis", x1: MARGIN.left, x2: width - MARGIN.right, y1: base, y2: base }));
    svg.append(node("text", { x: width - MARGIN.right, y: height - 4, "text-anchor": "end" }, plot.x.label));
    svg.append(node("text", { x: 2, y: 10 }, plot.y.label));
    if (plot.even) svg.append(node("line", { class: "even", x1: x(plot.even[0][0]), y1: y(plot.even[0][1]), x2: x(plot.even[1][0]), y2: y(plot.even[1][1]) }));
    const path = plot.points.map(([a, b], i) => `${i === 0 ? "M" : plot.step ? `H${x(a).toFixed(1)}V` : "L"}${i > 0 && plot.step ? y(b).toFixed(1) : `${x(a).toFixed(1)},${y(b).toFixed(1)}`}`).join("");
    if (plot.points.length > 1) {
      const end = plot.points[plot.points.length - 1][0];
      svg.append(node("path", { class: "area", d: `${path}L${x(end).toFixed(1)},${base}L${x(plot.points[0][0]).toFixed(1)},${base}Z` }));
      svg.append(node("path", { class: "line", d: path }));
    }
    if (plot.level) {
      svg.append(node("line", { class: "claim", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(plot.level.at), y2: y(plot.level.at) }));
      svg.append(node("text", { class: "gold", x: MARGIN.left + 6, y: y(plot.level.at) - 6 }, plot.level.label));
    }
    if (plot.spot) {
      const [sx, sy] = [x(plot.spot.at[0]), y(plot.spot.at[1])];
      const left = sx > width * 0.7;
      svg.append(node("circle", { class: "spot", cx: sx, cy: sy, r: 5.5 }));
      svg.append(node("text", { class: "tag", x: left ? sx - 10 : sx + 10, y: left ? sy + 20 : sy - 10, "text-anchor": left ? "end" : "start" }, plot.spot.label));
    }
    const cursor = node("line", { class: "cursor", y1: MARGIN.top, y2: base, visibility: "hidden" });
    const dot = node("circle", { class: "dot", r: 5, visibility: "hidden" });
    svg.append(cursor, dot);
    this.#drawn = { plot, x, y, width, cursor, dot };
    this.#box.replaceChildren(svg, this.#readout);
    this.#show(-1);
  }

  #width() { return Math.max(240, this.#box.clientWidth); }

  #point(event) {
    if (!this.#drawn) return;
    const { plot, x } = this.#drawn;
    const at = event.clientX - this.#box.getBoundingClientRect().left;
    let best = -1;
    plot.points.forEach(([a], i) => { if (best < 0 || Math.abs(x(a) - at) < Math.abs(x(plot.points[best][0]) - at)) best = i; });
    this.#show(best);
  }

  #key(event) {
    const moves = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
    if (!this.#drawn || !(event.key in moves)) return;
    event.preventDefault();
    const last = this.#drawn.plot.points.length - 1;
    this.#show(Math.min(last, Math.max(0, this.#at + moves[event.key])));
  }

  #show(index) {
    this.#at = index;
    const { plot, x, y, cursor, dot } = this.#drawn;
    const point = plot.points[index];
    for (const mark of [cursor, dot]) mark.setAttribute("visibility", point ? "visible" : "hidden");
    this.#readout.textContent = point ? plot.told(point) : plot.hint ?? "";
    if (!point) return;
    cursor.setAttribute("x1", x(point[0]));
    cursor.setAttribute("x2", x(point[0]));
    dot.setAttribute("cx", x(point[0]));
    dot.setAttribute("cy", y(point[1]));
  }
}
