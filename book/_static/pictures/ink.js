// Drop ink on a node: which share of each node's vector comes from it after some layers of a head that
// attends to neighbours, of one that attends to all nodes, and of both. All keys are equal, so that a
// head takes plain means. `data` is what experiments/pictures.py writes.
(function (data) {
  "use strict";
  const HEADS = { near: "head 1: neighbours", far: "head 2: all nodes", both: "both heads, averaged" };
  const SCALE = 100;
  const RADIUS = 11;
  const NAME = 58;  // half the width of a name with a share on a phone
  const EDGE = 122;  // from the middle of a drawing to its side
  const FINGER = 22;  // the radius of a place to touch
  const [LETTERS, BELOW, ABOVE] = [11, 16, 7];  // the height of a name, and from a node to its line below and above
  const ALIKE = 1.1;  // the largest share over the smallest, below which all count as nearly the same

  const neighbours = ({ places, edges }) => places.map((_, i) => places.map((_, j) =>
    i === j || edges.some(([a, b]) => (a === i && b === j) || (a === j && b === i))));

  /** The share of each node's vector that comes from the source, for each of the heads. */
  function spread(graph, source, layers) {
    const near = neighbours(graph).map((row) => {
      const size = row.filter(Boolean).length;
      return row.map((edge) => (edge ? 1 / size : 0));
    });
    const n = near.length;
    const far = near.map((row) => row.map(() => 1 / n));
    const both = near.map((row, i) => row.map((x, j) => (x + far[i][j]) / 2));
    return Object.fromEntries(Object.entries({ near, far, both }).map(([head, mean]) => {
      let share = near.map((_, node) => Number(node === source));
      for (let layer = 0; layer < layers; layer++) share = mean.map((row) => row.reduce((sum, x, j) => sum + x * share[j], 0));
      return [head, share];
    }));
  }

  /** The number of edges on the shortest path from a node to each node. */
  function hops(graph, source) {
    const A = neighbours(graph);
    const found = A.map((_, node) => (node === source ? 0 : Infinity));
    for (let step = 1; step < A.length; step++) {
      A.forEach((row, i) => row.forEach((edge, j) => {
        if (edge && found[i] === step - 1 && found[j] > step) found[j] = step;
      }));
    }
    return found;
  }

  gtcourse.pictures = { ...gtcourse.pictures, ink: spread };
  const place = document.getElementById("ink");
  if (!place) return;

  let graph = data.graphs[0];
  let source = graph.places.length - 1;
  let layers = 0;
  place.innerHTML = `<p><b>Drop ink on a node.</b> Choose the node, outlined in blue. In each layer every node takes the mean of itself and of the nodes that a head attends to, with
      equal keys and no residual connections. Colours show which share of a node’s vector comes from the inked node. The dashed node is one of those farthest from it.</p>
    <div class="question"></div><div class="work">
    <div class="choices" role="group" aria-label="graph">${data.graphs.map(({ name }, at) => `<button type="button" data-graph="${at}">${name}</button>`).join("")}</div>
    <div class="ride hold"><span class="which"></span><input type="range" min="0" max="16" aria-label="layers"></div>
    <div class="heads">${Object.entries(HEADS).map(([head, title], at) => `<figure data-head="${head}"><b>${title}</b>
      <svg role="group" aria-label="${title}"${at ? ' aria-hidden="true"' : ""}></svg><figcaption></figcaption></figure>`).join("")}</div>
    <p class="scale">share of a node’s vector <span></span></p>
    <p class="said" role="status"></p></div>`;
  const find = (selector) => place.querySelector(selector);
  const all = (selector) => [...place.querySelectorAll(selector)];
  const within = (x) => Math.max(NAME - EDGE, Math.min(EDGE - NAME, x));
  const brief = (x) => (x === 0 ? "0" : x < 0.001 ? "< 0.001" : x.toFixed(3));  // beside a node
  const share = (x) => (x === 0 ? "0" : x < 0.001 ? x.toExponential(0).replace("e-", " · 10<sup>−") + "</sup>" : x.toFixed(x < 0.01 ? 4 : 3));

  /** Where each node's name stands: below the node if its neighbours are above, else above it, and beyond the nodes on
      which it would lie. */
  function heightsOfNames(at) {
    const beside = neighbours(graph).map((row) => at.filter((_, other) => row[other]).map(([, y]) => y));
    return at.map(([x, y], node) => {
      const low = y >= beside[node].reduce((a, b) => a + b) / beside[node].length;
      const beyond = (spot) => (low ? spot + RADIUS + BELOW : spot - RADIUS - ABOVE);
      let row = beyond(y);
      const onName = ([u, v]) => Math.abs(u - within(x)) < NAME + RADIUS && v - RADIUS < row + 3 && v + RADIUS > row - LETTERS;
      for (let hit = at.find(onName); hit; hit = at.find(onName)) row = beyond(hit[1]);
      return row;
    });
  }

  /** The graphs of all heads; nodes of the first are reached by key, and the others by pointer. */
  function build() {
    const at = graph.places.map((spot) => spot.map((x) => SCALE * x));
    const reach = at.map(([x, y], node) => Math.min(FINGER, ...at.filter((_, other) => other !== node).map(([u, v]) => Math.hypot(x - u, y - v) / 2)));
    const rows = heightsOfNames(at);
    const half = Math.max(...at.map(([, y]) => Math.abs(y))) + 3 * RADIUS;
    const lines = graph.edges.map(([i, j]) => `<path class="link" d="M${at[i]}L${at[j]}"/>`).join("");
    all(".heads svg").forEach((svg, first) => {
      svg.setAttribute("viewBox", `${-EDGE} ${-half} ${2 * EDGE} ${2 * half}`);
      svg.innerHTML = `${lines}${at.map(([x, y]) => `<circle class="spot" cx="${x}" cy="${y}" r="${RADIUS}"/>`).join("")}${
        rows.map((y) => `<text class="called" y="${y}" text-anchor="middle"></text>`).join("")}${
        at.map(([x, y], node) => `<circle class="goal" cx="${x}" cy="${y}" r="${Math.max(reach[node], RADIUS).toFixed(1)}" data-node="${node}" ${
          first ? "" : `role="button" aria-label="node ${node}"`}/>`).join("")}`;
    });
    all("[data-graph]").forEach((button, at) => button.setAttribute("aria-pressed", data.graphs[at] === graph));
    draw();
  }

  function draw() {
    const found = spread(graph, source, layers);
    const away = hops(graph, source);
    const n = away.length;
    const far = away.indexOf(Math.max(...away));
    const [left, right] = [source, far].sort((a, b) => graph.places[a][0] - graph.places[b][0]);
    find("input").value = layers;
    find(".scale span").innerHTML = gtcourse.colors.ofWeights();
    find(".which").textContent = `after ${layers} layer${layers === 1 ? "" : "s"}`;
    find("input").setAttribute("aria-valuetext", find(".which").textContent);
    for (const [head, shares] of Object.entries(found)) {
      const figure = find(`[data-head=${head}]`);
      figure.querySelectorAll(".spot").forEach((spot, node) => {
        spot.setAttribute("fill", gtcourse.colors.css(gtcourse.colors.ofWeight(shares[node])));
        spot.setAttribute("class", `spot${node === source ? " source" : ""}${node === far ? " far" : ""}`);
      });
      const names = [...figure.querySelectorAll(".called")];
      const heights = [left, right].map((node) => Number(names[node].getAttribute("y")));
      const beside = Math.abs(heights[0] - heights[1]) < 20;  // else one would lie on the other
      function apart(node, x) {
        if (node === left) return Math.min(x, -NAME);
        if (node === right) return Math.max(x, NAME);
        return x;
      }
      names.forEach((name, node) => {
        const x = within(SCALE * graph.places[node][0]);
        name.setAttribute("x", beside ? apart(node, x) : x);
        name.textContent = node === source || node === far ? `node ${node}: ${brief(shares[node])}` : "";
      });
      const [least, most] = [Math.min(...shares), Math.max(...shares)];
      figure.querySelector("figcaption").innerHTML = `reaches ${shares.filter((x) => x > 0).length} of ${n} nodes<br>${
        most - least < 1e-12 ? `all nodes alike: ${share(most)}` : `shares from ${share(least)} to ${share(most)}`}`;
    }
    all('[data-head="near"] .goal').forEach((goal, node) => {
      goal.setAttribute("tabindex", node === source ? 0 : -1);
      goal.setAttribute("aria-pressed", node === source);
    });
    find(".said").innerHTML = `Node ${far} is ${away[far]} hops away. Of its vector, <b>${share(found.near[far])}</b> comes from node ${source} through neighbours,
      <b>${share(found.far[far])}</b> through all nodes, and <b>${share(found.both[far])}</b> through both. ${verdict(found, away[far])}`;
  }

  /** After how many layers ink first arrives at the node that is farthest, and what is lost on the way. */
  function ask() {
    const start = graph;
    const from = source;
    const away = Math.max(...hops(start, from));
    const far = hops(start, from).indexOf(away);
    gtcourse.guess(find(".question"), {
      question: `On this path, after how many layers does ink from node ${from} first reach node ${far}: through head 1 (neighbours), and through head 2 (all nodes)?`,
      answers: [`${away} layers and 1 layer`, `${away} layers with either`, "1 layer with either"],
      about: "the path",
      right: 0,
      show: () => {
        [graph, source, layers] = [start, from, away];
        build();
      },
      truth: () => {
        const found = spread(start, from, away);
        return `Neighbours carry ink one edge a layer. What arrives after ${away} layers is ${share(found.near[far])}, because every mean on the way dilutes it. Head 2 reaches all nodes in one
          layer, but each gets the same ${share(found.far[far])}, so the place of the ink is lost. Move the slider, and choose another graph.`;
      },
    });
  }

  function verdict({ near, both }, away) {
    if (layers === 0) return "Before the first layer the ink is where it was dropped.";
    if (layers < away) return "Head 1 has not carried the ink that far. Head 2 has, but it gives every node the same amount and so loses the graph.";
    const ratio = (shares) => Math.max(...shares) / Math.min(...shares);
    if (ratio(near) < 2) return "Even through head 1, the nodes have become nearly alike: this is over-smoothing.";
    return ratio(both) < ALIKE ? "With both heads every node now has nearly the same share: this is over-smoothing, earlier than through head 1 alone." :
      "With both heads the ink arrives at once, and the nodes near it still have more of it.";
  }

  place.addEventListener("click", (event) => {
    const target = gtcourse.nearest(event, ".goal");
    if (target.dataset.node !== undefined) source = Number(target.dataset.node);
    else if (target.dataset.graph !== undefined) {
      graph = data.graphs[target.dataset.graph];
      source = graph.places.length - 1;
      return build();
    } else return;
    draw();
  });
  place.addEventListener("input", ({ target }) => {
    layers = Number(target.value);
    draw();
  });
  gtcourse.arrows(place, {
    of: ({ dataset }) => [Number(dataset.node), graph.places.length],
    go: (next) => {
      source = next;
      draw();
      find(`[data-head="near"] [data-node="${source}"]`).focus({ preventScroll: true });
    },
  });
  gtcourse.colors.watch(draw);
  build();
  ask();
})
