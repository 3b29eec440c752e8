// The wall of twins: an encoding colours the nodes of each pair; what it tells apart springs apart,
// the others slide together. `data` is what book/_ext/twins.py writes.
(function (data) {
  "use strict";
  const place = document.getElementById("twins");
  const { encodings, pairs } = data;
  const COLORS = ["#3b82c4", "#e8792f", "#199e77", "#c2559b", "#b8962e", "#7b6fd0", "#d1495b", "#5fa8a0"];
  const colorOf = (number) => COLORS[number] ?? `hsl(${(137.5 * number) % 360} 45% 55%)`;
  const SIZE = 38;

  const graph = ({ places, edges, chosen }, which) => {
    const at = places.map((spot) => spot.map((x) => (x * SIZE).toFixed(1)));
    const apart = (i, j) => Math.hypot(at[i][0] - at[j][0], at[i][1] - at[j][1]);
    const nearest = Math.min(...at.slice(1).map((_, node) => apart(node, node + 1)));
    const radius = Math.max(1.6, Math.min(6, 26 / Math.sqrt(places.length), 0.4 * nearest));
    // On a ring of many nodes, skips of 2 and of 3 would lie on its rim: they bend inwards, the longer the further.
    const inwards = (i, j) => 1 - 0.16 * apart(i, j) / nearest;
    const bent = (i, j) => (places.length > 20 && apart(i, j) > 1.5 * nearest ?
      `Q${[0, 1].map((axis) => (inwards(i, j) * (Number(at[i][axis]) + Number(at[j][axis])) / 2).toFixed(1))} ` : "L");
    return `<g class="twin" data-which="${which}"><path class="edges" d="${edges.map(([i, j]) => `M${at[i]}${bent(i, j)}${at[j]}`).join("")}"/>
      ${at.map(([x, y], node) => `<circle class="node" cx="${x}" cy="${y}" r="${radius.toFixed(1)}"/>${chosen.includes(node) ?
        `<circle class="ring" cx="${x}" cy="${y}" r="${(radius + 3.5).toFixed(1)}"/>` : ""}`).join("")}</g>`;
  };
  place.innerHTML = `<p><b>The wall of twins.</b> Choose an encoding. Nodes with the same encoding have the same colour, in both
      drawings. Pairs that the encoding distinguishes move apart, and the others move together. Rings mark the nodes that are compared.</p>
    <div class="question"></div>
    <div class="hold"><div class="choices" role="group" aria-label="encoding">${encodings.map((name) => `<button type="button" data-encoding="${name}">${name}</button>`).join("")}</div>
    <p class="score" role="status"></p></div>
    <div class="wall">${pairs.map((pair, at) => `<div class="pair" data-pair="${at}"><svg viewBox="-52 -104 104 208" aria-hidden="true">
      ${pair.graphs.map(graph).join("")}</svg><p>${at + 1} · ${pair.name}</p><p class="told"></p></div>`).join("")}</div>`;

  const row = place.querySelector(".hold .choices");

  function show(encoding) {
    place.querySelectorAll("[data-encoding]").forEach((button) => {
      const pressed = button.dataset.encoding === encoding;
      button.setAttribute("aria-pressed", pressed);
      if (pressed) row.scrollLeft = button.offsetLeft - row.offsetLeft - (row.clientWidth - button.offsetWidth) / 2;
    });
    fade();
    let told = 0;
    let asked = 0;
    pairs.forEach((pair, at) => {
      const cell = place.querySelector(`[data-pair="${at}"]`);
      const verdict = pair.told[encoding];
      asked += verdict !== null;
      told += verdict === true;
      cell.className = `pair ${verdict === null ? "none" : verdict ? "apart" : "alike"}`;
      cell.querySelector(".told").textContent = verdict === null ? "cannot be compared" : verdict ? "told apart" : "alike";
      pair.graphs.forEach((_, which) => cell.querySelectorAll(`[data-which="${which}"] .node`).forEach((node, number) => {
        const color = pair.colors[encoding]?.[which][number];
        node.setAttribute("fill", color === undefined ? "#8a8f98" : colorOf(color));
      }));
    });
    place.querySelector(".score").innerHTML = `<b>${encoding}</b> tells ${told} of ${asked} pairs apart.`;
  }

  /** On a phone the encodings stand in one row: its edge fades while it goes on to the right. */
  function fade() {
    row.toggleAttribute("data-more", row.scrollLeft + row.clientWidth < row.scrollWidth - 8);
  }

  /** Which pair no encoding tells apart. */
  function ask() {
    const graphs = pairs.filter(({ kind }) => kind === "graphs");
    const told = (encoding) => pairs.filter((pair) => pair.told[encoding]).length;
    const most = Math.max(...encodings.map(told));
    const best = encodings.filter((encoding) => told(encoding) === most);
    gtcourse.guess(place.querySelector(".question"), {
      question: `${graphs.length} of the comparisons on this wall are between two graphs. Which two does no encoding tell apart?`,
      answers: graphs.map(({ name }) => name),
      about: "the two graphs that stay alike",
      right: graphs.findIndex((pair) => !encodings.some((encoding) => pair.told[encoding])),
      show: () => show(best[0]),
      truth: () => `Both graphs have 16 nodes, each with six neighbours, and every encoding that can compare them is the same for both. No encoding tells more than ${most} of the ${pairs.length} pairs apart.
        These reach that number: ${best.join(", ")}. Choose an encoding to see its colours.`,
    });
  }

  row.addEventListener("scroll", fade, { passive: true });
  new ResizeObserver(fade).observe(place);
  place.addEventListener("click", ({ target }) => target.dataset.encoding && show(target.dataset.encoding));
  show("degrees");
  ask();
})
