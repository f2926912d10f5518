"use strict";
// Elements made from data. Texts reach the page as text nodes only, never as markup.

/** What a page must not show: control characters, marks that turn the order of letters, halves. */
const UNSAFE = new RegExp(
  "[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069\\ufffe\\uffff]" +
    "|[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]",
  "g",
);

/** A text with a visible mark for each unsafe character: one for one, so that offsets stay. */
function visible(text) {
  return String(text).replace(UNSAFE, "\ufffd");
}

/** Make an element; attributes that are null or false are left out, children may be texts. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) {
      made.setAttribute(name, value === true ? "" : visible(value));
    }
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) {
      made.append(child instanceof Node ? child : visible(child));
    }
  }
  return made;
}

function byId(id) {
  return document.getElementById(id);
}

function decimal(value) {
  return value === null || value === undefined ? "–" : value.toFixed(4).replace("-", "\u2212");
}

function whole(value) {
  return value.toLocaleString("en");
}

function counted(number, noun) {
  return `${whole(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** The beginning of a text, as a list shows it. */
function shortened(text, most) {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** Labels of verdicts: the sign and the words that stand beside the colour. */
const LABELS = {
  SUPPORTED: { kind: "good", sign: "✓", words: "supported" },
  PARTIALLY_SUPPORTED: { kind: "part", sign: "◐", words: "supported in part" },
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

/** A score in a cell: the number and what is to be known of it, or why there is none. */
function scoreWords(score) {
  if (score.state !== "scored") {
    const failed = score.state === "failed";
    return badge(failed ? "bad" : "unknown", failed ? "✗" : "?", score.state);
  }
  const signs = [];
  if (score.passed === false) signs.push(badge("bad", "✗", "missed"));
  if (score.fallback) signs.push(badge("part", "!", "flagged"));
  return element("span", { class: "value" }, decimal(score.value), ...signs.flatMap((s) => [" ", s]));
}

/** A list of names and what is said of each; those without words are left out. */
function facts(pairs) {
  const said = pairs.filter(([, words]) => words !== null && words !== undefined && words !== "");
  return element(
    "dl",
    { class: "facts" },
    ...said.map(([name, words]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, words)),
    ),
  );
}

/** A table of rows, the first cell of each its head; cells may be texts or elements. */
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
