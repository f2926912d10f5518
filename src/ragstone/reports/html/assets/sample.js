"use strict";
// The page of one sample: its response with claims, their evidence, and its scores.

/** Build a sample's page; `outcome` is the badge of its outcome, or null. */
function samplePage(row, outcome) {
  const parts = [
    element("h1", { id: "sample-title", tabindex: "-1" }, truncate(row.query, 2000)),
    element("p", { class: "muted" }, `Sample ${row.id} `, outcome),
    chips(row),
    ...gaps(row),
    historyPart(row),
    readingPart(row),
    rankingPart(row),
    scoresPart(row),
    blamePart(row),
    notesPart(row),
    transcriptPart(row),
  ];
  return parts.filter((part) => part !== null);
}

function part(title, ...children) {
  return element("section", { class: "part" }, element("h2", {}, title), ...children);
}

function chips(row) {
  const each = Object.entries(row.scores).map(([name, score]) =>
    element("li", {}, element("span", { class: "muted" }, name), " ", scoreCell(score)),
  );
  return element("ul", { class: "chips", "aria-label": "Scores" }, ...each);
}

function gaps(row) {
  return Object.entries(row.failures ?? {}).map(([name, why]) =>
    element("p", { class: "notice bad" }, `No ${name} from the target: ${why}`),
  );
}

/** The messages of the conversation before the question. */
function historyPart(row) {
  if (!row.history.length) return null;
  const said = row.history.map(({ role, content }) =>
    element("p", {}, element("span", { class: "muted" }, `${role}: `), content),
  );
  return part("Conversation before", ...said);
}

/** Texts, claims and contexts; with a choice of the metric whose claims and texts are shown. */
function readingPart(row) {
  const judged = Object.keys(row.scores).filter((name) => {
    const score = row.scores[name];
    return score.claims.length || score.detail.graded || score.reads === "ranking";
  });
  const made = element("div", { class: "reading", id: "reading" });
  const draw = (name) => made.replaceChildren(...textColumns(row, name));
  const first = judged.includes(view.sort) ? view.sort : judged[0] ?? null; // of the list
  draw(first);
  highlightOnHover(made);
  if (judged.length < 2) return made;
  const options = judged.map((name) => element("option", {}, name));
  const choice = element("select", { id: "claims-of" }, ...options);
  choice.value = first;
  choice.addEventListener("change", () => draw(choice.value));
  const label = element("label", { class: "choice" }, "Claims and texts of ", choice);
  return element("div", {}, label, made);
}

function textColumns(row, name) {
  const claims = name === null ? [] : row.scores[name].claims;
  const left = element("div", { class: "column" });
  left.append(
    part("Response", claimText(row.response, "response", claims, "no response")),
  );
  if (claims.length) left.append(claimsPart(claims));
  if (row.reference !== null || row.reference_claims?.length) left.append(referencePart(row, claims));
  const announcement = element("p", { id: "lit", class: "hidden", role: "status" });
  return [left, contextsPart(row, name === null ? null : row.scores[name]), announcement];
}

function claimText(text, of, claims, none) {
  if (text === null) return element("p", { class: "muted" }, none);
  if (text === "") return element("p", { class: "muted" }, "empty");
  const made = markText(text, [...claimRanges(claims, of), ...evidenceRanges(claims, of, 0)], claims);
  made.id = `text-${of}`;
  return made;
}

function referencePart(row, claims) {
  const listed = row.reference_claims ?? [];
  const ranges = evidenceRanges(claims, "reference", row.reference?.trim() ? 1 : 0);
  const list = element("ul", {}, ...listed.map((claim) => element("li", {}, claim)));
  const lit = new Set(ranges.map((range) => range.claim));
  if (lit.size) {
    list.setAttribute("data-evidence", [...lit].join(" "));
    list.className = "evidence-list evidence";
  }
  const others = row.accepted_answers.filter((answer) => answer !== row.reference);
  return part(
    "Reference",
    row.reference === null ? null : claimText(row.reference, "reference", claims, ""),
    listed.length ? list : null,
    others.length ? element("p", { class: "muted" }, "Other accepted answers") : null,
    others.length ? element("ul", {}, ...others.map((answer) => element("li", {}, answer))) : null,
  );
}

function claimRanges(claims, of) {
  return claims
    .map((claim, number) => ({ claim: number, span: claim.span, of: claim.of, role: "claim" }))
    .filter((range) => range.span && range.of === of)
    .map((range) => ({ ...range, start: range.span[0], end: range.span[1] }));
}

/** The quotes from text number `place` of those that claims are checked against. */
function evidenceRanges(claims, against, place) {
  return claims.flatMap((claim, number) =>
    claim.evidence
      .filter((item) => claim.against === against && item.context === place && item.start !== null)
      .map((item) => ({ claim: number, role: "evidence", start: item.start, end: item.end })),
  );
}

/** The retrieved texts that the metric read: the contexts, or the ranking. */
function contextsPart(row, score) {
  const ranked = score?.reads === "ranking";
  const title = element("h2", { id: "contexts-title" }, ranked ? "Ranking" : "Contexts");
  const texts = ranked ? row.ranking_texts : row.contexts;
  const contexts = (texts ?? []).map((each, place) => contextPart(each, place, score, row));
  if (!contexts.length) {
    const none = texts === null ? "unknown" : "none";
    contexts.push(element("p", { class: "muted" }, none));
  }
  return element(
    "section",
    { class: "column pane", id: "contexts", tabindex: "0", "aria-labelledby": "contexts-title" },
    title,
    ...contexts,
  );
}

function contextPart(context, place, score, row) {
  const known = [
    context.id === null ? null : `id ${context.id}`,
    context.score === null ? null : `score ${Number(context.score.toPrecision(4))}`,
  ].filter((words) => words !== null);
  const name = score?.reads === "ranking" ? "Rank" : "Context";
  const claims = score?.claims ?? [];
  return element(
    "article",
    { class: "context", "data-context": place },
    element(
      "h3",
      {},
      `${name} ${place + 1} `,
      element("span", { class: "name" }, `${known.join(", ")} `),
      (row.relevance?.[context.id] ?? 0) > 0 ? relevanceBadge(row.relevance, context.id, row) : null,
      score?.detail.graded ? gradeBadge(score.detail.relevant_ranks, place) : null,
    ),
    context.text
      ? markText(context.text, evidenceRanges(claims, "contexts", place), claims)
      : element("p", { class: "muted" }, "no text"),
  );
}

/** Whether the judge found the text at a place relevant; `ranks` are `1, 3`. */
function gradeBadge(ranks, place) {
  const relevant = String(ranks).split(", ").includes(String(place + 1));
  return badge(...(relevant ? ["good", "✓"] : ["unknown", "–"]), `judged ${relevant ? "" : "not "}relevant`);
}

function claimsPart(claims) {
  const items = claims.map((claim, number) => claimItem(claim, number));
  return part("Claims", element("ol", { class: "claims", id: "claims" }, ...items));
}

function claimItem(claim, number) {
  const label = LABELS[claim.label];
  const small = [
    claim.of === "reference" ? "of the reference" : null,
    claim.against === "contexts" ? null : `checked against the ${claim.against}`,
    claim.span || claim.of === "reference" ? null : "not located in the text",
    claim.confidence === null ? null : `confidence ${claim.confidence.toFixed(2)}`,
    claim.judge ? `by ${claim.judge}` : null,
  ]
    .filter((words) => words !== null)
    .join(", ");
  return element(
    "li",
    { class: `claim-item ${label.kind}`, "data-claims": number, "data-claim": number },
    badge(label.kind, label.sign, label.words),
    small ? element("span", { class: "name" }, ` ${small}`) : null,
    element("button", { type: "button", class: "plain" }, claim.text),
    claim.reason ? element("p", { class: "reason" }, claim.reason) : null,
    ...claim.evidence.map((item) => quotePart(item, claim.against)),
  );
}

/** One quote, with a button that scrolls to it if it was found. */
function quotePart(item, against) {
  const where = against === "contexts" ? `Context ${item.context + 1}` : `The ${against}`;
  const quote = element("q", {}, truncate(item.quote, 500));
  if (!item.verified) {
    return element("p", { class: "quote" }, `${where}: `, quote, " ", badge("part", "!", "quote not found"));
  }
  return element(
    "p",
    { class: "quote" },
    element("button", { type: "button", class: "link", "data-go": item.context }, where),
    ": ",
    quote,
  );
}

/** Highlight the claim under the pointer or with focus, until another one is highlighted. */
function highlightOnHover(root) {
  let lit = null;
  function show(event) {
    const node = event.target.closest?.("[data-claim]");
    if (!node || !root.contains(node) || lit === node.dataset.claim) return;
    lit = node.dataset.claim;
    const found = highlight(root, lit);
    found.slice(0, 1).forEach(scrollPaneTo);
    announce(root, Number(lit), found);
  }
  function go(event) {
    if (!event.target.closest?.("[data-go]")) return;
    show(event);
    const place = event.target.dataset.go;
    const all = [...root.querySelectorAll(".evidence.lit")];
    const there = all.find((node) => node.closest(".context")?.dataset.context === place);
    (there ?? all[0])?.scrollIntoView({ block: "center" });
  }
  root.addEventListener("pointerover", show);
  root.addEventListener("focusin", show);
  root.addEventListener("click", go);
  root.addEventListener("change", () => (lit = null));
}

function announce(root, number, found) {
  const places = found.map((node) => node.closest(".context")?.dataset.context);
  const contexts = [...new Set(places.filter((place) => place !== undefined))];
  const where = contexts.map((place) => Number(place) + 1).join(", ");
  const words = found.length
    ? `evidence highlighted${where ? ` in context ${where}` : ""}`
    : "no evidence found in the texts";
  byId("lit").textContent = `Claim ${number + 1}: ${words}`;
}

function rankingPart(row) {
  if (!row.ranking.length && !row.relevance) return null;
  const relevance = row.relevance ?? {};
  const rows = row.ranking.map((id, place) => [String(place + 1), id, relevanceBadge(relevance, id, row)]);
  const absent = Object.keys(relevance).filter((id) => relevance[id] > 0 && !row.ranking.includes(id));
  absent.forEach((id) => rows.push(["–", id, badge("bad", "✗", "relevant, not retrieved")]));
  return part("Ranking", dataTable(["Rank", "Document", "Relevance"], rows, "Ranking"));
}

function relevanceBadge(relevance, id, row) {
  if (row.relevance === null) return element("span", { class: "muted" }, "unknown");
  const grade = Object.hasOwn(relevance, id) ? relevance[id] : 0;
  if (grade <= 0) return element("span", { class: "muted" }, "– not relevant");
  return badge("good", "✓", grade === 1 ? "relevant" : `relevant, grade ${grade}`);
}

function scoresPart(row) {
  const rows = Object.entries(row.scores).map(([name, score]) => [
    name,
    scoreCell(score),
    score.threshold === null ? "" : `${score.threshold}${score.passed ? " ✓ passed" : " ✗ missed"}`,
    [score.cause, score.reason].filter(Boolean).join(": "),
    Object.entries(score.detail)
      .map(([key, value]) => `${key.replaceAll("_", " ")} ${formatFigure(value)}`)
      .join("; "),
  ]);
  const heads = ["Metric", "Score", "Threshold", "Reason", "Detail"];
  const used = heads.map((_, at) => at < 2 || rows.some((cells) => cells[at] !== ""));
  const kept = (cells) => cells.filter((_, at) => used[at]);
  return part("Scores", dataTable(kept(heads), rows.map(kept), "Scores"));
}

function formatFigure(value) {
  return typeof value === "number" ? String(Number(value.toPrecision(4))) : String(value ?? "–");
}

function blamePart(row) {
  if (!row.blame.length) return null;
  const rows = row.blame.map((each) => [each.claim, each.of, badge("bad", "✗", each.blame)]);
  return part("Claim problems", dataTable(["Claim", "From the", "Problem"], rows, "Claim problems"));
}

function notesPart(row) {
  const usage = row.usage ?? {};
  const spent = (usage.prompt_tokens ?? 0) + (usage.completion_tokens ?? 0);
  const tokens = spent ? [formatCount(spent, "token")] : [];
  const pairs = [
    ...row.notes.map((note) => ["Note", note]),
    ...Object.entries(row.tags),
    ["Target", row.latency_ms === null ? null : `${formatInteger(Math.round(row.latency_ms))} ms`],
    ["Judge", usage.calls ? [formatCount(usage.calls, "call"), ...tokens].join(", ") : null],
  ];
  return pairs.some(([, words]) => words) ? part("Notes and tags", definitionList(pairs)) : null;
}

/** The judge's questions and answers, built when opened. */
function transcriptPart(row) {
  if (!row.transcript.length) return null;
  const title = `Transcript: ${formatCount(row.transcript.length, "question")} to the judge`;
  const made = element("details", { id: "transcript" }, element("summary", {}, title));
  made.addEventListener("toggle", () => {
    if (made.open && made.children.length === 1) made.append(...row.transcript.map(exchangePart));
  });
  return made;
}

function exchangePart(exchange) {
  const { failure, usage } = exchange;
  const tokens = (usage.prompt_tokens ?? 0) + (usage.completion_tokens ?? 0);
  const answer = exchange.raw ?? JSON.stringify(exchange.value, null, 2);
  return element(
    "article",
    { class: "exchange" },
    element("h3", {}, exchange.kind.replaceAll("_", " ")),
    definitionList([
      ["Latency", `${formatInteger(Math.round(exchange.latency_ms))} ms, ${formatCount(exchange.attempts, "attempt")}`],
      ["Used by", formatCount(exchange.askers, "metric")],
      ["Tokens", tokens ? formatInteger(tokens) : null],
      ["Cached", usage.cached ? "yes" : null],
      ["Notes", exchange.notes.join("; ")],
      ["Failed", failure ? `${failure.cause}: ${failure.message}` : null],
    ]),
    failure && exchange.raw === null ? null : element("pre", { tabindex: "0", "aria-label": "Answer" }, answer),
  );
}
