// Ticks all rows of a list at once. Without this file they are ticked one by one.
"use strict";

(() => {
  const all = document.getElementById("all");
  const boxes = [...document.querySelectorAll('input[type="checkbox"][name="url"]')];
  if (!all || !boxes.length) return;

  const count = document.getElementById("chosen");
  const tell = () => {
    const ticked = boxes.filter((box) => box.checked).length;
    all.checked = ticked === boxes.length;
    all.indeterminate = ticked > 0 && ticked < boxes.length;
    if (count) count.textContent = ticked ? `${ticked} chosen` : "";
  };
  all.closest("[hidden]")?.removeAttribute("hidden");
  all.hidden = false;
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
    tell();
  });
  for (const box of boxes) box.addEventListener("change", tell);
  tell();
})();
