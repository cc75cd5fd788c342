// Keeps a page up to date: asks for it again, and changes in it what has changed. Without this file nothing is missing
// but that: a page is whole as it comes, and links and forms do all that can be done.
//
// What a reader holds is left alone: the focus, a selection, an open <details>, what was typed or ticked. A server that
// takes long is asked less often, and nobody is asked while nobody looks.
"use strict";

(() => {
  const main = document.getElementById("main");
  const LEAST = Number(main.dataset.every || 2) * 1000;
  const MOST = 30000;
  const PATIENCE = 15000;
  const TIMES_THE_ANSWER = 10;
  const KEPT = new Set(["open", "checked", "value", "data-now"]);

  const pulse = document.getElementById("pulse");
  const word = document.getElementById("pulse-word");
  const told = document.getElementById("told");
  const pause = document.getElementById("pause");
  if (!main.querySelector("[data-live]")) return;

  let timer = 0;
  let failures = 0;
  let paused = false;
  let asking = false;

  const show = (state, text) => {
    pulse.dataset.is = state;
    word.textContent = text;
  };

  const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.id || node.dataset.key || "" : "");
  const alike = (one, other) => one.nodeType === other.nodeType && one.nodeName === other.nodeName;

  function change(old, fresh) {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data === fresh.data) return;
      old.data = fresh.data;
      flash(old.parentElement);
      return;
    }
    if (old.isEqualNode(fresh)) return;
    if (old !== document.activeElement) changeAttributes(old, fresh);
    changeChildren(old, fresh);
  }

  function changeAttributes(old, fresh) {
    for (const { name, value } of [...fresh.attributes]) {
      if (!KEPT.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    for (const { name } of [...old.attributes]) {
      if (!KEPT.has(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
    }
  }

  function changeChildren(old, fresh) {
    const known = new Map();
    for (const child of old.children) if (keyOf(child)) known.set(keyOf(child), child);
    let here = old.firstChild;
    for (const child of [...fresh.childNodes]) {
      const key = keyOf(child);
      const match = key ? known.get(key) : here && !keyOf(here) && alike(here, child) ? here : null;
      if (!match || !alike(match, child)) {
        old.insertBefore(document.importNode(child, true), here);
      } else {
        if (match === here) here = here.nextSibling;
        else old.insertBefore(match, here);
        change(match, child);
      }
    }
    while (here) {
      const next = here.nextSibling;
      here.remove();
      here = next;
    }
  }

  function flash(element) {
    const figure = element && element.closest("[data-figure]");
    if (!figure) return;
    figure.classList.remove("changed");
    requestAnimationFrame(() => figure.classList.add("changed"));
  }

  function isSelected(region) {
    const selection = document.getSelection();
    return selection && !selection.isCollapsed && selection.containsNode(region, true);
  }

  async function look() {
    const began = performance.now();
    const answer = await fetch(location.href, {
      headers: { "X-Outrider-Part": "live" },
      cache: "no-store",
      redirect: "error",
      signal: AbortSignal.timeout(PATIENCE),
    });
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const focused = document.activeElement;
    for (const region of document.querySelectorAll("[data-live]")) {
      const fresh = page.getElementById(region.id);
      if (fresh && !isSelected(region)) changeChildren(region, fresh);
    }
    // A row that was moved has lost the focus on its way.
    if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
    return performance.now() - began;
  }

  async function beat() {
    if (paused || asking || document.hidden) return;
    asking = true;
    let wait = LEAST;
    try {
      const took = await look();
      wait = Math.max(LEAST, took * TIMES_THE_ANSWER);
      if (failures) told.textContent = "The server answers again.";
      failures = 0;
      if (!paused) show("live", "live");
    } catch {
      failures += 1;
      wait = Math.min(LEAST * 2 ** (failures - 1), MOST);
      if (failures === 2) {
        told.textContent = "The server does not answer. What you see is how it was; I keep asking.";
      }
      if (failures > 1 && !paused) show("away", "server is away");
    }
    asking = false;
    later(wait);
  }

  function later(wait) {
    clearTimeout(timer);
    if (!paused && !document.hidden) timer = setTimeout(beat, wait);
  }

  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "Go on" : "Pause";
    show(paused ? "paused" : "live", paused ? "paused" : "live");
    if (paused) clearTimeout(timer);
    else beat();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) clearTimeout(timer);
    else beat();
  });
  show("live", "live");
  later(LEAST);
})();
