// Graphormer, EGT, GRPE and CSA on one molecule, as gtcourse/models computes them.
//
// Shapes: n atoms, T tokens (n, or n + 1 with [VNode] first), H heads, d width, K = d / H, C weights
// of a pair (H, or d in CSA). Arrays are flat: h is [T, d], a map of weights [C, T, T].
//
// run(model, molecule, changes) returns {prediction, first, layers, parts}: `first` is the token of
// atom 0, and `parts` is what each atom adds to the prediction where the read-out is a sum (CSA).
// Each layer has {terms, logits, attention, gates, query, key, value, extra, z, before, steps, after}:
// `terms` is a list of [name, map]; query, key and value [T, d] are the tokens' own; extra(c, i, j), if
// any, joins a value; z [T, d] is each token's weighted sum; before and after [T, d] are the tokens as
// the layer meets and leaves them, and `steps` {output, joined, network}, each [T, d], lie between: the
// output projection of z, the tokens after the first residual (and, in CSA, its norm), and what the
// feed-forward network adds to that.
// `changes` is what a reader has changed:
//   removed: Set of atoms; shift: {distance: number} added to Graphormer's bias; closed: Set of
//   "layer,head" whose EGT gate is shut; flips: Set of EGT's singular pairs; off: Set of GRPE's
//   terms, and "ring" if CSA is not to read which atoms share a ring; perHead: true for one logit per head
//   in CSA; cut: Set of "kind,layer,channel,i,j", weights
//   of the model of this kind that are set to 0 after the softmax, the others staying as they are.
gtcourse.models = (function () {
  "use strict";

  const { linear, plus, relu, layerNorm, dots, fill, softmax, gather, row, stack } = gtcourse.layers;

  const elu = (x) => x.map((value) => (value > 0 ? value : Math.expm1(value)));
  const gelu = (x) => x.map((value) => 0.5 * value * (1 + erf(value / Math.SQRT2)));
  const sigmoid = (value) => 1 / (1 + Math.exp(-value));

  /** Abramowitz and Stegun, 7.1.26: wrong by less than 2e-7. */
  function erf(x) {
    const t = 1 / (1 + 0.3275911 * Math.abs(x));
    const series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 +
      t * (-1.453152027 + t * 1.061405429))));
    return Math.sign(x) * (1 - series * Math.exp(-x * x));
  }

  /** Batch normalization with the running statistics. */
  function batchNorm(x, w, name) {
    const [weight, bias, mean, variance] =
      ["weight", "bias", "running_mean", "running_var"].map((part) => w[`${name}.${part}`].data);
    const d = weight.length;
    return x.map((value, at) => {
      const c = at % d;
      return (value - mean[c]) / Math.sqrt(variance[c] + 1e-5) * weight[c] + bias[c];
    });
  }

  /** Numbers cut off at a bound, which the model has or not: EGT's of the dot products, CSA's of the logits. */
  const bounded = (map, clip) => (clip ? map.map((value) => Math.max(-clip, Math.min(clip, value))) : map);

  function sum(...maps) {
    const total = maps[0].slice();
    for (let at = 0; at < total.length; at++) {
      let x = 0;
      for (const map of maps) x += map[at];
      total[at] = x;
    }
    return total;
  }

  /** Which tokens are removed, [T]. */
  function removedTokens(changes, T, first) {
    return Array.from({ length: T }, (_, token) => changes.removed.has(token - first));
  }

  /** Weights without those that are cut: a message is missing, and no other weight makes up for it. */
  function withoutCut(attention, changes, kind, layer, T) {
    for (const cut of changes.cut) {
      const [of, ...place] = cut.split(",");
      const [at, channel, i, j] = place.map(Number);
      if (of === kind && at === layer) attention[(channel * T + i) * T + j] = 0;
    }
    return attention;
  }

  function preNorm(h, w, name, attend, second) {
    const norm = (x, part) => layerNorm(x, w[`${name}.${part}.weight`], w[`${name}.${part}.bias`], 1e-5);
    const before = h;
    const found = attend(norm(h, "attention_norm"));
    const sent = output(found.z, w, `${name}.attention`);
    h = plus(h, sent);
    const inner = linear(norm(h, "feed_forward_norm"), w[`${name}.feed_forward.0.weight`],
      w[`${name}.feed_forward.0.bias`]);
    const net = `${name}.feed_forward.${second}`;
    const network = linear(gelu(inner), w[`${net}.weight`], w[`${net}.bias`]);
    return { ...found, before, steps: { output: sent, joined: h, network }, after: plus(h, network) };
  }

  function projections(x, w, name) {
    return ["query", "key", "value"].map((part) =>
      linear(x, w[`${name}.${part}.weight`], w[`${name}.${part}.bias`]));
  }

  const output = (z, w, name) => linear(z, w[`${name}.output.weight`], w[`${name}.output.bias`]);

  /** Graphormer: Eqs. 5 to 9. Tokens are [VNode] and the atoms. */
  function graphormer(model, molecule, changes) {
    const w = model.weights;
    const [n, H] = [molecule.x.length, model.heads];
    const T = n + 1;
    const removed = removedTokens(changes, T, 1);
    const centrality = (part) => w[`node_encodings.0.${part}.weight`];
    const degree = (i) => Math.min(molecule.degree[i], centrality("incoming").shape[0] - 1);
    let h = stack([w.virtual_node.data, ...molecule.x.map((x, i) => sum(row(w["embedding.weight"], x),
      row(centrality("incoming"), degree(i)), row(centrality("outgoing"), degree(i))))]);
    const scalars = w["bias.encodings.0.scalars.weight"];
    const pair = (i, j) => (i - 1) * n + j - 1;
    const spatial = fill(H, T, (head, i, j) => {
      if (!i || !j) return w["bias.virtual"].data[head];
      const distance = molecule.distance[pair(i, j)];
      const bias = row(scalars, Math.min(distance + 1, scalars.shape[0] - 1))[head];
      return bias + (changes.shift[distance] || 0);
    });
    const positions = w["bias.encodings.1.positions"]; // [positions, H, H]
    const types = w["bias.encodings.1.edges.weight"];
    const E = types.shape[0];
    const products = fill(positions.shape[0], E, (place, type, head) => {
      let total = 0;
      row(types, type).forEach((x, k) => { total += x * positions.data[(place * H + k) * H + head]; });
      return total;
    }, H); // [positions, E, H]
    const paths = molecule.paths.split(".");
    const edges = fill(H, T, (head, i, j) => {
      const path = i && j ? paths[pair(i, j)] : "";
      let total = 0;
      for (let place = 0; place < path.length; place++) total += products[(place * E + Number(path[place])) * H + head];
      return path.length ? total / path.length : 0;
    });
    const layers = [];
    for (let l = 0; l < model.layers; l++) {
      const layer = preNorm(h, w, `layers.${l}`, (x) => {
        const [query, key, value] = projections(x, w, `layers.${l}.attention`);
        const dot = dots(query, key, T, H);
        const logits = sum(dot, spatial, edges);
        const attention = withoutCut(softmax(logits, T, removed), changes, "graphormer", l, T);
        const terms = [["dot", dot], ["b", spatial], ["c", edges]];
        return { terms, logits, attention, query, key, value, z: gather(attention, value, T) };
      }, 2);
      layers.push(layer);
      h = layer.after;
    }
    h = layerNorm(h, w["norm.weight"], w["norm.bias"], 1e-5);
    const d = h.length / T;
    return { prediction: linear(h.subarray(0, d), w["head.weight"], w["head.bias"])[0], first: 1, layers };
  }

  /** GRPE: Eqs. 6 to 9. Tokens are [VNode] and the atoms. */
  function grpe(model, molecule, changes) {
    const w = model.weights;
    const [n, H] = [molecule.x.length, model.heads];
    const T = n + 1;
    const removed = removedTokens(changes, T, 1);
    let h = stack([w.virtual_node.data, ...molecule.x.map((x) => row(w["embedding.weight"], x))]);
    const E = w["tables.key.edges.weight"].shape[0] - 3;
    const L = w["tables.key.distances.weight"].shape[0] - 4;
    const far = E + L; // the relations: itself, edges, distances 2 to L, far, unreachable, [VNode]
    const relation = new Int32Array(T * T).map((_, at) => {
      const [i, j] = [Math.floor(at / T), at % T];
      if (i === j) return 0;
      if (!i || !j) return far + 2;
      const pair = (i - 1) * n + j - 1;
      if (molecule.edge[pair] >= 0) return 1 + molecule.edge[pair];
      return molecule.distance[pair] < 0 ? far + 1 : Math.min(molecule.distance[pair] + E - 1, far);
    });
    const vectors = (name) => {
      const distances = w[`tables.${name}.distances.weight`];
      const edges = w[`tables.${name}.edges.weight`];
      const pairs = [[0, E + 1]];
      for (let type = 0; type < E; type++) pairs.push([1, type]);
      for (let distance = 2; distance <= L + 2; distance++) pairs.push([distance, E]);
      pairs.push([L + 3, E + 2]);
      return stack(pairs.map(([distance, edge]) => sum(row(distances, distance), row(edges, edge))));
    };
    const tables = { query: vectors("query"), key: vectors("key"), value: vectors("value") };
    const R = far + 3;
    const layers = [];
    for (let l = 0; l < model.layers; l++) {
      const layer = preNorm(h, w, `layers.${l}`, (x) => {
        const [query, key, value] = projections(x, w, `layers.${l}.attention`);
        const d = x.length / T;
        const K = d / H;
        const product = (name, a, at, table, r, head) => {
          if (changes.off.has(name)) return 0;
          let total = 0;
          for (let k = head * K; k < (head + 1) * K; k++) total += a[at * d + k] * table[r * d + k];
          return total / Math.sqrt(K);
        };
        const dot = dots(query, key, T, H);
        const ofQuery = fill(H, T, (head, i, j) =>
          product("query", query, i, tables.key, relation[i * T + j], head));
        const ofKey = fill(H, T, (head, i, j) =>
          product("key", key, j, tables.query, relation[i * T + j], head));
        const logits = sum(dot, ofQuery, ofKey);
        const attention = withoutCut(softmax(logits, T, removed), changes, "grpe", l, T);
        const extra = changes.off.has("value") ? null :
          (c, i, j) => tables.value[relation[i * T + j] * d + c];
        const terms = [["dot", dot], ["query", ofQuery], ["key", ofKey]];
        return { terms, logits, attention, query, key, value, extra, z: gather(attention, value, T, extra) };
      }, 3);
      layers.push(layer);
      h = layer.after;
    }
    h = layerNorm(h, w["norm.weight"], w["norm.bias"], 1e-5);
    const d = h.length / T;
    return { prediction: linear(h.subarray(0, d), w["head.weight"], w["head.bias"])[0], first: 1, layers };
  }

  function readOut(h, w, activation) {
    const layer = (x, at) => linear(x, w[`head.${at}.weight`], w[`head.${at}.bias`]);
    return layer(activation(layer(activation(layer(h, 0)), 2)), 4);
  }

  /** EGT: Eqs. 4 to 7. Tokens are the atoms; each pair has a vector of its own. */
  function egt(model, molecule, changes) {
    const w = model.weights;
    const [T, H] = [molecule.x.length, model.heads];
    const removed = removedTokens(changes, T, 0);
    const rank = molecule.svd.length / T / 2;
    const svd = Float64Array.from(molecule.svd, (value, at) =>
      (changes.flips.has(at % rank) ? -value : value));
    let h = stack(molecule.x.map((x) => sum(row(w["node_input.features.weight"], x),
      w["node_input.bias"].data)));
    h = plus(h, linear(svd, w["node_encodings.0.projection.weight"], w["node_encodings.0.projection.bias"]));
    let e = stack(molecule.edge.map((type, pair) => {
      const joined = type >= 0 || Math.floor(pair / T) === pair % T;
      return sum(row(w["edge_input.structure.weight"], joined ? 1 : 0),
        type >= 0 ? row(w["edge_input.features.weight"], type) : w["edge_input.no_edge"].data);
    }));
    const network = (x, name) => {
      const y = layerNorm(x, w[`${name}.0.weight`], w[`${name}.0.bias`], model.eps);
      const inner = elu(linear(y, w[`${name}.1.weight`], w[`${name}.1.bias`]));
      return linear(inner, w[`${name}.3.weight`], w[`${name}.3.bias`]);
    };
    const layers = [];
    for (let l = 0; l < model.layers; l++) {
      const part = (name) => w[`layers.${l}.${name}`];
      const x = layerNorm(h, part("node_norm.weight"), part("node_norm.bias"), model.eps);
      const y = layerNorm(e, part("edge_norm.weight"), part("edge_norm.bias"), model.eps);
      const [query, key, value] = projections(x, w, `layers.${l}.attention`);
      const [biases, openings] = ["edge_bias", "edge_gate"].map((map) =>
        linear(y, part(`attention.${map}.weight`), part(`attention.${map}.bias`)));
      const dot = bounded(dots(query, key, T, H), model.clip);
      const bias = fill(H, T, (head, i, j) => biases[(i * T + j) * H + head]);
      const gates = fill(H, T, (head, i, j) => (changes.closed.has(`${l},${head}`) ? 0 :
        sigmoid(openings[(i * T + j) * H + head])));
      const logits = sum(dot, bias);
      const open = softmax(logits, T, removed).map((weight, at) => weight * gates[at]);
      const attention = withoutCut(open, changes, "egt", l, T);
      const before = h;
      const z = gather(attention, value, T);
      const sent = output(z, w, `layers.${l}.attention`);
      const joined = plus(h, sent);
      const added = network(joined, `layers.${l}.node_ffn`);
      h = plus(joined, added);
      const terms = [["dot", dot], ["E", bias]];
      const steps = { output: sent, joined, network: added };
      layers.push({ terms, logits, attention, gates, query, key, value, z, before, steps, after: h });
      if (part("edge_output.weight")) { // the last layer has none: no head reads the pairs
        const seen = new Float64Array(T * T * H).map((_, at) => logits[at % H * T * T + Math.floor(at / H)]);
        e = plus(e, linear(seen, part("edge_output.weight"), part("edge_output.bias")));
        e = plus(e, network(e, `layers.${l}.edge_ffn`));
      }
    }
    h = layerNorm(h, w["node_norm.weight"], w["node_norm.bias"], model.eps);
    const d = h.length / T;
    const left = removed.filter((gone) => !gone).length;
    const mean = new Float64Array(d).map((_, c) => {
      let total = 0;
      for (let i = 0; i < T; i++) if (!removed[i]) total += h[i * d + c];
      return total / Math.max(left, 1);
    });
    return { prediction: readOut(mean, w, elu)[0], first: 0, layers };
  }

  /** The probabilities of 1 to p steps from i to j, [T, T, p] (CSA, Eq. 12). */
  function randomWalks(molecule, steps) {
    const n = molecule.x.length;
    const walk = fill(1, n, (_, i, j) => (molecule.edge[i * n + j] >= 0 ? 1 / molecule.degree[i] : 0));
    const all = new Float64Array(n * n * steps);
    let power = walk;
    for (let step = 0; step < steps; step++) {
      power.forEach((value, pair) => { all[pair * steps + step] = value; });
      const last = power;
      power = fill(1, n, (_, i, j) => {
        let total = 0;
        for (let k = 0; k < n; k++) total += last[i * n + k] * walk[k * n + j];
        return total;
      });
    }
    return all;
  }

  /** Some columns of a matrix [out, width]. */
  function columns({ shape: [out, width], data }, from, to) {
    return { shape: [out, to - from], data: data.filter((_, at) => at % width >= from && at % width < to) };
  }

  /** A map [C, T, T] with the mean over the K channels of a head in place of each. */
  function meanOfHeads(map, K, T) {
    return fill(map.length / (T * T), T, (c, i, j) => {
      const first = Math.floor(c / K) * K;
      let total = 0;
      for (let k = first; k < first + K; k++) total += map[(k * T + i) * T + j];
      return total / K;
    });
  }

  /** What CSA's layers are given: the atoms' h [T, d] and, of each pair, its values and the terms of E. */
  function inputsOfCsa(model, molecule, off, perHead) {
    const w = model.weights;
    const [T, H] = [molecule.x.length, model.heads];
    const steps = w["node_encoding.walks.projection.weight"].shape[1];
    const walks = randomWalks(molecule, steps);
    const back = stack(molecule.x.map((_, i) => walks.subarray((i * T + i) * steps, (i * T + i + 1) * steps)));
    const position = linear(batchNorm(back, w, "node_encoding.walks.norm"),
      w["node_encoding.walks.projection.weight"], w["node_encoding.walks.projection.bias"]);
    const wide = position.length / T;
    const h = stack(molecule.x.map((x, i) => [...row(w["node_encoding.features.weight"], x),
      ...position.subarray(i * wide, (i + 1) * wide)]));
    const bonds = w["edge_encoding.bonds.edges.weight"];
    const rings = w["edge_encoding.bonds.no_edge.weight"].shape[0] > 1;
    const types = bonds.shape[0] / (rings ? 2 : 1);
    const relative = linear(walks, w["edge_encoding.relative.projection.weight"],
      w["edge_encoding.relative.projection.bias"]);
    const half = relative.length / (T * T);
    const reads = rings && !off;
    const bondOf = (type, pair, ring) => {
      if (type >= 0) return row(bonds, type + types * ring);
      return Math.floor(pair / T) === pair % T ? row(w["edge_encoding.bonds.itself.weight"], 0) :
        row(w["edge_encoding.bonds.no_edge.weight"], ring);
    };
    const withoutRings = stack(molecule.edge.map((type, pair) => bondOf(type, pair, 0)));
    const withRings = stack(molecule.edge.map((type, pair) => bondOf(type, pair, reads ? molecule.ring[pair] : 0)));
    const ofBond = withRings.length / (T * T);
    const E = stack(molecule.edge.map((_, pair) => [...withRings.subarray(pair * ofBond, (pair + 1) * ofBond),
      ...relative.subarray(pair * half, (pair + 1) * half)]));
    const d = h.length / T;
    const K = d / H;
    const asMap = (y) => fill(d, T, (c, i, j) => y[(i * T + j) * d + c]);
    const values = asMap(linear(E, w["edge_maps.0.values.weight"], w["edge_maps.0.values.bias"]));
    // E of the logits is linear, so it is a sum: of a pair's bond, of its walks and of its common ring. What is the
    // same for all pairs, the biases, is in the part of the bond.
    const all = w["edge_maps.0.logits.weight"];
    const ofBonds = columns(all, 0, ofBond);
    const ofWalks = columns(all, ofBond, ofBond + half);
    const same = linear(w["edge_encoding.relative.projection.bias"].data, ofWalks, w["edge_maps.0.logits.bias"]);
    let terms = [
      ["bond", asMap(linear(withoutRings, ofBonds, { data: same }))],
      ["walks", asMap(linear(linear(walks, w["edge_encoding.relative.projection.weight"]), ofWalks))],
    ];
    if (rings) terms.push(["ring", asMap(linear(withRings.map((x, at) => x - withoutRings[at]), ofBonds))]);
    if (perHead) terms = terms.map(([name, map]) => [name, meanOfHeads(map, K, T)]);
    return { h, values, terms };
  }

  const lastInputs = new WeakMap();  // of a CSA

  /** A cut or a removed atom changes nothing of the inputs, which take most of the time, so the last ones are kept. */
  function keptInputs(model, molecule, { off, perHead }) {
    const of = [molecule, off.has("ring"), perHead];
    const last = lastInputs.get(model);
    if (last?.of.every((each, at) => each === of[at])) return last;
    lastInputs.set(model, { of, ...inputsOfCsa(model, ...of) });
    return lastInputs.get(model);
  }

  /** CSA: Eqs. 5 to 9 and 12. Tokens are the atoms; a pair has a weight for each channel. */
  function csa(model, molecule, changes) {
    const w = model.weights;
    const [T, H] = [molecule.x.length, model.heads];
    const removed = removedTokens(changes, T, 0);
    const { values, terms, ...given } = keptInputs(model, molecule, changes);
    let h = given.h;
    const d = h.length / T;
    const K = d / H;
    const bias = sum(...terms.map(([, map]) => map));
    const layers = [];
    for (let l = 0; l < model.layers; l++) {
      const name = `layers.${l}.attention`;
      const [query, key, value] = projections(h, w, name);
      const ofHead = dots(query, key, T, H);
      const dot = fill(d, T, (c, i, j) => ofHead[(Math.floor(c / K) * T + i) * T + j]);
      const logits = bounded(sum(dot, bias), model.clip);
      const attention = withoutCut(softmax(logits, T, removed), changes, "csa", l, T);
      const before = h;
      const extra = (c, i, j) => values[(c * T + i) * T + j];
      const z = gather(attention, value, T, extra);
      const sent = output(z, w, name);
      const joined = batchNorm(plus(h, sent), w, `layers.${l}.attention_norm`);
      const net = `layers.${l}.feed_forward`;
      const inner = relu(linear(joined, w[`${net}.0.weight`], w[`${net}.0.bias`]));
      const network = linear(inner, w[`${net}.3.weight`], w[`${net}.3.bias`]);
      h = batchNorm(plus(joined, network), w, `layers.${l}.feed_forward_norm`);
      const steps = { output: sent, joined, network };
      layers.push({
        terms: [["dot", dot], ...terms], logits, attention, query, key, value, extra, z, before, steps, after: h,
      });
    }
    const parts = Array.from({ length: T }, (_, i) =>
      (removed[i] ? 0 : readOut(h.subarray(i * d, (i + 1) * d), w, relu)[0]));
    return { prediction: parts.reduce((a, b) => a + b, 0), first: 0, layers, parts };
  }

  /** Weights by name, {shape, data}: whole numbers of three bytes times the tensor's scale. In base64, the
      highest bytes of all numbers come before the middle ones and those before the lowest. */
  function unpack(model) {
    const letters = atob(model.data);
    const count = letters.length / 3;
    const whole = (at) => ((letters.charCodeAt(at) << 24) | (letters.charCodeAt(count + at) << 16) | (letters.charCodeAt(2 * count + at) << 8)) >> 8;  // with its sign
    const weights = {};
    let start = 0;
    Object.entries(model.shapes).forEach(([name, shape], which) => {
      const data = new Float32Array(shape.reduce((a, b) => a * b, 1));
      for (let at = 0; at < data.length; at++) data[at] = whole(start + at) * model.scales[which];
      weights[name] = { shape, data };
      start += data.length;
    });
    return weights;
  }

  const kinds = { graphormer, egt, grpe, csa };

  function unchanged() {
    const [removed, closed, flips, off, cut] = Array.from({ length: 5 }, () => new Set());
    return { removed, shift: {}, closed, flips, off, perHead: false, cut };
  }

  function run(model, molecule, changes) {
    model.weights = model.weights || unpack(model);
    return kinds[model.kind](model, molecule, { ...unchanged(), ...changes });
  }

  return { run, unchanged, unpack };
})();
