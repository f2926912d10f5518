"use strict";
// Elements made from data. Texts become text nodes, never markup.

/** Unsafe characters: controls, bidirectional marks, unpaired surrogates. */
const UNSAFE = new RegExp(
  "[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069\\ufffe\\uffff]" +
    "|[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]",
  "g",
);

/** Replace each unsafe character by a visible one; offsets stay the same. */
function makeVisible(text) {
  return String(text).replace(UNSAFE, "\ufffd");
}

/** Make an element. Null and false attributes are left out; children may be texts. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) {
      made.setAttribute(name, value === true ? "" : makeVisible(value));
    }
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) {
      made.append(child instanceof Node ? child : makeVisible(child));
    }
  }
  return made;
}

function byId(id) {
  return document.getElementById(id);
}

function formatDecimal(value) {
  return value === null || value === undefined ? "–" : value.toFixed(4).replace("-", "\u2212");
}

/** A score with two decimals, or with four if two would make it a whole number. */
function formatBrief(value) {
  const text = value.toFixed(2);
  const isRounded = text.endsWith(".00") && !Number.isInteger(value);
  return isRounded ? formatDecimal(value) : text.replace("-", "\u2212");
}

function formatInteger(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ","); // toLocaleString takes 0.1 s at first
}

function formatCount(number, noun) {
  return `${formatInteger(number)} ${noun}${number === 1 ? "" : "s"}`;
}

function truncate(text, most) {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** Verdicts: colour, sign and words. */
const LABELS = {
  SUPPORTED: { kind: "good", sign: "✓", words: "supported" },
  PARTIALLY_SUPPORTED: { kind: "part", sign: "◐", words: "partially supported" },
  CONTRADICTED: { kind: "bad", sign: "✗", words: "contradicted" },
  NOT_ENOUGH_INFO: { kind: "unknown", sign: "?", words: "not stated" },
};

function badge(kind, sign, words) {
  return element(
    "span",
    { class: `badge ${kind}` },
    element("span", { "aria-hidden": "true" }, sign),
    ` ${words}`,
  );
}

/** A score in a cell: its value with badges, or its state. */
function scoreCell(score) {
  if (score.state !== "scored") {
    const failed = score.state === "failed";
    return badge(failed ? "bad" : "unknown", failed ? "✗" : "?", score.state);
  }
  const signs = [];
  if (score.passed === false) signs.push(badge("bad", "✗", "missed"));
  if (score.fallback) signs.push(badge("part", "!", "imputed"));
  const digits = element("span", { title: formatDecimal(score.value) }, formatBrief(score.value));
  return element("span", { class: "value" }, digits, ...signs.flatMap((s) => [" ", s]));
}

/** A list of names and values; empty values are left out. */
function definitionList(pairs) {
  const shown = pairs.filter(([, words]) => words !== null && words !== undefined && words !== "");
  return element(
    "dl",
    { class: "facts" },
    ...shown.map(([name, words]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, words)),
    ),
  );
}

/** A table whose first cells are row headers; cells may be texts or elements. */
function dataTable(heads, rows, label) {
  const head = heads.map((each) => element("th", { scope: "col" }, each));
  const body = rows.map(([first, ...rest]) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, first),
      ...rest.map((cell) => element("td", {}, cell)),
    ),
  );
  const table = element(
    "table",
    { class: "data" },
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...body),
  );
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table);
}
