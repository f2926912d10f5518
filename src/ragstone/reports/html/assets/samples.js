"use strict";
// The list of samples with filters, sorting and paging, and the open sample from the address.

const LIMIT = 50;
const PAUSE = 200;

/** The rows of the list that are shown, and their order. */
const view = { sort: "", order: "asc", offset: 0, matched: 0, total: 0, rows: [], requests: 0 };

function metricHeads() {
  return [...document.querySelectorAll("#rows-table th[data-metric]")];
}

/** Hide the columns of metrics that are not chosen, in the tables of tags and the list's head. */
function updateColumns() {
  const boxes = [...document.querySelectorAll("#columns input")];
  if (!boxes.length) return;
  const hidden = new Set(boxes.filter((box) => !box.checked).map((box) => box.value));
  for (const cell of document.querySelectorAll("th[data-metric], td[data-metric]")) {
    cell.hidden = hidden.has(cell.dataset.metric);
  }
  byId("columns-count").textContent = boxes.length - hidden.size;
}

/** The class of a score's colour, from `level-0`, the worst; null without a range. */
function levelOf(score, head) {
  if (score.value === null || head.dataset.low === "") return null;
  const [low, high] = [Number(head.dataset.low), Number(head.dataset.high)];
  const share = Math.min(Math.max((score.value - low) / (high - low), 0), 1);
  return `level-${Math.min(Math.floor(5 * (head.dataset.better === "lower" ? 1 - share : share)), 4)}`;
}

function number(text) {
  return text.trim() === "" || Number.isNaN(Number(text)) ? null : Number(text);
}

function currentQuery() {
  const fields = Object.fromEntries(new FormData(byId("filters")));
  return {
    ...fields,
    low: number(fields.low),
    high: number(fields.high),
    sort: view.sort,
    order: view.order,
    offset: view.offset,
    limit: LIMIT,
  };
}

function isFiltered() {
  return [...new FormData(byId("filters")).values()].some((value) => value !== "");
}

function showError(error) {
  byId("waiting").hidden = true;
  const trouble = byId("trouble");
  trouble.hidden = error === null;
  trouble.textContent = error === null ? "" : makeVisible(error.message);
}

/** Load and show the list for the current filters, unless a newer request was made. */
async function refresh(source) {
  view.requests += 1;
  const request = view.requests;
  try {
    const found = await source.list(currentQuery());
    if (request !== view.requests) return;
    Object.assign(view, found);
    showError(null);
    showList();
  } catch (error) {
    if (request === view.requests) showError(error);
  }
}

function showList() {
  for (const id of ["filters", "rows-region"]) byId(id).hidden = false;
  byId("rows-region").hidden = view.matched === 0;
  byId("empty").hidden = view.matched !== 0 || view.total === 0;
  byId("count").textContent =
    view.matched === view.total
      ? formatCount(view.total, "sample")
      : `${formatInteger(view.matched)} of ${formatCount(view.total, "sample")} match`;
  document.querySelector("#rows-table tbody").replaceChildren(...view.rows.map(tableRow));
  updateHeads();
  updatePager();
  addSeenTags();
}

function tableRow(row) {
  const link = element("a", { href: `#sample=${row.place}` }, truncate(row.query, 160));
  const shown = metricHeads().filter((head) => !head.hidden);
  const cells = shown.map((head) => {
    const score = row.scores[head.dataset.metric];
    const level = score ? (levelOf(score, head) ?? "") : "";
    const attributes = { class: `number ${level}`, "data-metric": head.dataset.metric };
    return element("td", attributes, score ? scoreCell(score) : "–");
  });
  const made = element(
    "tr",
    { "data-place": row.place },
    element("th", { scope: "row" }, link, element("span", { class: "name" }, truncate(row.id, 60))),
    outcomeWords() ? element("td", {}, outcomeBadge(row)) : null,
    ...cells,
  );
  made.addEventListener("click", (event) => {
    if (!event.target.closest("a") && String(window.getSelection()) === "") link.click();
  });
  return made;
}

/** The words for outcomes, by outcome; null if this run has none. */
function outcomeWords() {
  const options = byId("filters").elements.outcome?.options;
  return options ? Object.fromEntries([...options].map((each) => [each.value, each.text])) : null;
}

function outcomeBadge(row) {
  const signs = { right: ["good", "✓"], wrong: ["bad", "✗"], declined: ["part", "–"] };
  const words = [outcomeWords()[outcomeOf(row)]];
  if (row.found && row.found !== "unknown") words.push(row.found);
  return badge(...(signs[row.outcome] ?? ["unknown", "?"]), words.join(", "));
}

function updateHeads() {
  document.querySelectorAll("#rows-table thead th").forEach((head) => {
    const isSorted = head.querySelector("button").dataset.sort === view.sort;
    const words = view.order === "asc" ? "ascending" : "descending";
    if (isSorted) head.setAttribute("aria-sort", words);
    else head.removeAttribute("aria-sort");
  });
}

function updatePager() {
  byId("pager").hidden = view.matched <= LIMIT;
  const last = Math.min(view.offset + LIMIT, view.matched);
  byId("page").textContent = `${formatInteger(view.offset + 1)} to ${formatInteger(last)} of ${formatInteger(view.matched)}`;
  const [back, on] = byId("pager").querySelectorAll("button");
  back.disabled = view.offset === 0;
  on.disabled = last >= view.matched;
}

/** Add the tags of the shown rows to the choice. */
function addSeenTags() {
  const choice = byId("filters").elements.tag;
  const known = new Set([...choice.options].map((option) => option.value));
  const seen = new Set(view.rows.flatMap((row) => Object.keys(row.tags)));
  [...seen]
    .filter((tag) => !known.has(tag))
    .forEach((tag) => choice.append(element("option", { value: tag }, tag)));
}

function suggestValues() {
  const tag = byId("filters").elements.tag.value;
  const lists = [...document.querySelectorAll("datalist[data-tag]")];
  const found = lists.find((list) => list.dataset.tag === tag);
  byId("tag-values").replaceChildren(...[...(found?.children ?? [])].map((each) => each.cloneNode()));
}

function placeFromAddress() {
  const found = /^#sample=(\d+)$/.exec(window.location.hash);
  return found ? Number(found[1]) : null;
}

/** Set the filters to those in the address, as in `#outcome=wrong`; false if it has none. */
function filterByAddress() {
  const wanted = new URLSearchParams(window.location.hash.slice(1));
  const fields = [...byId("filters").elements].filter((field) => field.name);
  if (!fields.some((field) => wanted.has(field.name))) return false;
  fields.forEach((field) => (field.value = wanted.get(field.name) ?? ""));
  view.offset = 0;
  return true;
}

/** Show the sample in the address, or the list. */
async function showAddress(source) {
  const place = placeFromAddress();
  if (place === null) {
    const wasOpen = document.body.dataset.sample;
    const isFilter = filterByAddress();
    if (isFilter) await refresh(source);
    if (isFilter || ["", "#samples"].includes(window.location.hash)) closeSample();
    if (isFilter && wasOpen === undefined) byId("samples").scrollIntoView();
    return;
  }
  if (!document.body.dataset.sample) view.scrolled = window.scrollY;
  try {
    const row = await source.row(place);
    if (placeFromAddress() !== place) return;
    document.body.dataset.sample = String(place);
    byId("sample").replaceChildren(steps(source, place), ...samplePage(row, outcomeWords() && outcomeBadge(row)));
    byId("sample").hidden = false;
    window.scrollTo(0, 0);
    byId("sample-title").focus({ preventScroll: true });
    showError(null);
    await showInList(source, place);
  } catch (error) {
    closeSample();
    showError(error);
    byId("trouble").scrollIntoView({ block: "center" });
  }
}

function closeSample() {
  const was = document.body.dataset.sample;
  delete document.body.dataset.sample;
  byId("sample").hidden = true;
  byId("sample").replaceChildren();
  if (was === undefined) return;
  window.scrollTo(0, view.scrolled || byId("samples").offsetTop);
  document.querySelector(`tr[data-place="${was}"] a`)?.focus({ preventScroll: true });
}

/** Turn the list to the page of a sample, so that it has neighbours. */
async function showInList(source, place) {
  const isListed = view.rows.some((row) => row.place === place);
  if (!isListed && !isFiltered()) {
    Object.assign(view, { sort: "", order: "asc", offset: Math.floor(place / LIMIT) * LIMIT });
    await refresh(source);
  }
  updateSteps(place);
}

function updateSteps(place) {
  const at = view.rows.findIndex((row) => row.place === place);
  const rank = view.offset + at;
  const known = at >= 0;
  byId("previous").disabled = !known || rank === 0;
  byId("next").disabled = !known || rank + 1 >= view.matched;
  byId("rank").textContent = known ? `${formatInteger(rank + 1)} of ${formatInteger(view.matched)}` : "";
}

function steps(source, place) {
  const button = (id, words, keys, act) => {
    const made = element("button", { type: "button", id, "aria-keyshortcuts": keys }, words);
    made.addEventListener("click", act);
    return made;
  };
  return element(
    "nav",
    { class: "steps", "aria-label": "Samples" },
    button("close", "← All samples", "Escape", closeToList),
    element("span", { id: "rank", class: "muted" }),
    button("previous", "Previous", "k", () => step(source, place, -1)),
    button("next", "Next", "j", () => step(source, place, 1)),
  );
}

function closeToList() {
  window.location.hash = "samples";
}

/** Open the next or previous sample of the list, also across pages. */
async function step(source, place, by) {
  const at = view.rows.findIndex((row) => row.place === place);
  const rank = view.offset + at + by;
  if (at < 0 || rank < 0 || rank >= view.matched) return;
  if (!view.rows[at + by]) {
    view.offset = Math.floor(rank / LIMIT) * LIMIT;
    await refresh(source);
  }
  const next = view.rows[rank - view.offset];
  if (next) window.location.hash = `sample=${next.place}`;
}

function onKey(source, event) {
  const isTyping = event.target.closest?.("input, select, textarea");
  const place = Number(document.body.dataset.sample ?? NaN);
  if (Number.isNaN(place) || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") closeToList();
  if (event.key === "j") step(source, place, 1);
  if (event.key === "k") step(source, place, -1);
}

/** The order in which the worst samples by a metric are first. */
function worstFirst(name) {
  const head = metricHeads().find((each) => each.dataset.metric === name);
  return head?.dataset.better === "lower" ? "desc" : "asc";
}

function sortBy(source, name) {
  const isSame = view.sort === name;
  const other = view.order === "asc" ? "desc" : "asc";
  Object.assign(view, { sort: name, order: isSame ? other : worstFirst(name), offset: 0 });
  refresh(source);
}

function addListeners(source) {
  const form = byId("filters");
  let waiting = 0;
  const again = () => {
    view.offset = 0;
    refresh(source);
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(again, PAUSE);
    suggestValues();
  });
  form.addEventListener("reset", () => setTimeout(again));
  byId("clear").addEventListener("click", () => form.reset());
  byId("pager").addEventListener("click", (event) => {
    view.offset += LIMIT * Number(event.target.dataset.step ?? 0);
    refresh(source).then(() => byId("samples").scrollIntoView());
  });
  byId("columns")?.addEventListener("change", () => {
    updateColumns();
    showList();
  });
  document.querySelectorAll("button[data-sort]").forEach((button) => {
    button.addEventListener("click", () => sortBy(source, button.dataset.sort));
  });
  window.addEventListener("hashchange", () => showAddress(source));
  document.addEventListener("keydown", (event) => onKey(source, event));
}

async function start() {
  const block = byId("rows");
  if (!block) {
    showError(new Error("This file has no samples because it is truncated. Copy it again."));
    return;
  }
  const source = embeddedSource(block);
  addListeners(source);
  const sort = byId("rows-table").dataset.sort ?? "";
  Object.assign(view, { sort, order: worstFirst(sort) });
  updateColumns();
  if (!filterByAddress()) await refresh(source);
  await showAddress(source);
}

start();
