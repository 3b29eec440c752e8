// A box of a layer's diagram that the reader points at, taps or reaches with the arrow keys shows what it
// is computed from: its own path stays, everything else fades. diagrams.py names the parts of the drawing.
(function () {
  "use strict";

  for (const place of document.querySelectorAll(".diagram")) {
    const labels = JSON.parse(place.dataset.boxes);
    const names = Object.keys(labels);
    const drawing = place.querySelector("svg");
    const arrows = [...drawing.querySelectorAll("[data-from]")].map((mark) => ({ mark, from: mark.dataset.from, to: mark.dataset.to }));
    const said = place.querySelector(".said");
    const hint = said.textContent;
    let chosen = null;
    place.tabIndex = 0;
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", "diagram: arrow keys choose a box, Escape shows all");

    /** A text, in which "W_V" has a subscript. */
    const written = (text) => text.split(/_([A-Z](?:,e)?)/).map((part, at) =>
      (at % 2 ? Object.assign(document.createElement("sub"), { textContent: part }) : part));
    const listed = (boxes) => boxes.map((name) => labels[name][0]).join(boxes.length > 2 ? "; " : " and ");

    /** The boxes from which arrows lead to this one, directly or by way of others. */
    function before(name) {
      const found = new Set([name]);
      for (const box of found) {
        for (const { from, to } of arrows) if (to === box) found.add(from);
      }
      return found;
    }

    function show(name) {
      drawing.classList.toggle("tracing", name !== null);
      const path = name === null ? new Set() : before(name);
      for (const part of drawing.querySelectorAll("[data-box]")) {
        part.classList.toggle("on", path.has(part.dataset.box));
        part.classList.toggle("chosen", part.dataset.box === name);
      }
      for (const { mark, from, to } of arrows) mark.classList.toggle("on", path.has(from) && path.has(to));
      if (name === null) {
        said.textContent = hint;
        return;
      }
      const [label, shape] = labels[name];
      const sources = arrows.filter(({ to }) => to === name).map(({ from }) => from);
      const targets = arrows.filter(({ from }) => from === name).map(({ to }) => to);
      const bold = document.createElement("b");
      bold.append(...written(label));
      said.replaceChildren(bold, ...written(`${shape && ` ${shape}`}: ${sources.length ? `computed from ${listed(sources)}` : "an input"}${
        targets.length ? `; used in ${listed(targets)}` : ""}.`));
    }

    const nameAt = (target) => target.closest("[data-box]")?.dataset.box ?? null;
    place.addEventListener("pointerover", ({ target, pointerType }) => pointerType === "mouse" && show(nameAt(target) ?? chosen));
    place.addEventListener("pointerleave", () => show(chosen));
    drawing.addEventListener("click", ({ target }) => {
      const name = nameAt(target);
      chosen = name === chosen ? null : name;
      show(chosen);
    });
    /** Where a step of an arrow key starts: beyond an end of the list if no box is chosen. */
    function placeOf(name, step) {
      if (name !== null) return names.indexOf(name);
      return step > 0 ? -1 : names.length;
    }

    place.addEventListener("keydown", (event) => {
      const step = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 }[event.key];
      if (event.key === "Escape") chosen = null;
      else if (step) chosen = names[(placeOf(chosen, step) + step + names.length) % names.length];
      else return;
      event.preventDefault();
      show(chosen);
    });
  }
})();
