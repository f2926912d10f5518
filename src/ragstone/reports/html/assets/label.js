"use strict";
// Labelling: shows one claim at a time, and stores each answer before it shows the next claim.

const ANSWERS = { y: "yes", n: "no", c: "unknown" };
const TOKEN = location.hash.slice(1);
let state = null;
let isBusy = false;

/** Send an action to the server, and show the state that it returns. */
async function send(action) {
  if (isBusy) return;
  isBusy = true;
  try {
    const response = await fetch("/labels.json", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Ragstone-Token": TOKEN },
      body: JSON.stringify(action),
    });
    const found = await response.json();
    if (!response.ok) throw new Error(found.error);
    byId("trouble").hidden = true;
    show(found, action.do);
  } catch (error) {
    const lost = error instanceof TypeError;
    showTrouble(
      lost
        ? "Cannot reach the server; this answer is not stored. Is `ragstone labels start` still running?"
        : error.message,
    );
  } finally {
    isBusy = false;
  }
}

function showTrouble(words) {
  byId("trouble").textContent = words;
  byId("trouble").hidden = false;
  scrollTo(0, 0);
}

function show(found, action) {
  const before = JSON.stringify(state?.current?.item);
  state = found;
  byId("who").textContent = `Run ${found.run}, labelled by ${makeVisible(found.annotator)}`;
  byId("bar").max = Math.max(found.total, 1);
  byId("bar").value = found.done;
  const skipped = found.skipped ? `, ${formatInteger(found.skipped)} skipped` : "";
  byId("progress").textContent = `${formatInteger(found.done)} of ${formatCount(found.total, "claim")}${skipped}`;
  byId("progress-line").hidden = byId("toolbar").hidden = false;
  byId("done").hidden = found.current !== null;
  byId("claim-view").hidden = byId("claim-box").hidden = found.current === null;
  for (const button of document.querySelectorAll("[data-key]")) {
    const needed = { u: found.last, v: found.last }[button.dataset.key];
    button.disabled = (needed === undefined ? found.current : needed) === null;
  }
  showVerdict(found.verdict);
  if (found.current && (JSON.stringify(found.current.item) !== before || action === "show")) {
    showClaim(found.current);
  }
}

function showClaim(claim) {
  byId("query").textContent = makeVisible(claim.query);
  byId("claim").textContent = makeVisible(claim.claim);
  const [start, end] = claim.span ?? [0, 0];
  const marked = markText(claim.response ?? "", [{ role: "evidence", claim: 0, start, end }], []);
  highlight(marked, 0);
  byId("response").replaceChildren(marked);
  byId("contexts").replaceChildren(
    ...claim.contexts.map((text, place) =>
      element("article", {}, element("h3", {}, `Context ${place + 1}`), markText(text, [], [])),
    ),
  );
  scrollTo(0, 0);
  const pane = byId("response").parentElement;
  pane.scrollTop = (marked.querySelector(".lit")?.offsetTop ?? 0) - pane.clientHeight / 2;
}

/** The judge's verdict on the last labelled claim; it is not in the page before it is asked for. */
function showVerdict(verdict) {
  byId("verdict").hidden = verdict === null;
  if (verdict === null) return;
  const { kind, sign, words } = LABELS[verdict.label];
  byId("verdict-claim").textContent = makeVisible(verdict.text);
  byId("verdict-label").replaceChildren(badge(kind, sign, words), ` ${makeVisible(verdict.reason ?? "")}`);
  byId("verdict-quotes").replaceChildren(
    ...verdict.evidence.map((each) => element("li", {}, `Context ${each.context + 1}: ${each.quote}`)),
  );
  scrollTo(0, 0);
}

function press(key) {
  const button = document.querySelector(`[data-key="${key}"]`);
  if (!state || !button || button.disabled) return;
  const item = state.current?.item;
  if (key in ANSWERS) send({ do: "answer", item, value: ANSWERS[key] });
  else if (key === "s") send({ do: "skip", item });
  else if (key === "u") send({ do: "undo" });
  else send({ do: "reveal", item: state.last });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const key = event.key.toLowerCase();
  if (/^[yncsuv]$/.test(key)) {
    event.preventDefault();
    press(key);
  }
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-key]");
  if (button) press(button.dataset.key);
});
addEventListener("hashchange", () => location.reload());
if (TOKEN) send({ do: "show" });
else showTrouble("Open the whole address that `ragstone labels start` printed.");
