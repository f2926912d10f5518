"use strict";
// Texts with their claims and evidence marked.

/** Convert offsets in code points (from the data) to UTF-16 offsets. */
function offsetConverter(text) {
  if (!/[\ud800-\udbff][\udc00-\udfff]/.test(text)) return (offset) => Math.min(offset, text.length);
  const offsets = [];
  let unit = 0;
  for (const character of text) {
    offsets.push(unit);
    unit += character.length;
  }
  offsets.push(unit);
  return (offset) => offsets[Math.min(offset, offsets.length - 1)];
}

/** Longer texts are laid out in chunks. */
const MAX_WHOLE = 20000;
const CHUNK = 4000;

/** Starts of the chunks of a long text: after a blank if one is near, never within a pair. */
function chunkStarts(text) {
  const cuts = [];
  for (let at = CHUNK; text.length > MAX_WHOLE && at < text.length; at += CHUNK) {
    const near = /\s/.exec(text.slice(at, at + 200));
    if (near) at += near.index + 1;
    else if (/[\udc00-\udfff]/.test(text[at])) at += 1;
    cuts.push(at);
  }
  return cuts;
}

/** Split a text at the ends of ranges and chunks; each part lists the ranges that cover it. */
function splitText(text, ranges) {
  const unit = offsetConverter(text);
  const placed = ranges
    .map((range) => ({ ...range, start: unit(range.start), end: unit(range.end) }))
    .filter((range) => range.start < range.end);
  const starts = chunkStarts(text);
  const cuts = new Set([0, text.length, ...starts, ...placed.flatMap(({ start, end }) => [start, end])]);
  const places = [...cuts].sort((a, b) => a - b);
  return places.slice(0, -1).map((start, number) => ({
    text: text.slice(start, places[number + 1]),
    begins: start === 0 || starts.includes(start),
    over: placed.filter((range) => range.start <= start && places[number + 1] <= range.end),
    ending: placed.filter((range) => range.end === places[number + 1]),
  }));
}

/** A text with its claims and evidence marked; claims have a sign and words beside the colour. */
function markText(text, ranges, claims) {
  const seen = new Set();
  const made = element("div", { class: "text" });
  let chunk = null;
  for (const part of splitText(text, ranges)) {
    if (part.begins) chunk = made.appendChild(element("div", { class: "chunk" }));
    let node = document.createTextNode(makeVisible(part.text));
    const evidence = part.over.filter((range) => range.role === "evidence");
    if (evidence.length) {
      const numbers = [...new Set(evidence.map((range) => range.claim))].join(" ");
      node = element("mark", { class: "evidence", "data-evidence": numbers }, node);
    }
    const own = part.over.filter((range) => range.role === "claim");
    chunk.append(own.length ? claimPart(node, own, claims, seen) : node);
    part.ending
      .filter((range) => range.role === "claim")
      .forEach((range) => chunk.append(claimMarker(range.claim, claims)));
  }
  return made;
}

/** A part of claims, in the colour of the innermost one. */
function claimPart(node, ranges, claims, seen) {
  const inner = ranges.reduce((a, b) => (b.start >= a.start ? b : a));
  const label = LABELS[claims[inner.claim].label];
  const first = !seen.has(inner.claim);
  seen.add(inner.claim);
  return element(
    "span",
    {
      class: `claim ${label.kind}`,
      "data-claims": ranges.map((range) => range.claim).join(" "),
      "data-claim": inner.claim,
      tabindex: first ? "0" : null,
      role: first ? "button" : null,
      "aria-label": first
        ? `Claim ${inner.claim + 1}, ${label.words}: ${node.textContent}`
        : null,
    },
    node,
  );
}

function claimMarker(number, claims) {
  const label = LABELS[claims[number].label];
  const words = label.kind === "good" ? "" : ` ${label.words}`;
  return element(
    "span",
    { class: `sign ${label.kind}`, "aria-hidden": "true" },
    `${label.sign} ${number + 1}${words}`,
  );
}

function includesNumber(node, name, number) {
  return (node.getAttribute(name) ?? "").split(" ").includes(String(number));
}

/** Highlight one claim and its evidence within an element; return the evidence. */
function highlight(root, number) {
  for (const name of ["data-claims", "data-evidence"]) {
    root.querySelectorAll(`[${name}]`).forEach((node) => {
      node.classList.toggle("lit", number !== null && includesNumber(node, name, number));
    });
  }
  return [...root.querySelectorAll(".evidence.lit")];
}

/** Scroll the pane around a node, not the page, to show the node. */
function scrollPaneTo(node) {
  const pane = node.closest(".pane");
  if (!pane || pane.scrollHeight <= pane.clientHeight) return;
  const [inner, outer] = [node.getBoundingClientRect(), pane.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom) {
    pane.scrollTop += inner.top - outer.top - pane.clientHeight / 3;
  }
}
