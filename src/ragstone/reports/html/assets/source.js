"use strict";
// Where samples come from: blocks in this file, or a server. Both answer the same two questions:
//   list({text, state, metric, tag, value, low, high, sort, order, offset, limit})
//     -> {total, matched, rows}
//   row(place) -> everything about one sample

/** Unpack one block of this file: base64, gzip, JSON. */
async function unpacked(block) {
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
      "The samples in this file cannot be read: a block of it is damaged or was cut short. " +
        "Copy the file again, or write the report again.",
    );
  }
}

/** Tell whether a score is in the state that was asked for. */
function inState(score, state) {
  if (state === "flagged") return score.fallback === true;
  if (state === "missed") return score.passed === false;
  return !state || score.state === state;
}

function inRange(score, low, high) {
  if (low === null && high === null) return true;
  if (score.value === null) return false;
  return (low === null || score.value >= low) && (high === null || score.value <= high);
}

/** Tell whether some score, or that of the metric, is in the state and the range. */
function matchesScore(row, query) {
  const scores = query.metric ? [row.scores[query.metric]] : Object.values(row.scores);
  const wants = query.state || query.low !== null || query.high !== null;
  return (
    !wants ||
    scores.some(
      (score) => score && inState(score, query.state) && inRange(score, query.low, query.high),
    )
  );
}

function matches(row, query) {
  if (query.tag && query.value && row.tags[query.tag] !== query.value) return false;
  if (query.tag && !query.value && !(query.tag in row.tags)) return false;
  if (query.text && !row.words.includes(query.text.toLowerCase())) return false;
  return matchesScore(row, query);
}

/** Order rows by a metric's score; rows without one come last, whatever the order. */
function ordered(rows, query) {
  const sign = query.order === "desc" ? -1 : 1;
  if (!query.sort) return sign === 1 ? rows : [...rows].reverse();
  const value = (row) => row.scores[query.sort]?.value ?? null;
  return [...rows].sort((a, b) => {
    const [left, right] = [value(a), value(b)];
    if (left === null || right === null) return (left === null) - (right === null);
    return sign * (left - right) || a.place - b.place;
  });
}

/** Put back what a chunk leaves out: claims and quotes that a text of the sample has. */
function restored(row) {
  const at = (text, start, end) => {
    const unit = unitOffsets(text);
    return text.slice(unit(start), unit(end));
  };
  for (const claim of Object.values(row.scores).flatMap((score) => score.claims)) {
    claim.text ??= at(row[claim.of], ...(claim.span ?? []));
    for (const item of claim.evidence) {
      item.quote ??= at(row.contexts[item.context].text, item.start, item.end);
    }
  }
  return row;
}

/** The samples in this file; a chunk of whole samples is unpacked when one of it is looked at. */
function embeddedSource(block) {
  const size = Number(block.dataset.chunk);
  let rows = null;
  const chunks = new Map();

  async function all() {
    if (rows === null) {
      const found = await unpacked(block);
      block.textContent = "";
      rows = found;
    }
    return rows;
  }

  function chunk(number) {
    if (!chunks.has(number)) {
      const packed = document.querySelector(`script[data-rows="${number}"]`);
      chunks.set(number, unpacked(packed ?? element("script")));
    }
    return chunks.get(number);
  }

  /** Note what a text is looked for in; the responses stand in the chunks. */
  async function noteWords(every) {
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
      if (query.text) await noteWords(every);
      const found = ordered(every.filter((row) => matches(row, query)), query);
      const rows = found.slice(query.offset, query.offset + query.limit);
      return { total: every.length, matched: found.length, rows };
    },
    async row(place) {
      const position = (await all()).findIndex((row) => row.place === place);
      if (position < 0) throw new Error(`There is no sample at place ${place} in this report.`);
      return restored((await chunk(Math.floor(position / size)))[position % size]);
    },
  };
}

/** The samples of a server's run, at `${base}.json` and `${base}/PLACE.json`. */
function remoteSource(base) {
  async function fetched(url) {
    let response;
    try {
      response = await fetch(url, { headers: { Accept: "application/json" } });
    } catch (error) {
      throw new Error(`The server cannot be reached (${error.message}). Is it still running?`);
    }
    const said = await response.json().catch(() => null);
    if (!response.ok || said === null) {
      throw new Error(said?.error ?? `The server answered ${url} with ${response.status}.`);
    }
    return said;
  }

  return {
    list(query) {
      const said = Object.entries(query).filter(([, value]) => value !== null && value !== "");
      return fetched(`${base}.json?${new URLSearchParams(said)}`);
    },
    row: (place) => fetched(`${base}/${place}.json`),
  };
}
