"use strict";
// A run in progress: its figures are fetched repeatedly; the page reloads once it has a summary.

const INTERVAL_MS = 2000;

function showProgress(now) {
  byId("live-running").hidden = now.state !== "running";
  byId("live-stopped").hidden = now.state === "running";
  const bar = byId("live-bar");
  bar.max = Math.max(now.rows_due, now.rows, 1);
  const isMore = now.rows !== bar.value;
  bar.value = now.rows;
  if (isMore) document.dispatchEvent(new Event("ragstone-more-rows"));
  byId("live-count").textContent = `${formatInteger(now.rows)} of ${formatCount(now.rows_due, "row")}`;
  for (const line of document.querySelectorAll("[data-live-metric]")) {
    const metric = now.metrics[line.dataset.liveMetric];
    for (const cell of line.querySelectorAll("[data-live-figure]")) {
      const name = cell.dataset.liveFigure;
      cell.textContent = name === "mean" ? formatDecimal(metric.mean) : formatInteger(metric[name]);
    }
  }
}

async function poll(address) {
  const lost = byId("live-lost");
  try {
    const response = await fetch(address);
    if (!response.ok) throw new Error(response.statusText);
    const now = await response.json();
    if (now.summed_up) {
      window.location.reload();
      return;
    }
    lost.hidden = true;
    showProgress(now);
  } catch {
    lost.hidden = false;
  }
  setTimeout(() => poll(address), INTERVAL_MS);
}

const progressAddress = byId("live").dataset.live;
setTimeout(() => poll(progressAddress), INTERVAL_MS);
