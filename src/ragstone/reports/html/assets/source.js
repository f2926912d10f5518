"use strict";
// The source of samples: blocks in this page. It has:
//   list({text, outcome, found, state, metric, tag, value, low, high, sort, order, offset, limit})
//     -> {total, matched, rows}
//   row(place) -> everything about one sample

/** Unpack one block of this file: base64, gzip, JSON. */
async function unpack(block) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error(
      "This browser cannot unpack the samples in this file (it has no DecompressionStream). " +
        "Open the file in a browser from 2023 or later.",
    );
  }
  try {
    const packed = atob(block.textContent);
    const bytes = new Uint8Array(packed.length);
    for (let at = 0; at < packed.length; at += 1) bytes[at] = packed.charCodeAt(at);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  } catch {
    throw new Error(
      "The samples in this file are damaged or truncated. " +
        "Copy the file again, or create the report again.",
    );
  }
}

function hasState(score, state) {
  if (state === "flagged") return score.fallback === true;
  if (state === "missed") return score.passed === false;
  return !state || score.state === state;
}

function isInRange(score, low, high) {
  if (low === null && high === null) return true;
  if (score.value === null) return false;
  return (low === null || score.value >= low) && (high === null || score.value <= high);
}

/** Whether any score, or that of the metric, has the state and is in the range. */
function matchesScore(row, query) {
  const scores = query.metric ? [row.scores[query.metric]] : Object.values(row.scores);
  const wants = query.state || query.low !== null || query.high !== null;
  return (
    !wants ||
    scores.some(
      (score) => score && hasState(score, query.state) && isInRange(score, query.low, query.high),
    )
  );
}

function matches(row, query) {
  if (query.outcome && outcomeOf(row) !== query.outcome) return false;
  if (query.found && row.found !== query.found) return false;
  if (query.tag && query.value && row.tags[query.tag] !== query.value) return false;
  if (query.tag && !query.value && !(query.tag in row.tags)) return false;
  if (query.text && !row.words.includes(query.text.toLowerCase())) return false;
  return matchesScore(row, query);
}

function outcomeOf(row) {
  return row.outcome ?? "not judged";
}

/** Outcomes from the worst to the best. */
const ORDER = ["wrong", "declined", "not judged", "right"];

/** Sort rows by a metric's score or by outcome; rows without one are last in both directions. */
function sortRows(rows, query) {
  const sign = query.order === "desc" ? -1 : 1;
  if (!query.sort) return sign === 1 ? rows : [...rows].reverse();
  const byOutcome = query.sort === ":outcome";
  const value = (row) =>
    byOutcome ? ORDER.indexOf(outcomeOf(row)) : (row.scores[query.sort]?.value ?? null);
  return [...rows].sort((a, b) => {
    const [left, right] = [value(a), value(b)];
    if (left === null || right === null) return (left === null) - (right === null);
    return sign * (left - right) || a.place - b.place;
  });
}

/** The samples in this file; chunks of full samples are unpacked when needed. */
function embeddedSource(block) {
  const size = Number(block.dataset.chunk);
  let rows = null;
  const chunks = new Map();

  async function all() {
    if (rows === null) {
      const found = await unpack(block);
      block.textContent = "";
      rows = found;
    }
    return rows;
  }

  function chunk(number) {
    if (!chunks.has(number)) {
      const packed = document.querySelector(`script[data-rows="${number}"]`);
      chunks.set(number, unpack(packed ?? element("script")));
    }
    return chunks.get(number);
  }

  /** Prepare the text search; responses are in the chunks. */
  async function indexTexts(every) {
    for (let first = 0; first < every.length && !("words" in every[first]); first += size) {
      const part = await chunk(first / size);
      part.forEach((whole, at) => {
        const texts = [whole.id, whole.query, whole.response ?? ""];
        every[first + at].words = texts.join("\n").toLowerCase();
      });
    }
  }

  return {
    async list(query) {
      const every = await all();
      if (query.text) await indexTexts(every);
      const found = sortRows(every.filter((row) => matches(row, query)), query);
      const rows = found.slice(query.offset, query.offset + query.limit);
      return { total: every.length, matched: found.length, rows };
    },
    async row(place) {
      const every = await all();
      const position = every.findIndex((row) => row.place === place);
      if (position < 0) throw new Error(`This report has no sample ${place}.`);
      const whole = (await chunk(Math.floor(position / size)))[position % size];
      return { ...every[position], ...whole };
    },
  };
}
