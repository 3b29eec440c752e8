// Fool a layer: two graphs whose edges the reader draws and erases, and what five layers see of them.
// `data` is what experiments/pictures.py writes; gtcourse.pictures.fool(graphs, layer) gives the
// nodes' colours and whether the two graphs have the same.
(function (data) {
  "use strict";
  const COLORS = ["#3b82c4", "#e8792f", "#199e77", "#c2559b", "#b8962e", "#7b6fd0", "#d1495b", "#5fa8a0"];
  const PRIMES = [67108859, 67108837];  // below 2²⁶, so that products are exact
  const WALKED = 8;

  // What a node starts with, which pairs it reads and how they are labelled, how often, and whether
  // the sum of what it reads, or the mean, goes on.
  const LAYERS = {
    mean: { name: "mean over neighbours", short: "mean", labels: neighbours, counts: false },
    once: { name: "sum over neighbours, 1 round", short: "sum, 1 round", labels: neighbours, counts: true, rounds: 1 },
    sum: { name: "sum over neighbours (1-WL)", short: "sum", labels: neighbours, counts: true },
    distances: { name: "all pairs, with distances", short: "distances", labels: distances, counts: true },
    walks: { name: "random walks of 8 steps", start: returns, labels: neighbours, counts: true, rounds: 0 },
  };

  const square = (n, value) => Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => value(i, j)));

  function adjacency({ n, edges }) {
    const found = square(n, () => 0);
    for (const [i, j] of edges) found[i][j] = found[j][i] = 1;
    return found;
  }

  /** null where a node reads nothing. */
  function neighbours(A) {
    return A.map((row) => row.map((edge) => (edge ? 0 : null)));
  }

  function distances(A) {
    const n = A.length;
    const D = square(n, (i, j) => (i === j ? 0 : A[i][j] ? 1 : Infinity));
    for (let k = 0; k < n; k++) {
      for (let i = 0; i < n; i++) {
        for (let j = 0; j < n; j++) D[i][j] = Math.min(D[i][j], D[i][k] + D[k][j]);
      }
    }
    return D;
  }

  function power(base, exponent, prime) {
    let result = 1n;
    for (let [square, left] = [BigInt(base), BigInt(exponent)]; left; left >>= 1n) {
      if (left & 1n) result = result * square % BigInt(prime);
      square = square * square % BigInt(prime);
    }
    return Number(result);
  }

  /** For each node its probabilities of being back after 1 to 8 steps, modulo two primes: nothing is rounded. */
  function returns(A) {
    const n = A.length;
    const found = A.map(() => []);
    for (const prime of PRIMES) {
      const inverse = A.map((row) => power(row.reduce((a, b) => a + b, 0), prime - 2, prime));
      const step = A.map((row, i) => row.map((edge) => edge * inverse[i]));
      let walk = square(n, (i, j) => Number(i === j));
      for (let k = 0; k < WALKED; k++) {
        const before = walk;
        walk = square(n, (i, j) => before[i].reduce((sum, x, m) => (sum + x * step[m][j] % prime) % prime, 0));
        walk.forEach((row, i) => found[i].push(row[i]));
      }
    }
    return found.map(String);
  }

  /** A multiset as text; without counts, only the shares of its members are kept. */
  function multiset(values, counts) {
    const sorted = [...values].sort();
    if (counts || !sorted.length) return sorted.join(";");
    const often = [...new Set(sorted)].map((value) => sorted.filter((other) => other === value).length);
    const divisor = (a, b) => (b ? divisor(b, a % b) : a);
    const factor = often.reduce(divisor);
    return sorted.filter((_, at) => at % factor === 0).join(";");
  }

  /** Texts as numbers, the same for the same text in all lists. */
  function numbered(lists) {
    const numbers = new Map();
    return lists.map((list) => list.map((text) => {
      if (!numbers.has(text)) numbers.set(text, numbers.size);
      return numbers.get(text);
    }));
  }

  /** Colour refinement of several graphs at once, until no class splits. */
  function see(graphs, layer) {
    const { labels, counts, start, rounds = Infinity } = LAYERS[layer];
    const matrices = graphs.map(adjacency);
    const read = matrices.map(labels);
    let colors = numbered(matrices.map((A) => (start ? start(A) : A.map(() => ""))));
    const size = () => new Set(colors.flat()).size;
    for (let [round, before] = [0, 0]; round < rounds && size() > before; round++) {
      before = size();
      const old = colors;
      colors = numbered(read.map((rows, g) => rows.map((row, i) => {
        const seen = row.map((label, j) => (label === null ? null : `${label}:${old[g][j]}`)).filter((each) => each !== null);
        return `${old[g][i]}|${multiset(seen, counts)}`;
      })));
    }
    const whole = colors.map((list) => multiset(list.map(String), counts));
    return { colors, whole, same: whole.every((each) => each === whole[0]) };
  }

  /** Whether two graphs are one, drawn twice: nodes are matched one after another. */
  function isomorphic(one, two) {
    const [A, B] = [one, two].map(adjacency);
    if (A.length !== B.length) return false;
    const match = (found) => found.length === A.length || B.some((_, node) => !found.includes(node) &&
      found.every((other, at) => A[found.length][at] === B[node][other]) && match([...found, node]));
    return match([]);
  }

  const REACH = 22;  // of a finger around a node: on a phone the discs are smaller

  gtcourse.pictures = { ...gtcourse.pictures, fool: see };
  const place = document.getElementById("fool");
  if (!place) return;

  let layer = "sum";
  let graphs = structuredClone(data.start);
  let picked = null;
  let isNear = false;  // the reader has begun one edge away from a pair that fools the layer
  place.innerHTML = `<p><b>Fool a layer.</b> Choose two nodes of a graph to draw the edge between them, or to erase it. The chosen layer cannot tell nodes of the same colour
      apart. If both graphs have the same colours, every such layer predicts the same for both, whatever its weights.</p>
    <p class="guess"><b>Try it.</b> Draw edges in the second graph until 1-WL cannot tell it from the ring.</p>
    <div class="choices" role="group" aria-label="layer">${Object.entries(LAYERS).map(([key, { name }]) =>
      `<button type="button" data-layer="${key}">${name} <b></b></button>`).join("")}</div>
    <div class="pair-of-graphs">${[0, 1].map((g) => `<svg viewBox="-125 -95 250 190" role="group" aria-label="graph ${g + 1}" data-graph="${g}"></svg>`).join("")}</div>
    <p class="said" role="status"></p>
    <div class="choices" role="group" aria-label="pairs"><span>Start from the smallest pair that fools</span>${Object.keys(data.pairs).map((key) =>
      `<button type="button" data-pair="${key}">${LAYERS[key].short}</button>`).join("")}</div>
    <div class="choices"><button type="button" data-near>Start one edge away from the chosen layer’s pair</button>
      <button type="button" data-empty>Empty: six nodes without edges</button></div>
    <p class="hint">For the ${LAYERS.walks.name} there is no pair to start from: no two different connected graphs of up to 8 nodes agree in the probabilities that such walks return.</p>`;
  const find = (selector) => place.querySelector(selector);

  function draw() {
    const seen = see(graphs, layer);
    const focus = document.activeElement?.dataset ?? {};
    graphs.forEach(({ places, edges, n }, g) => {
      const at = places.map(([x, y]) => [(100 * x).toFixed(1), (72 * y).toFixed(1)]);
      const first = focus.node && focus.of === String(g) ? Number(focus.node) : 0;
      find(`[data-graph="${g}"]`).innerHTML = `${edges.map(([i, j]) => `<path class="link" d="M${at[i]}L${at[j]}"/>`).join("")}${
        Array.from({ length: n }, (_, node) => `<circle class="dot" cx="${at[node][0]}" cy="${at[node][1]}" r="12" fill="${COLORS[seen.colors[g][node] % COLORS.length]}"
          data-of="${g}" data-node="${node}" role="button" tabindex="${node === first ? 0 : -1}" aria-pressed="${picked?.g === g && picked.node === node}"
          aria-label="node ${node + 1} of graph ${g + 1}, colour ${seen.colors[g][node] + 1}"/>`).join("")}${
        at.map(([x, y], node) => `<circle class="reach" cx="${x}" cy="${y}" r="${REACH}" data-of="${g}" data-node="${node}" aria-hidden="true"/>`).join("")}`;
    });
    if (focus.node) find(`.dot[data-of="${focus.of}"][data-node="${focus.node}"]`)?.focus({ preventScroll: true });
    const equal = isomorphic(...graphs);
    place.querySelectorAll("[data-layer]").forEach((button) => {
      button.setAttribute("aria-pressed", button.dataset.layer === layer);
      button.querySelector("b").textContent = see(graphs, button.dataset.layer).same ? "fooled" : "apart";
    });
    const { name } = LAYERS[layer];
    find(".said").innerHTML = equal ? "Both drawings show the same graph, so every layer should give them the same result. Change an edge of one." :
      seen.same ? `<b>Fooled.</b> The graphs differ, but “${name}” gives both the same colours.` :
        `“${name}” tells these graphs apart: their colours differ.${isNear ? " With one more edge in the second graph, it could not." : ""}`;
    find("[data-near]").disabled = !data.pairs[layer];
  }

  /** The chosen layer's pair without one edge of its second graph, which the layer then tells apart. */
  function oneEdgeAway() {
    const [first, second] = structuredClone(data.pairs[layer]);
    const without = second.edges.map((_, at) => [first, { ...second, edges: second.edges.filter((_, other) => other !== at) }]);
    return without.find((pair) => !see(pair, layer).same && !isomorphic(...pair));
  }

  function pick(g, node) {
    if (picked?.g !== g || picked.node === node) picked = picked?.g === g && picked.node === node ? null : { g, node };
    else {
      const ends = [picked.node, node].sort((one, two) => one - two);
      const { edges } = graphs[g];
      const old = edges.findIndex(([i, j]) => i === ends[0] && j === ends[1]);
      if (old < 0) edges.push(ends);
      else edges.splice(old, 1);
      [picked, isNear] = [null, false];
    }
    draw();
  }

  place.addEventListener("click", ({ target }) => {
    const { node, of } = target.dataset;
    const button = target.closest("button")?.dataset ?? {};
    if (node !== undefined) pick(Number(of), Number(node));
    else if (button.layer) {
      [layer, isNear] = [button.layer, false];
      draw();
    } else if (button.near !== undefined) {
      [graphs, picked, isNear] = [oneEdgeAway(), null, true];
      draw();
    } else if (button.empty !== undefined) {
      const [, empty] = data.start;
      [graphs, picked, isNear] = [[structuredClone(empty), structuredClone(empty)], null, false];
      draw();
    } else if (button.pair) {
      [layer, graphs, picked, isNear] = [button.pair, structuredClone(data.pairs[button.pair]), null, false];
      draw();
    }
  });
  gtcourse.arrows(place, {
    of: ({ dataset }) => [Number(dataset.node), graphs[dataset.of]?.n],
    go: (next, { dataset }) => {
      const dots = place.querySelectorAll(`.dot[data-of="${dataset.of}"]`);
      dots.forEach((dot, node) => dot.setAttribute("tabindex", node === next ? 0 : -1));
      dots[next].focus({ preventScroll: true });
    },
    press: ({ dataset }) => pick(Number(dataset.of), Number(dataset.node)),
  });
  draw();
})
