// A number field with its slider.

import { numberOf } from "./question.js";
import { element } from "./element.js";

const STEPS = 400;

// A number as a person would write it: three digits on a slider, whole where it must be.
function written(x, { whole }) {
  if (whole) return String(Math.round(x));
  const three = Number(x.toPrecision(x < 1e-4 ? 1 : 3));
  return three !== 0 && Math.abs(three) < 1e-3 ? three.toExponential() : String(three);
}

export function numberField(field, value, changed) {
  const id = `field-${field.id ?? field.name}`;
  const wrong = element("p", { class: "wrong", id: `${id}-wrong`, hidden: true });
  const input = element("input", { type: "text", id, inputmode: "decimal", spellcheck: "false", value, "aria-describedby": `${id}-wrong` });
  const slider = element("input", { type: "range", min: "0", max: String(STEPS), "aria-label": `${field.label}, slider` });
  const place = (x) => Math.round((STEPS * Math.log(Math.min(field.high, Math.max(field.low, x)) / field.low)) / Math.log(field.high / field.low));
  const settle = () => {
    const x = numberOf(input.value);
    const good = Number.isFinite(x);
    input.setAttribute("aria-invalid", String(!good));
    wrong.hidden = good;
    wrong.textContent = good ? "" : `${field.label.toLowerCase()} is not a number, expected one such as ${written(field.low, field)}`;
    if (good && x > 0) slider.value = String(place(x));
    slider.setAttribute("aria-valuetext", input.value);
  };
  input.addEventListener("input", () => { settle(); changed(input.value); });
  slider.addEventListener("input", () => {
    const x = field.low * (field.high / field.low) ** (Number(slider.value) / STEPS);
    input.value = written(x, field);
    settle();
    changed(input.value);
  });
  settle();
  const label = element("label", { for: id }, field.label);
  return element("div", { class: "field" }, label, element("div", { class: "pair" }, slider, input), wrong);
}

export function segments(box, names, chosen, choose, isThere = () => true) {
  box.replaceChildren(...Object.entries(names).map(([name, text]) => {
    const button = element("button", { type: "button", "data-name": name, "aria-pressed": String(name === chosen), disabled: !isThere(name) }, text);
    button.addEventListener("click", () => choose(name));
    return button;
  }));
}
