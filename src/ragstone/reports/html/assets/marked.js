"use strict";
// Marked texts: which stretch of a text makes which claim, and which is evidence for which.

/** Turn offsets in characters, as data has them, into offsets in a script's text. */
function unitOffsets(text) {
  if (!/[\ud800-\udbff][\udc00-\udfff]/.test(text)) return (offset) => Math.min(offset, text.length);
  const starts = [];
  let unit = 0;
  for (const character of text) {
    starts.push(unit);
    unit += character.length;
  }
  starts.push(unit);
  return (offset) => starts[Math.min(offset, starts.length - 1)];
}

/** Characters up to which a text is laid out at once, and in one lump of a longer one. */
const LONG = 20000;
const LUMP = 4000;

/** Where a very long text is cut into lumps, after a blank if one is near; never within a pair. */
function lumps(text) {
  const cuts = [];
  for (let at = LUMP; text.length > LONG && at < text.length; at += LUMP) {
    const near = /\s/.exec(text.slice(at, at + 200));
    if (near) at += near.index + 1;
    else if (/[\udc00-\udfff]/.test(text[at])) at += 1;
    cuts.push(at);
  }
  return cuts;
}

/** Cut a text where a range or a lump begins or ends; a stretch knows the ranges that cover it. */
function stretches(text, ranges) {
  const unit = unitOffsets(text);
  const placed = ranges
    .map((range) => ({ ...range, start: unit(range.start), end: unit(range.end) }))
    .filter((range) => range.start < range.end);
  const begun = lumps(text);
  const cuts = new Set([0, text.length, ...begun, ...placed.flatMap(({ start, end }) => [start, end])]);
  const places = [...cuts].sort((a, b) => a - b);
  return places.slice(0, -1).map((start, number) => ({
    text: text.slice(start, places[number + 1]),
    begins: start === 0 || begun.includes(start),
    over: placed.filter((range) => range.start <= start && places[number + 1] <= range.end),
    ending: placed.filter((range) => range.end === places[number + 1]),
  }));
}

/** A text with its claims and its evidence marked. Claims carry sign and word beside the colour. */
function markedText(text, ranges, claims) {
  const reached = new Set();
  const made = element("div", { class: "text" });
  let lump = null;
  for (const stretch of stretches(text, ranges)) {
    if (stretch.begins) lump = made.appendChild(element("div", { class: "lump" }));
    let node = document.createTextNode(visible(stretch.text));
    const evidence = stretch.over.filter((range) => range.role === "evidence");
    if (evidence.length) {
      const numbers = [...new Set(evidence.map((range) => range.claim))].join(" ");
      node = element("mark", { class: "evidence", "data-evidence": numbers }, node);
    }
    const own = stretch.over.filter((range) => range.role === "claim");
    lump.append(own.length ? claimStretch(node, own, claims, reached) : node);
    stretch.ending
      .filter((range) => range.role === "claim")
      .forEach((range) => lump.append(sign(range.claim, claims)));
  }
  return made;
}

/** A stretch that makes claims; it has the colour of the one that began last. */
function claimStretch(node, ranges, claims, reached) {
  const inner = ranges.reduce((a, b) => (b.start >= a.start ? b : a));
  const label = LABELS[claims[inner.claim].label];
  const first = !reached.has(inner.claim);
  reached.add(inner.claim);
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

function sign(number, claims) {
  const label = LABELS[claims[number].label];
  const words = label.kind === "good" ? "" : ` ${label.words}`;
  return element(
    "span",
    { class: `sign ${label.kind}`, "aria-hidden": "true" },
    `${label.sign} ${number + 1}${words}`,
  );
}

function holds(node, name, number) {
  return (node.getAttribute(name) ?? "").split(" ").includes(String(number));
}

/** Light one claim and its evidence below an element; return the lit evidence. */
function light(root, number) {
  for (const name of ["data-claims", "data-evidence"]) {
    root.querySelectorAll(`[${name}]`).forEach((node) => {
      node.classList.toggle("lit", number !== null && holds(node, name, number));
    });
  }
  return [...root.querySelectorAll(".evidence.lit")];
}

/** Scroll the pane around a node, not the page, until the node is seen. */
function showInPane(node) {
  const pane = node.closest(".pane");
  if (!pane || pane.scrollHeight <= pane.clientHeight) return;
  const [inner, outer] = [node.getBoundingClientRect(), pane.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom) {
    pane.scrollTop += inner.top - outer.top - pane.clientHeight / 3;
  }
}
