// Molecules as SVG: bonds, on each atom a disc, a place to choose it and, on top, its name.
// A molecule is {places [n][2] in lengths of a bond, symbols [n], edge [n²]: 1, 2, 3 for a single,
// double or triple bond, -1 for none}.
gtcourse.molecule = (function () {
  "use strict";

  const UNIT = 40;
  const BESIDE = { 1: [0], 2: [-0.08, 0.08], 3: [-0.13, 0, 0.13] };  // the lines of a bond, by its type
  const DOTS = { N: "#3b82c4", O: "#d1495b", S: "#b8962e", F: "#199e77", Cl: "#199e77" };
  const [LONGEST, LARGEST, SMALLEST] = [84, 24, 11];  // a bond, an atom and a letter, in pixels

  function bonds({ edge }, at, bond) {
    const n = at.length;
    const drawn = [];
    for (let i = 0; i < n; i++) {
      for (let j = i + 1; j < n; j++) {
        const type = edge[i * n + j];
        if (type < 0) continue;
        const [x, y, u, v] = [...at[i], ...at[j]];
        const length = Math.hypot(u - x, v - y) || 1;
        const lines = (BESIDE[type] ?? BESIDE[1]).map((by) => {
          const [dx, dy] = [by * bond * (v - y) / length, by * bond * (x - u) / length];
          return `M${[x + dx, y + dy].map((each) => each.toFixed(1))}L${[u + dx, v + dy].map((each) => each.toFixed(1))}`;
        });
        drawn.push(`<path data-ends="${i},${j}" d="${lines.join("")}"/>`);
      }
    }
    return `<g class="bonds" fill="none" stroke="currentColor" stroke-width="2">${drawn.join("")}</g>`;
  }

  const bounds = (places) => [0, 1].map((axis) => {
    const along = places.map((place) => place[axis]);
    return [Math.min(...along), Math.max(...along)];
  });

  /** The length of a bond, in pixels, with which places fit into a box: an atom is 0.42 of it. */
  function fitting(places, width, height) {
    const [[left, right], [top, bottom]] = bounds(places);
    return Math.min(LONGEST, (width - 12) / (right - left + 0.84), (height - 12) / (bottom - top + 0.84));
  }

  /** Where atoms stand in a box, in pixels, and how large they are; atoms never touch. A long
      molecule in a narrow box stands upright. */
  function layout({ places }, width, height) {
    const upright = places.map(([x, y]) => [-y, x]);
    const turned = fitting(upright, width, height) > 1.2 * fitting(places, width, height);
    const spots = turned ? upright : places;
    const bond = fitting(spots, width, height);
    const [[left, right], [top, bottom]] = bounds(spots);
    const at = spots.map(([x, y]) => [width / 2 + (x - (left + right) / 2) * bond, height / 2 + (y - (top + bottom) / 2) * bond]);
    let closest = 1;
    at.forEach(([x, y], i) => at.slice(0, i).forEach(([u, v]) => { closest = Math.min(closest, Math.hypot(x - u, y - v) / bond); }));
    const radius = Math.min(LARGEST, Math.min(0.4, 0.45 * closest) * bond);
    return { at, bond, radius, font: Math.max(SMALLEST, Math.min(16, 0.88 * radius)) };
  }

  /** The bonds alone, with a dot for every atom that is not carbon: a picture to choose a molecule by. */
  function small(molecule) {
    const [[left, right], [top, bottom]] = bounds(molecule.places);
    const at = molecule.places.map(([x, y]) => [(x - left) * UNIT + 20, (y - top) * UNIT + 20]);
    const dots = molecule.symbols.map((symbol, i) => (symbol === "C" ? "" :
      `<circle r="12" cx="${at[i][0].toFixed(0)}" cy="${at[i][1].toFixed(0)}" fill="${DOTS[symbol] ?? "currentColor"}"/>`));
    return `<svg viewBox="0 0 ${Math.round((right - left) * UNIT) + 40} ${Math.round((bottom - top) * UNIT) + 40}" aria-hidden="true">${
      bonds(molecule, at, UNIT)}${dots.join("")}</svg>`;
  }

  /** The whole drawing, in a box of pixels; names are what stands on the discs, without their
      numbers where these do not fit. */
  function drawing(molecule, names, width = 340, height = 264) {
    const { at, bond, radius, font } = layout(molecule, width, height);
    const spots = at.map((place) => place.map((each) => each.toFixed(1)));
    const fits = (2 * radius + 2) / (0.62 * Math.max(...names.map((name) => name.length)));
    const wide = fits < SMALLEST;
    const size = wide ? font : Math.min(font, fits);
    /** A name that its disc barely holds is as wide as the disc, so that it never touches that of a neighbour. */
    const squeezed = (name) => (!wide && 0.66 * name.length * size > 2 * radius - 1 ? ` textLength="${(2 * radius - 1).toFixed(1)}" lengthAdjust="spacingAndGlyphs"` : "");
    const circles = spots.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="${radius.toFixed(1)}"`);
    return `<svg viewBox="0 0 ${width} ${height}" role="group" aria-label="the molecule">${bonds(molecule, at, bond)}
      ${circles.map((circle) => `${circle} class="disc" stroke="currentColor" stroke-opacity=".45"/>`).join("")}
      ${circles.map((circle, i) => `${circle} class="atom" data-atom="${i}" role="button" tabindex="-1"
        aria-pressed="false" aria-label="atom ${i}, ${molecule.symbols[i]}"/>`).join("")}
      ${names.map((name, i) => `<text class="name" font-size="${size.toFixed(1)}"${squeezed(name)} text-anchor="middle" dominant-baseline="central"
        x="${spots[i][0]}" y="${spots[i][1]}">${wide ? name.replace(/\d+$/, "") : name}</text>`).join("")}</svg>`;
  }

  /** Gives each atom of a drawing its colour, [r, g, b], and its name the ink that reads on it. */
  function paint(svg, colors) {
    const { css, ink } = gtcourse.colors;
    svg.querySelectorAll(".disc").forEach((disc, at) => disc.setAttribute("fill", css(colors[at])));
    svg.querySelectorAll(".name").forEach((name, at) => name.setAttribute("fill", ink(colors[at])));
  }

  /** Draws a ring, below everything else, through atoms that are given in the order of their bonds; none if there are none. */
  function outline(svg, ring) {
    svg.querySelector(".ring")?.remove();
    if (!ring.length) return;
    const discs = svg.querySelectorAll(".disc");
    const corners = ring.map((atom) => `${discs[atom].getAttribute("cx")} ${discs[atom].getAttribute("cy")}`);
    const width = 2.6 * discs[0].getAttribute("r");
    svg.querySelector(".bonds").insertAdjacentHTML("beforebegin",
      `<path class="ring" d="M${corners.join("L")}Z" fill="none" stroke="#b8962e" stroke-opacity=".45" stroke-width="${width.toFixed(1)}" stroke-linejoin="round"/>`);
  }

  /** Whether two molecules are the same but for the order of their atoms: the same types of atoms, joined by the
      same bonds. The atoms of one are matched to those of the other in order of a search along the bonds. */
  function same(one, other) {
    const n = one.x.length;
    const sorted = (values) => [...values].sort((a, b) => a - b).join();
    if (other.x.length !== n || [(each) => each.x, (each) => each.degree, (each) => each.edge].some((of) => sorted(of(one)) !== sorted(of(other)))) return false;
    const order = [0];  // each atom after the first is bonded to one before it
    for (const from of order) {
      for (let to = 0; to < n; to++) if (one.edge[from * n + to] >= 0 && !order.includes(to)) order.push(to);
    }
    const image = [];
    function extend() {
      const atom = order[image.length];
      if (image.length === n) return true;
      for (let to = 0; to < n; to++) {
        const fits = !image.includes(to) && one.x[atom] === other.x[to] && one.degree[atom] === other.degree[to] &&
          image.every((there, at) => one.edge[atom * n + order[at]] === other.edge[to * n + there]);
        if (!fits) continue;
        image.push(to);
        if (extend()) return true;
        image.pop();
      }
      return false;
    }
    return order.length === n && extend();
  }

  return { drawing, layout, outline, paint, same, small };
})();
