// A tour being decided: chapter 07's EGT on points that can be dragged. `data` is what
// experiments/tour_picture.py writes; gtcourse.pictures.tour(places, closed) is the model.
(function (data) {
  "use strict";
  const { linear, layerNorm, plus, softmax, dots, fill, gather } = gtcourse.layers;
  const NEAREST = 8;
  const w = unpack();

  function unpack() {
    const bytes = Uint8Array.from(atob(data.data), (letter) => letter.charCodeAt(0));
    const numbers = new Int16Array(bytes.buffer);
    const weights = {};
    let start = 0;
    Object.entries(data.shapes).forEach(([name, shape], at) => {
      const size = shape.reduce((a, b) => a * b, 1);
      weights[name] = { shape, data: Float64Array.from(numbers.subarray(start, start += size), (x) => x * data.scales[at]) };
    });
    return weights;
  }

  const elu = (x) => x.map((value) => (value > 0 ? value : Math.expm1(value)));
  const apart = ([x, y], [u, v]) => Math.hypot(x - u, y - v);

  /** For each city the NEAREST others, [n][8]. */
  const near = (places) => places.map((here, i) => places.map((there, j) => [apart(here, there), j])
    .filter(([, j]) => j !== i).sort((one, two) => one[0] - two[0]).slice(0, NEAREST).map(([, j]) => j));

  const map = (x, name) => linear(x, w[`${name}.weight`], w[`${name}.bias`]);
  const norm = (x, name) => layerNorm(x, w[`${name}.weight`], w[`${name}.bias`], data.eps);

  function feedForward(x, name) {
    return map(elu(map(norm(x, `${name}.0`), `${name}.1`)), `${name}.3`);
  }

  /** EGT: the attention of each layer, [n, n], and the probability that i to j is on the tour, [n, n]. */
  function run(places, closed) {
    const [T, H] = [places.length, data.heads];
    const edges = near(places);
    const isEdge = fill(1, T, (_, i, j) => (edges[i].includes(j) ? 1 : 0));
    let h = map(Float64Array.from(places.flat()), "node_input.features");
    h = h.map((value, at) => value + w["node_input.bias"].data[at % w["node_input.bias"].data.length]);
    const width = w["edge_input.structure.weight"].shape[1];
    const lengths = map(Float64Array.from(fill(1, T, (_, i, j) => apart(places[i], places[j]))), "edge_input.features");
    let e = new Float64Array(T * T * width).map((_, at) => {
      const [pair, c] = [Math.floor(at / width), at % width];
      const joined = isEdge[pair] || Math.floor(pair / T) === pair % T ? 1 : 0;
      return w["edge_input.structure.weight"].data[joined * width + c] + (isEdge[pair] ? lengths[at] : w["edge_input.no_edge"].data[c]);
    });
    const maps = [];
    for (let l = 0; l < data.layers; l++) {
      const part = (name) => `layers.${l}.${name}`;
      const [x, y] = [norm(h, part("node_norm")), norm(e, part("edge_norm"))];
      const [query, key] = ["query", "key"].map((name) => map(x, part(`attention.${name}`)));
      const [biases, openings] = ["edge_bias", "edge_gate"].map((name) => map(y, part(`attention.${name}`)));
      const clipped = dots(query, key, T, H).map((value) => Math.max(-5, Math.min(5, value)));
      const logits = plus(clipped, fill(H, T, (head, i, j) => biases[(i * T + j) * H + head]));
      const attention = softmax(logits, T).map((weight, at) => {
        const [head, pair] = [Math.floor(at / (T * T)), at % (T * T)];
        return closed.has(l) ? 0 : weight / (1 + Math.exp(-openings[pair * H + head]));
      });
      maps.push(fill(1, T, (_, i, j) => {
        let total = 0;
        for (let head = 0; head < H; head++) total += attention[(head * T + i) * T + j] / H;
        return total;
      }));
      if (w[`${part("attention.output")}.weight`]) {  // the last layer updates pairs alone
        h = plus(h, map(gather(attention, map(x, part("attention.value")), T), part("attention.output")));
        h = plus(h, feedForward(h, part("node_ffn")));
      }
      const seen = new Float64Array(T * T * H).map((_, at) => logits[at % H * T * T + Math.floor(at / H)]);
      e = plus(e, map(seen, part("edge_output")));
      e = plus(e, feedForward(e, part("edge_ffn")));
    }
    const out = map(elu(map(elu(map(norm(e, "edge_norm"), "head.0")), "head.2")), "head.4");
    const yes = isEdge.map((edge, pair) => (edge ? 1 / (1 + Math.exp(out[2 * pair] - out[2 * pair + 1])) : 0));
    return { maps, yes, edges };
  }

  /** The shortest tour, exactly: dynamic programming over sets of cities (Held and Karp). */
  function shortest(places) {
    const n = places.length - 1;  // the last city is where the tour begins
    const far = places.map((one) => places.map((two) => apart(one, two)));
    const best = new Float64Array(n << n).fill(Infinity);
    const before = new Int8Array(n << n).fill(-1);
    for (let j = 0; j < n; j++) best[(1 << j) * n + j] = far[n][j];
    for (let set = 1; set < 1 << n; set++) {
      for (let j = 0; j < n; j++) {
        const length = best[set * n + j];
        if (length === Infinity) continue;
        for (let k = 0; k < n; k++) {
          if (set & (1 << k)) continue;
          const at = (set | (1 << k)) * n + k;
          if (length + far[j][k] < best[at]) {
            best[at] = length + far[j][k];
            before[at] = j;
          }
        }
      }
    }
    let set = (1 << n) - 1;
    let city = Array.from({ length: n }, (_, j) => j).reduce((one, two) => (best[set * n + two] + far[n][two] < best[set * n + one] + far[n][one] ? two : one));
    const tour = [n];
    while (city >= 0) {
      tour.push(city);
      const last = before[set * n + city];
      set ^= 1 << city;
      city = last;
    }
    return tour.map((from, at) => [from, tour[(at + 1) % tour.length]]);
  }

  gtcourse.pictures = { ...gtcourse.pictures, tour: run, shortest };
  const place = document.getElementById("tour");
  if (!place) return;

  const SIZE = 300;
  const CITIES = 14;
  const REACH = 15;  // of a finger around a city
  const EDGE = 12;  // of the map around the cities
  let places = data.example.places;
  let optimal = null;
  let layer = 0;  // the last step of the slider, after those of the layers, is the answer
  const closed = new Set();
  place.innerHTML = `<p><b>EGT chooses a tour.</b> Drag the points, or move the chosen one with the arrow keys. EGT decides which edges belong to the shortest tour.</p>
    <div class="question"></div><div class="work">
    <div class="two"><svg viewBox="${-EDGE} ${-EDGE} ${SIZE + 2 * EDGE} ${SIZE + 2 * EDGE}" role="group" aria-label="points"></svg><div>
      <ul class="lines"><li><i class="edge"></i><span class="of-edge"></span></li><li><i class="best-tour"></i><span>the shortest tour, computed exactly</span></li>
      <li><i class="rule"></i><span>each point’s two nearest neighbours</span></li></ul>
      <label class="ride">show <input type="range" min="1" max="${data.layers + 1}" value="1"><output></output></label><p class="which"></p>
      <div class="choices" role="group" aria-label="gates"><span>Close gates of layer</span>${Array.from({ length: data.layers }, (_, l) =>
        `<button type="button" data-gate="${l}" aria-label="close the gates of layer ${l + 1}" aria-pressed="false">${l + 1}</button>`).join("")}</div>
      <p class="said" role="status"></p><div class="choices"><button type="button" data-new>Other points</button><button type="button" data-reset>Start again</button></div></div></div></div>`;
  const find = (selector) => place.querySelector(selector);
  const svg = find("svg");

  const f1 = (chosen, wanted) => {
    const key = ([i, j]) => Math.min(i, j) * places.length + Math.max(i, j);
    const set = new Set(wanted.map(key));
    const mine = new Set(chosen.map(key));
    const hits = [...mine].filter((each) => set.has(each)).length;
    return 2 * hits / (mine.size + set.size);
  };

  /** How many edges of the tour are among the chosen ones, and how many others. */
  function score(chosen) {
    const keys = (pairs) => new Set(pairs.map(([i, j]) => Math.min(i, j) * places.length + Math.max(i, j)));
    const [mine, wanted] = [keys(chosen), keys(optimal)];
    const found = [...mine].filter((key) => wanted.has(key)).length;
    return `${found} of ${wanted.size} tour edges, and ${mine.size - found} wrong ${mine.size - found === 1 ? "one" : "ones"} (F1 ${f1(chosen, optimal).toFixed(2)})`;
  }

  /** F1 of the model's answer for the example's cities, with the gates of some layers closed. */
  function f1Without(closed) {
    const cities = data.example.places;
    const { yes } = run(cities, new Set(closed));
    return f1(answered(yes, cities.length), data.example.tour);
  }

  /** The edges that the model chooses: both of its directions have a mean of more than a half. */
  function answered(yes, T) {
    const edges = [];
    for (let i = 0; i < T; i++) {
      for (let j = i + 1; j < T; j++) {
        if (yes[i * T + j] + yes[j * T + i] > 1) edges.push([i, j]);
      }
    }
    return edges;
  }

  /** Which layer costs nothing when its gates are closed, and what the others cost. */
  function ask() {
    const whole = f1Without([]);
    const without = Array.from({ length: data.layers }, (_, l) => f1Without([l]));
    const free = without.indexOf(Math.max(...without));
    const dearest = without.indexOf(Math.min(...without));
    gtcourse.guess(find(".question"), {
      question: "Suppose that we close the gates of one layer, so that no attention passes there. For these points, with which layer does EGT lose nothing?",
      answers: without.map((_, l) => `layer ${l + 1}`),
      right: free,
      about: "the gates",
      show: () => {
        startAgain();
        closed.add(free);
        layer = data.layers;
        press();
        draw();
      },
      truth: () => `F1 is ${whole.toFixed(2)} with all layers, and ${without.map((value, l) => `${value.toFixed(2)} without layer ${l + 1}`).join(", ")}. The messages of the last layer reach only
        the points’ vectors, and the answer is read from the pairs. Layer ${dearest + 1} costs most. Are other tours like this one?`,
    });
  }

  const press = () => place.querySelectorAll("[data-gate]").forEach((button) => button.setAttribute("aria-pressed", closed.has(Number(button.dataset.gate))));

  function startAgain() {
    [places, optimal, layer] = [data.example.places, null, 0];
    closed.clear();
    press();
  }

  function draw() {
    const T = places.length;
    const { maps, yes, edges } = run(places, closed);
    optimal ??= shortest(places);
    const at = (city) => places[city].map((x) => (x * SIZE).toFixed(1));
    const both = (values, i, j) => (values[i * T + j] + values[j * T + i]) / 2;
    const pairs = [];
    for (let i = 0; i < T; i++) {
      for (let j = i + 1; j < T; j++) pairs.push([i, j]);
    }
    const rule = edges.flatMap((list, i) => list.slice(0, 2).map((j) => [i, j]));
    const chosen = answered(yes, T);
    const final = layer === data.layers;
    const strength = ([i, j]) => (final ? both(yes, i, j) : Math.min(1, both(maps[layer], i, j) * T / 4));
    const line = (name, [i, j], more = "") => `<path class="${name}" d="M${at(i)}L${at(j)}" ${more}/>`;
    const cities = places.map((_, city) => {
      const [x, y] = at(city);
      return `<circle class="city" cx="${x}" cy="${y}" r="6" data-city="${city}" role="button" tabindex="${city ? -1 : 0}" aria-label="point ${city + 1}"/>`;
    });
    const reaches = places.map((_, city) => {
      const [x, y] = at(city);
      return `<circle class="reach" cx="${x}" cy="${y}" r="${REACH}" data-city="${city}" aria-hidden="true"/>`;
    });
    const focused = document.activeElement?.dataset?.city;
    svg.innerHTML = `<rect class="map-edge" x="${1 - EDGE}" y="${1 - EDGE}" width="${SIZE + 2 * EDGE - 2}" height="${SIZE + 2 * EDGE - 2}" rx="6"/>${optimal.map((edge) => line("best-tour", edge)).join("")}${rule.map((edge) => line("rule", edge)).join("")}
      ${pairs.filter((pair) => strength(pair) > 0.05).map((pair) => line("edge", pair, `stroke-width="${(5 * strength(pair)).toFixed(1)}" opacity="${(0.25 + 0.75 * strength(pair)).toFixed(2)}"`)).join("")}
      ${cities.join("")}${reaches.join("")}`;
    if (focused !== undefined) svg.querySelector(`.city[data-city="${focused}"]`)?.focus({ preventScroll: true });
    find("input").value = layer + 1;
    find("output").textContent = final ? "answer" : `layer ${layer + 1}`;
    find("input").setAttribute("aria-valuetext", find("output").textContent);
    find(".of-edge").textContent = final ? "EGT’s edges, wider where it is more certain" : `attention of layer ${layer + 1}, wider where it is larger`;
    find(".which").textContent = final ? `after layer ${data.layers}: EGT’s answer` : "The attention is the mean over heads after the gate. Move the slider on to see the answer.";
    find(".said").innerHTML = `<b>EGT</b> finds <b>${score(chosen)}</b>. Two nearest neighbours find ${score(rule)}.
      ${closed.has(data.layers - 1) ? "The messages of the last layer reach only the points’ vectors, and the answer is read from the pairs, so closing its gates costs nothing." :
        `F1 is 1 if all edges agree; on the 100 test tours of this run, EGT’s mean is ${data.f1.toFixed(2)}.`}`;
  }

  function move(city, to) {
    places = places.map((here, each) => (each === city ? to.map((x) => Math.max(0, Math.min(1, x))) : here));
    optimal = null;
    draw();
  }

  /** Where a pointer is on the map, as a place. */
  function spotOf(event) {
    const box = svg.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top].map((x) => (x / box.width * (SIZE + 2 * EDGE) - EDGE) / SIZE);
  }

  gtcourse.drag.holds(svg, "[data-city]");
  svg.addEventListener("pointerdown", (event) => {
    if (event.target.dataset.city === undefined) return;
    const away = places.map((place) => apart(place, spotOf(event)));
    const city = away.indexOf(Math.min(...away));  // the reaches overlap, and the topmost may be another city's
    svg.querySelector(`.city[data-city="${city}"]`).focus({ preventScroll: true });
    gtcourse.drag(event, (now) => move(city, spotOf(now)));
  });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: [0.03, 0], ArrowLeft: [-0.03, 0], ArrowDown: [0, 0.03], ArrowUp: [0, -0.03] }[event.key];
    const { city } = event.target.dataset;
    if (city === undefined) return;
    if (step) {
      event.preventDefault();
      move(Number(city), places[city].map((x, axis) => x + step[axis]));
    } else if (event.key === "Enter" || event.key === " ") {  // on to the next city
      event.preventDefault();
      svg.querySelector(`.city[data-city="${(Number(city) + 1) % places.length}"]`).focus({ preventScroll: true });
    }
  });
  place.addEventListener("click", ({ target }) => {
    if (target.dataset.gate) {
      const gate = Number(target.dataset.gate);
      if (!closed.delete(gate)) closed.add(gate);
      layer = data.layers;  // what the gates are for
      press();
    } else if (target.matches("[data-reset]")) startAgain();
    else if (target.matches("[data-new]")) {
      places = Array.from({ length: CITIES }, () => [Math.random(), Math.random()]);
      optimal = null;
    } else return;
    draw();
  });
  find("input").addEventListener("input", ({ target }) => {
    layer = Number(target.value) - 1;
    draw();
  });
  draw();
  ask();
})
