// Read-outs on plots: move the pointer over one, or focus it and use the arrow keys. Without this every plot still shows.
"use strict";
for (const plot of document.querySelectorAll("svg[data-read]")) {
  const { left, right, low, high, texts } = JSON.parse(plot.dataset.read);
  const cursor = plot.querySelector(".cursor");
  const read = plot.parentElement.querySelector(".read");
  const rest = read.textContent;
  let at = texts.length >> 1;
  const show = (index) => {
    at = Math.max(0, Math.min(texts.length - 1, index));
    const x = left + ((right - left) * at) / (texts.length - 1);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    plot.classList.add("on");
    read.textContent = texts[at];
  };
  const hide = () => {
    plot.classList.remove("on");
    read.textContent = rest;
  };
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * plot.viewBox.baseVal.width;
    show(Math.round(((x - left) / (right - left)) * (texts.length - 1)));
  });
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("focus", () => show(at));
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    show(at + step);
  });
}
