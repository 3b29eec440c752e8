// The molecule explorer. `data` is what gtcourse.plots.explorer writes:
// key, ink, mark, stops (colours from 0 to the largest), models, and molecules, each with its name,
// atoms, drawing (SVG) and attention: for each model [layers, heads, two base64 strings].
(function (data) {
  "use strict";
  const CSS = `
    :host { display: block; color: ${data.ink}; font: inherit; margin: .5rem 0; }
    .controls, .pictures { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: start; }
    label { display: flex; flex-direction: column; font-size: .85em; min-width: 0; }
    select { font: inherit; color: inherit; background: transparent; border: 1px solid ${data.ink};
             border-radius: .3rem; padding: .2rem .4rem; max-width: 100%; }
    option { color: CanvasText; background: Canvas; }
    figure { flex: 1 1 15rem; max-width: 24rem; margin: .6rem 0 0; min-width: 0; }
    figcaption { font-size: .85em; text-align: center; margin-top: .3rem; }
    svg { display: block; width: 100%; height: auto; max-height: 22rem; margin: auto; }
    svg text { fill: ${data.ink}; }
    .ramp { display: inline-block; width: 5rem; height: .6rem; vertical-align: middle;
            background: linear-gradient(to right, ${data.stops.join(", ")}); }
    .atom { fill: transparent; cursor: pointer; stroke: none; outline: none; }
    .atom[aria-pressed="true"] { stroke: ${data.mark}; stroke-width: 3; }
    .atom:focus-visible { stroke: ${data.mark}; stroke-width: 4; stroke-dasharray: 4 2; }
    select:focus-visible { outline: 2px solid ${data.mark}; }
    .reading { min-height: 1.5em; }
    p { margin: .5rem 0 0; min-height: 3em; }`;
  const FIELDS = ["model", "molecule", "layer", "head", "atom"];

  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const two = (x) => x.toFixed(x < 0.1 ? 3 : 2);
  const channels = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));

  /** The colour of a share of the largest weight, from 0 to 1. */
  function shade(share) {
    const place = Math.min(share, 1) * (data.stops.length - 1);
    const below = Math.min(Math.floor(place), data.stops.length - 2);
    const [low, high] = [data.stops[below], data.stops[below + 1]].map(channels);
    return `rgb(${low.map((x, c) => Math.round(x + (place - below) * (high[c] - x)))})`;
  }

  /** One head's weights as rows: shares of the row's largest, 0 to 255, times that, of 65535. */
  function rowsOf([layers, heads, shares, largest], layer, head, n) {
    const [share, most] = [bytes(shares), bytes(largest)];
    const first = (layer * heads + head) * n;
    return Array.from({ length: n }, (_, i) => {
      const row = first + i;
      const scale = (most[2 * row] + 256 * most[2 * row + 1]) / 65535 / 255;
      return Array.from(share.subarray(row * n, (row + 1) * n), (x) => x * scale);
    });
  }

  function matrix(rows, chosen) {
    const n = rows.length;
    const most = Math.max(...rows.flat(), 1e-9);
    const cells = rows.map((row, i) => row.map((x, j) =>
      `<rect x="${j}" y="${i}" width="1.02" height="1.02" fill="${shade(x / most)}"/>`).join(""));
    const [step, size] = [n > 16 ? 5 : 1, n / 22];
    const ticks = rows.map((_, i) => i % step ? "" :
      `<text x="${-0.4 * size}" y="${i + 0.5}" text-anchor="end" dominant-baseline="central">${i}</text>` +
      `<text x="${i + 0.5}" y="${n + 1.1 * size}" text-anchor="middle">${i}</text>`);
    return [most, `<svg viewBox="${-2 * size} 0 ${n + 2.2 * size} ${n + 1.5 * size}"
      font-size="${size}" role="img" aria-label="attention as a table, row ${chosen} marked">
      ${cells.join("")}${ticks.join("")}<rect x="0" y="${chosen}" width="${n}" height="1"
      fill="none" stroke="${data.mark}" stroke-width="${n / 100}"/></svg>`];
  }

  function start(host) {
    const root = host.attachShadow({ mode: "open" });
    const titles = FIELDS.map((name) => `<label>${name}<select name="${name}"></select></label>`);
    root.innerHTML = `<style>${CSS}</style><div class="controls">${titles.join("")}</div>
      <div class="pictures"><figure><div class="molecule"></div>
      <figcaption><span></span></figcaption></figure><figure><div class="matrix"></div>
      <figcaption><span></span><div class="reading"></div></figcaption></figure></div>
      <p role="status"></p>`;
    const find = (selector) => root.querySelector(selector);
    const selects = FIELDS.map((name) => find(`select[name=${name}]`));
    const [ofMolecule, ofMatrix] = root.querySelectorAll("figcaption span");
    const reading = find(".reading");
    const state = { model: 0, molecule: 0, layer: 0, head: 0, atom: 0, drawn: -1, rows: [] };

    function fill(select, names, field) {
      state[field] = Math.min(state[field], names.length - 1);
      select.replaceChildren(...names.map((name, at) => new Option(name, at)));
      select.value = state[field];
    }

    function draw() {
      const molecule = data.molecules[state.molecule];
      const attention = molecule.attention[state.model];
      const numbers = (count) => Array.from({ length: count }, (_, at) => at + 1);
      [data.models, data.molecules.map((m) => m.name), numbers(attention[0]),
        numbers(attention[1]), molecule.atoms.map((name, at) => `${at} · ${name}`)]
        .forEach((names, at) => fill(selects[at], names, FIELDS[at]));
      if (state.drawn !== state.molecule) {
        find(".molecule").innerHTML = molecule.drawing;
        state.drawn = state.molecule;
      }
      state.rows = rowsOf(attention, state.layer, state.head, molecule.atoms.length);
      const row = state.rows[state.atom];
      const most = Math.max(...row, 1e-9);
      root.querySelectorAll(".disc").forEach((disc, j) => {
        disc.setAttribute("fill", shade(row[j] / most));
      });
      root.querySelectorAll(".atom").forEach((atom, j) => {
        atom.setAttribute("aria-pressed", j === state.atom);
        atom.setAttribute("tabindex", j === state.atom ? 0 : -1);
      });
      const [largest, drawing] = matrix(state.rows, state.atom);
      find(".matrix").innerHTML = drawing;
      ofMolecule.innerHTML = `0 <span class="ramp"></span> ${two(most)}`;
      ofMatrix.innerHTML = `row i, from column j: 0 <span class="ramp"></span> ${two(largest)}`;
      reading.textContent = "Point at an atom or a cell to read its number.";
      say(row, molecule.atoms);
    }

    function say(row, atoms) {
      const order = row.map((x, j) => j).sort((a, b) => row[b] - row[a]).slice(0, 3);
      const heard = order.map((j) => `atom ${j} (${atoms[j]}) ${two(row[j])}`).join(", ");
      const sum = row.reduce((a, b) => a + b, 0);
      find("p").textContent = `Atom ${state.atom} (${atoms[state.atom]}) looks most at ${heard}. ` +
        `Its weights on the atoms sum to ${two(sum)}; an even share is ${two(sum / row.length)}.`;
    }

    function choose(field, value) {
      state[field] = value;
      draw();
    }

    function place(event) {  // of the pointer in the table
      const box = event.target.closest(".matrix rect[x]");
      const [x, y] = box ? ["x", "y"].map((axis) => Number(box.getAttribute(axis))) : [-1, -1];
      return box && box.getAttribute("width") === "1.02" ? [y, x] : null;
    }

    selects.forEach((select, at) => select.addEventListener("change", () =>
      choose(FIELDS[at], Number(select.value))));
    root.addEventListener("click", (event) => {
      const atom = event.target.closest(".atom");
      const cell = place(event);
      if (atom) choose("atom", Number(atom.dataset.atom));
      else if (cell) choose("atom", cell[0]);
    });
    root.addEventListener("pointerover", (event) => {
      const cell = place(event);
      const atom = event.target.closest(".atom");
      const [i, j] = cell || (atom ? [state.atom, Number(atom.dataset.atom)] : [-1, -1]);
      if (i >= 0) reading.textContent = `Atom ${i} takes ${two(state.rows[i][j])} from atom ${j}.`;
    });
    root.addEventListener("keydown", (event) => {
      const atom = event.target.closest(".atom");
      if (!atom) return;
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key] || 0;
      const n = state.rows.length;
      if (step === 0) return;
      event.preventDefault();
      choose("atom", (state.atom + step + n) % n);
      find('.atom[tabindex="0"]').focus();
    });
    draw();
  }

  // By its key, and not by an id: the same explorer may be on a page twice.
  for (const host of document.querySelectorAll(`[data-explorer="${data.key}"]`)) {
    if (!host.shadowRoot) start(host);
  }
})
