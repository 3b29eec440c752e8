// How much of an epoch is padding: the batches that DenseLoader draws from molecules with seed 0, for some
// numbers of buckets and some batch sizes. `data` is what experiments/pictures.py writes, the number of atoms
// of each molecule. gtcourse.pictures.padding(sizes, batchSize, buckets, epoch) gives the molecules of each
// batch, bucket after bucket.
(function (data) {
  "use strict";
  const BATCH_SIZES = [4, 8, 16, 32, 64, 128, 256];
  const BUCKETS = [1, 2, 4, 8, 16, 32, 62];
  const PLOT = { left: 40, top: 8, height: 190, bottom: 28 };  // pixels; the rest of the width is the epoch

  /** The 32-bit numbers of torch.Generator().manual_seed(seed), a Mersenne twister (MT19937). */
  function generator(seed) {
    const state = new Uint32Array(624);
    state[0] = seed;
    for (let i = 1; i < 624; i++) state[i] = Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i;
    let at = 624;
    return () => {
      if (at === 624) {
        for (let i = 0; i < 624; i++) {
          const y = (state[i] & 0x80000000) | (state[(i + 1) % 624] & 0x7fffffff);
          state[i] = state[(i + 397) % 624] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
        }
        at = 0;
      }
      let y = state[at++];
      y ^= y >>> 11;
      y ^= (y << 7) & 0x9d2c5680;
      y ^= (y << 15) & 0xefc60000;
      y ^= y >>> 18;
      return y >>> 0;
    };
  }

  /** A list in the order of torch.randperm. */
  function shuffled(list, next) {
    const order = [...list];
    for (let i = 0; i + 1 < order.length; i++) {
      const other = i + next() % (order.length - i);
      [order[i], order[other]] = [order[other], order[i]];
    }
    return order;
  }

  /** Almost equal parts, as those of torch.tensor_split. */
  function split(list, parts) {
    const least = Math.floor(list.length / parts);
    const longer = list.length % parts;
    const start = (part) => part * least + Math.min(part, longer);
    return Array.from({ length: parts }, (_, part) => list.slice(start(part), start(part + 1)));
  }

  function batchesOf(sizes, batchSize, buckets, epoch) {
    const rows = sizes.map((_, row) => row);
    if (buckets > 1) rows.sort((one, other) => sizes[one] - sizes[other]);
    const count = Math.min(buckets, Math.max(1, Math.floor(rows.length / batchSize)));  // one for each full batch
    const next = generator(epoch);
    return split(rows, count).map((bucket) => shuffled(bucket, next)).flatMap((order) =>
      Array.from({ length: Math.ceil(order.length / batchSize) }, (_, at) => order.slice(at * batchSize, (at + 1) * batchSize)));
  }

  gtcourse.pictures = { ...gtcourse.pictures, padding: batchesOf };
  const place = document.getElementById("padding");
  if (!place) return;

  const { sizes } = data;
  const LARGEST = Math.max(...sizes);
  const START = { batchSize: 64, buckets: 1 };
  const state = { ...START, epoch: 0, at: 0 };
  let batches = [];  // the sizes of the molecules of each, the largest first
  let starts = [];  // how many molecules stand before each
  let drawnAt = 0;

  place.innerHTML = `<p><b>Pack an epoch.</b> <code>DenseLoader</code> puts ${whole(sizes.length)} molecules into batches. Each molecule of n atoms is a thin column. It is orange up to n², the number of its own pairs, and grey
      from there up to the n² of the largest molecule in its batch. The grey area is padding.</p>
    <div class="question"></div>
    <div class="ride"><span class="which"></span><input type="range" min="0" max="${BUCKETS.length - 1}" aria-label="buckets" data-slider="buckets"></div>
    <div class="ride"><span class="which"></span><input type="range" min="0" max="${BATCH_SIZES.length - 1}" aria-label="molecules in a batch" data-slider="batchSize"></div>
    <div class="ride"><span class="which"></span><input type="range" min="0" aria-label="batch" data-slider="at"></div>
    <p class="said" role="status"></p>
    <div class="both"><figure><svg class="epoch" role="img"></svg><figcaption class="keys"><span><i class="real"></i> real pairs</span><span><i class="padded"></i> padding</span><button type="button" data-epoch>another epoch</button></figcaption></figure>
      <figure class="one"><canvas role="img"></canvas><figcaption></figcaption></figure></div>`;
  const find = (selector) => place.querySelector(selector);
  const square = (n) => n * n;
  const total = (numbers) => numbers.reduce((sum, x) => sum + x, 0);

  function whole(x) {
    return x.toLocaleString("en-US");
  }

  /** The pairs that some batches store, those among them that are real, and the share of the others. */
  function pairsOf(some) {
    const stored = total(some.map((each) => each.length * square(each[0])));
    const real = total(some.map((each) => total(each.map(square))));
    return { stored, real, padding: 1 - real / stored };
  }

  function percent(share) {
    return `${(100 * share).toFixed(0)} %`;
  }

  /** Draws the batches anew. The molecules of a batch stand in order of their sizes, so that its steps can be seen. */
  function pack() {
    batches = batchesOf(sizes, state.batchSize, state.buckets, state.epoch)
      .map((rows) => rows.map((row) => sizes[row]).sort((one, other) => other - one));
    starts = [];
    batches.reduce((start, each) => {
      starts.push(start);
      return start + each.length;
    }, 0);
    state.at = Math.min(state.at, batches.length - 1);
    draw();
  }

  function draw() {
    drawnAt = place.clientWidth;
    drawEpoch();
    drawBatch();
    const { buckets, batchSize, epoch, at } = state;
    const used = Math.min(buckets, Math.floor(sizes.length / batchSize));
    const words = { buckets: `${used} bucket${used > 1 ? "s" : ""}`, batchSize: `batches of ${batchSize}`, at: `batch ${at + 1} of ${batches.length}` };
    const values = { buckets: BUCKETS.indexOf(buckets), batchSize: BATCH_SIZES.indexOf(batchSize), at };
    find("[data-slider=at]").max = batches.length - 1;
    for (const [name, text] of Object.entries(words)) {
      const slider = find(`[data-slider=${name}]`);
      slider.value = values[name];
      slider.setAttribute("aria-valuetext", text);
      slider.previousElementSibling.textContent = text;
    }
    const { stored, real, padding } = pairsOf(batches);
    const means = batches.map((each) => total(each) / each.length);
    find(".said").innerHTML = `Epoch ${epoch}: ${whole(batches.length)} batches store ${whole(stored)} pairs, and ${whole(real)} of them are real. <b>${percent(padding)}</b> are padding.
      The mean number of atoms in a batch is between ${Math.min(...means).toFixed(1)} and ${Math.max(...means).toFixed(1)}.`;
    find(".epoch").setAttribute("aria-label", `${batches.length} batches, ${percent(padding)} of whose pairs are padding`);
  }

  function drawEpoch() {
    const svg = find(".epoch");
    const width = svg.clientWidth || 480;
    const { left, top, height, bottom } = PLOT;
    const x = (molecules) => (left + (width - left - 2) * molecules / sizes.length).toFixed(2);
    const y = (n) => (top + height * (1 - square(n) / square(LARGEST))).toFixed(1);
    const floor = y(0);
    let [real, stored] = ["", ""];
    batches.forEach((batch, which) => {
      const start = starts[which];
      const steps = batch.map((n, at) => (n === batch[at + 1] ? "" : `V${y(n)}H${x(start + at + 1)}`)).join("");
      real += `M${x(start)} ${floor}${steps}V${floor}Z`;
      stored += `M${x(start)} ${floor}V${y(batch[0])}H${x(start + batch.length)}V${floor}Z`;
    });
    const [from, to] = [starts[state.at], starts[state.at] + batches[state.at].length];
    const ticks = [10, 20, 30, LARGEST];
    svg.setAttribute("viewBox", `0 0 ${width} ${top + height + bottom}`);
    svg.style.height = `${top + height + bottom}px`;
    svg.innerHTML = `<path class="padded" d="${stored}"/><path class="real" d="${real}"/>
      <rect class="chosen" x="${x(from)}" y="${y(batches[state.at][0])}" width="${Math.max(2, x(to) - x(from))}" height="${floor - y(batches[state.at][0])}"/>
      ${ticks.map((n) => `<path class="axis" d="M${left - 5} ${y(n)}H${left}"/><text x="${left - 8}" y="${y(n)}" text-anchor="end" dominant-baseline="central">${n}²</text>`).join("")}
      <path class="axis" d="M${left} ${top}V${floor}H${width}"/>
      <text x="${(left + width) / 2}" y="${top + height + 20}" text-anchor="middle">${state.buckets > 1 ? "batches, those of small molecules first" : "batches, each drawn from all molecules"}</text>`;
  }

  /** The square of a batch: how many of its molecules have each pair. */
  function drawBatch() {
    const batch = batches[state.at];
    const n = batch[0];
    const share = Float64Array.from({ length: n * n }, (_, pair) => {
      const needed = Math.max(Math.floor(pair / n), pair % n);
      return batch.filter((size) => size > needed).length / batch.length;
    });
    const canvas = find("canvas");
    gtcourse.layers.paint(canvas, share, n);
    canvas.style.width = `${100 * n / LARGEST}%`;
    const { stored, real, padding } = pairsOf([batch]);
    find(".one figcaption").innerHTML = `Batch ${state.at + 1}: ${batch.length} molecule${batch.length > 1 ? "s" : ""} of ${batch.at(-1)} to ${n} atoms, ${batch.length}&nbsp;·&nbsp;${n}² = ${whole(stored)} pairs. <b>${percent(padding)}</b> are padding.
      The more molecules have a pair, the stronger its colour.`;
    canvas.setAttribute("aria-label", `${whole(real)} of ${whole(stored)} pairs are real`);
  }

  /** The batch that is under a pointer. */
  function choose(event) {
    const box = find(".epoch").getBoundingClientRect();
    const molecule = sizes.length * (event.clientX - box.left - PLOT.left) / (box.width - PLOT.left - 2);
    state.at = Math.max(0, starts.findLastIndex((start) => start <= molecule));
    draw();
  }

  function ask() {
    const share = (batchSize, buckets) => pairsOf(batchesOf(sizes, batchSize, buckets, 0).map((rows) => rows.map((row) => sizes[row]).sort((a, b) => b - a))).padding;
    const [large, small, sorted] = [share(64, 1), share(8, 1), share(64, 16)];
    gtcourse.guess(find(".question"), {
      question: `In batches of 64 molecules, ${percent(large)} of the pairs are padding. How many are in batches of 8, also without buckets?`,
      answers: [percent(large / 8), percent(small), percent(large)],
      right: 1,
      about: "batches of 8",
      show: () => {
        Object.assign(state, { batchSize: 8, buckets: 1, epoch: 0, at: 0 });
        pack();
      },
      truth: () => `Among 8 molecules there is usually one that is much larger than the others. With 16 buckets, ${percent(sorted)} are padding even in batches of 64. But then the batches differ: in some, all molecules are
        small, and in others, all are large. Move the sliders and watch the mean number of atoms.`,
    });
  }

  place.addEventListener("input", ({ target }) => {
    const value = Number(target.value);
    const { slider } = target.dataset;
    if (slider === "at") {
      state.at = value;
      draw();
      return;
    }
    state[slider] = slider === "buckets" ? BUCKETS[value] : BATCH_SIZES[value];
    pack();
  });
  place.addEventListener("click", ({ target }) => {
    if (target.dataset.epoch === undefined) return;
    state.epoch += 1;
    pack();
  });
  find(".epoch").addEventListener("pointerdown", (event) => {
    choose(event);
    gtcourse.drag(event, choose);
  });
  new ResizeObserver(() => { if (Math.abs(place.clientWidth - drawnAt) > 1) draw(); }).observe(place);
  pack();
  ask();
})
