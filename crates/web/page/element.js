// Elements of the page, made from plain values; text is never read as markup.

export function element(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "boolean") made.toggleAttribute(key, value);
    else made.setAttribute(key, value);
  }
  if (attributes.value !== undefined) made.value = attributes.value;
  made.append(...inside);
  return made;
}

export const byId = (id) => document.getElementById(id);

// Sets a text only where it changed, so that screen readers do not read it twice.
export function say(id, text) {
  const there = byId(id);
  if (there.textContent !== text) there.textContent = text;
}
