"use strict";
// A run that is going on: its figures are asked for again and again, and the page is loaded anew
// once it was summed up.

const EVERY = 2000;

function showLive(now) {
  byId("live-going").hidden = now.state !== "going";
  byId("live-stopped").hidden = now.state === "going";
  const bar = byId("live-bar");
  bar.max = Math.max(now.rows_due, now.rows, 1);
  const isMore = now.rows !== bar.value;
  bar.value = now.rows;
  if (isMore) document.dispatchEvent(new Event("ragstone-more-rows"));
  byId("live-count").textContent = `${whole(now.rows)} of ${counted(now.rows_due, "row")}`;
  for (const line of document.querySelectorAll("[data-live-metric]")) {
    const metric = now.metrics[line.dataset.liveMetric];
    for (const cell of line.querySelectorAll("[data-live-figure]")) {
      const name = cell.dataset.liveFigure;
      cell.textContent = name === "mean" ? decimal(metric.mean) : whole(metric[name]);
    }
  }
}

async function followLive(address) {
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
    showLive(now);
  } catch {
    lost.hidden = false;
  }
  setTimeout(() => followLive(address), EVERY);
}

const liveAddress = byId("live").dataset.live;
setTimeout(() => followLive(liveAddress), EVERY);
