// Molecules as SVG: bonds, on each atom a disc with its name and, on top, a place to choose it.
// A molecule is {places [n][2] in lengths of a bond, symbols [n], edge [n²]: 1, 2, 3 for a single,
// double or triple bond, -1 for none}.
gtcourse.molecule = (function () {
  "use strict";

  const BOND = 40;
  const RADIUS = 14.5;
  const BESIDE = { 1: [0], 2: [-3, 3], 3: [-5, 0, 5] };  // the lines of a bond, by its type

  function bonds({ places, edge }) {
    const n = places.length;
    const lines = [];
    for (let i = 0; i < n; i++) {
      for (let j = i + 1; j < n; j++) {
        const type = edge[i * n + j];
        if (type < 0) continue;
        const [x, y, u, v] = [...places[i], ...places[j]].map((at) => at * BOND);
        const length = Math.hypot(u - x, v - y);
        for (const by of BESIDE[type] ?? BESIDE[1]) {
          const [dx, dy] = [by * (v - y) / length, by * (x - u) / length];
          lines.push(`M${[x + dx, y + dy].map((at) => at.toFixed(1))}L${[u + dx, v + dy].map((at) => at.toFixed(1))}`);
        }
      }
    }
    return `<path class="bonds" d="${lines.join("")}" fill="none" stroke="currentColor" stroke-width="2"/>`;
  }

  function box({ places }) {
    const [low, high] = [Math.min, Math.max].map((most) =>
      [0, 1].map((axis) => most(...places.map((place) => place[axis])) * BOND));
    return [low[0] - 20, low[1] - 20, high[0] - low[0] + 40, high[1] - low[1] + 40].map(Math.round).join(" ");
  }

  /** The bonds alone, with a dot for every atom that is not carbon: a picture to choose a molecule by. */
  function small(molecule) {
    const dots = molecule.symbols.map((symbol, at) => (symbol === "C" ? "" : `<text font-size="26"
      text-anchor="middle" dominant-baseline="central" fill="currentColor" class="small"
      x="${molecule.places[at][0] * BOND}" y="${molecule.places[at][1] * BOND}">${symbol}</text>`));
    return `<svg viewBox="${box(molecule)}" aria-hidden="true">${bonds(molecule)}${dots.join("")}</svg>`;
  }

  /** The whole drawing; names are what stands on the discs. */
  function drawing(molecule, names) {
    const circles = molecule.places.map(([x, y]) => `<circle cx="${(x * BOND).toFixed(1)}" cy="${(y * BOND).toFixed(1)}" r="${RADIUS}"`);
    return `<svg viewBox="${box(molecule)}" role="group" aria-label="the molecule">${bonds(molecule)}
      ${circles.map((circle) => `${circle} class="disc"/>`).join("")}
      ${names.map((name, at) => `<text class="name" font-size="10.5" text-anchor="middle" dominant-baseline="central"
        x="${(molecule.places[at][0] * BOND).toFixed(1)}" y="${(molecule.places[at][1] * BOND).toFixed(1)}">${name}</text>`).join("")}
      ${circles.map((circle, at) => `${circle} class="atom" data-atom="${at}" role="button" tabindex="-1"
        aria-pressed="false" aria-label="atom ${at}, ${molecule.symbols[at]}"/>`).join("")}</svg>`;
  }

  return { drawing, small };
})();
