// What the explainer's models and the chapters' widgets share: layers, and maps as pixels.
//
// Shapes: T tokens that attend to S (the same T unless said), H heads, d width, K = d / H, C weights
// of a pair. Arrays are flat: h is [T, d], a map of weights [C, T, S].
var gtcourse = window.gtcourse || {};
window.gtcourse = gtcourse;

gtcourse.layers = (function () {
  "use strict";

  /** x [rows, in] times W^T, W [out, in], plus b. */
  function linear(x, W, b) {
    const { data, shape: [out, width] } = W;
    const rows = x.length / width;
    const y = new Float64Array(rows * out);
    for (let r = 0; r < rows; r++) {
      const from = r * width;
      for (let o = 0; o < out; o++) {
        const weights = o * width;
        let sum = b ? b.data[o] : 0;
        for (let k = 0; k < width; k++) sum += x[from + k] * data[weights + k];
        y[r * out + o] = sum;
      }
    }
    return y;
  }

  const plus = (x, y) => x.map((value, at) => value + y[at]);
  const relu = (x) => x.map((value) => Math.max(value, 0));

  function layerNorm(x, weight, bias, eps) {
    const d = weight.data.length;
    const y = new Float64Array(x.length);
    for (let r = 0; r < x.length; r += d) {
      let [sum, squares] = [0, 0];
      for (let c = 0; c < d; c++) sum += x[r + c];
      const mean = sum / d;
      for (let c = 0; c < d; c++) squares += (x[r + c] - mean) ** 2;
      const scale = 1 / Math.sqrt(squares / d + eps);
      for (let c = 0; c < d; c++) y[r + c] = (x[r + c] - mean) * scale * weight.data[c] + bias.data[c];
    }
    return y;
  }

  /** A query row [T, d] times a key row [S, d] of one head, over sqrt(K): [H, T, S]. */
  function dots(query, key, T, H, S = T) {
    const d = query.length / T;
    const K = d / H;
    const scale = 1 / Math.sqrt(K);
    return fill(H, T, (head, i, j) => {
      let sum = 0;
      for (let k = head * K; k < (head + 1) * K; k++) sum += query[i * d + k] * key[j * d + k];
      return sum * scale;
    }, S);
  }

  /** The map [C, T, S] of a function of channel, row and column. */
  function fill(C, T, value, S = T) {
    const map = new Float64Array(C * T * S);
    let at = 0;
    for (let c = 0; c < C; c++) {
      for (let i = 0; i < T; i++) for (let j = 0; j < S; j++) map[at++] = value(c, i, j);
    }
    return map;
  }

  /** The softmax of each row of T keys over those that are not removed; the others get 0. */
  function softmax(logits, T, removed = []) {
    const y = new Float64Array(logits.length);
    for (let r = 0; r < logits.length; r += T) {
      let [largest, sum] = [-Infinity, 0];
      for (let j = 0; j < T; j++) {
        if (!removed[j] && logits[r + j] > largest) largest = logits[r + j];
      }
      for (let j = 0; j < T; j++) if (!removed[j]) sum += y[r + j] = Math.exp(logits[r + j] - largest);
      for (let j = 0; j < T; j++) y[r + j] /= sum || 1;
    }
    return y;
  }

  /** Each token's weighted sum of values [S, d], C weights a pair; `extra(c, i, j)` joins a value. */
  function gather(attention, value, S, extra, T = S) {
    const d = value.length / S;
    const wide = d / (attention.length / (T * S)); // channels that share a weight
    const z = new Float64Array(T * d);
    for (let c = 0; c < d; c++) {
      const map = Math.floor(c / wide) * T * S;
      for (let i = 0; i < T; i++) {
        let sum = 0;
        for (let j = 0; j < S; j++) {
          const weight = attention[map + i * S + j];
          if (weight) sum += weight * (value[j * d + c] + (extra ? extra(c, i, j) : 0));
        }
        z[i * d + c] = sum;
      }
    }
    return z;
  }

  const row = (table, at) => {
    const width = table.shape[1];
    return table.data.subarray(at * width, (at + 1) * width);
  };

  /** Rows beside each other as one flat array. */
  function stack(rows) {
    const x = new Float64Array(rows.length * rows[0].length);
    rows.forEach((values, at) => x.set(values, at * values.length));
    return x;
  }

  const number = (x, digits = 3) => x.toFixed(digits).replace("-", "−");

  const FULL = [232, 121, 47];

  /** A map of rows of S as pixels, clear at 0, full at its largest weight; returns that. */
  function paint(canvas, map, S) {
    const largest = map.reduce((a, b) => Math.max(a, b), 1e-9);
    [canvas.width, canvas.height] = [S, map.length / S];
    const context = canvas.getContext("2d");
    const image = context.createImageData(canvas.width, canvas.height);
    map.forEach((value, at) => image.data.set([...FULL, 255 * value / largest], 4 * at));
    context.putImageData(image, 0, 0);
    return largest;
  }

  return { linear, plus, relu, layerNorm, dots, fill, softmax, gather, row, stack, number, paint };
})();
