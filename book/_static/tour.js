// A tour of the explainer: each step asks for a prediction first, then shows what the model does.
// gtcourse.tour(place, visit, kept) shows it; visit(step) sets the page and returns what it shows, and kept()
// is what the reader has chosen and changed, which the end of the tour brings back.
gtcourse.tour = (function () {
  "use strict";

  const two = (x) => gtcourse.layers.number(Number(x.toFixed(2)) || 0, 2);  // no −0.00
  const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}\u00a0%`;  // with a space that does not break
  const nearest = (values, x) => values.reduce((best, value, at) => (Math.abs(value - x) < Math.abs(values[best] - x) ? at : best), 0);

  const RING = [1, 2, 4, 5, 6, 13, 19];  // diazepam’s ring of seven atoms, in the order of its bonds

  // `ask` is a question with answers, `right` says which is, given the page before and after the step.
  // `look` is what the question is about, which has a dashed frame. What would give the answer away is
  // covered until the reader has chosen. `see` is what a phone shows above the question: the first and
  // the last of the parts, which fit between the prediction and the question. `after` is what the answer
  // chooses in the page, for instance the pair that it names. `dim` is what the step is not about.
  const STEPS = [
    {
      title: "The prediction", kind: "graphormer", molecule: "diazepam", channel: 4, i: 1, j: 2, look: "axis", see: [".axis", ".legend"],
      ask: ["A trained Graphormer reads diazepam’s atoms and bonds and predicts its penalised logP. The line compares it with RDKit’s exact value. How far off is this model on average, on molecules it has never seen?", "0.04", "0.4", "4"],
      right: ({ error }) => nearest([0.04, 0.4, 4], error),
      text: ({ now, exact, error }) => `It is off by ${two(error)} on average. For diazepam it is off by ${two(Math.abs(now - exact))}, and the last step shows why. The next steps
        follow one number of a prediction, from the logit on, in a smaller molecule: aspirin.`,
    },
    {
      title: "Where an atom looks", kind: "graphormer", scope: "model", i: 4, j: 2, after: { j: 9 }, look: "molecule", dim: "flow maps weight edit", cover: "molecule maps matrix path", see: [".molecule", ".legend"],
      ask: ["O3 joins the ring to the acetyl group. Averaged over all layers, what does it attend to most?", "itself", "a bonded atom", "an atom farther away"],
      right: ({ most }) => Math.min(2, most.distance),
      text: ({ most, uniform }) => `On average, its largest weight is on ${most.name}: ${two(most.weight)}, compared with ${two(uniform)} if all weights were equal.
        Every atom may look at every other; bonds do not limit it. Choose other atoms.`,
    },
    {
      title: "One layer", kind: "graphormer", scope: "weight", layer: 0, channel: 4, i: 4, j: 2, look: "maps", dim: "molecule weight edit", cover: "channels matrix", see: [".flow", ".maps"],
      ask: ["A layer’s square shows the mean over its eight heads. Do the heads themselves look alike?", "yes", "no, they differ"],
      right: () => 1,
      text: () => "They differ. Row 2 has a square for every head: head 5 follows the bonds, head 4 looks two bonds away, and head 6 three. Choose a head, and the matrix shows it.",
    },
    {
      title: "A logit", kind: "graphormer", scope: "weight", channel: 4, i: 2, j: 4, look: "path", cover: "path", see: [".of-pair", ".path"],
      ask: ["Head 5 of layer 1, from C1 to O3. Does the logit come from the atoms’ content (q·k) or from their place in the graph (b and c)?", "content", "place"],
      right: ({ terms: [content, ...place] }) => (Math.abs(place.reduce((a, b) => a + b)) > Math.abs(content) ? 1 : 0),
      text: ({ terms: [content, distance, bonds] }) => `From their place: the path lists the terms of the logit, each with its colour, ${two(content)} from the content, ${two(distance)} from
        the distance and ${two(bonds)} from the bond between them. Graphormer has learned both biases.`,
    },
    {
      title: "Softmax", kind: "graphormer", scope: "weight", channel: 0, i: 2, j: 4, changes: { shift: { 1: 3 } }, look: "fieldset molecule", see: [".molecule", "fieldset"],
      ask: ["Head 1. We will add 3 to the logits of all pairs that share a bond. What will happen to the weights of the other pairs?", "nothing", "they fall", "they rise"],
      right: () => 1,
      text: () => "They fall, because the weights of a row add up to 1. All maps share one colour scale, so a paler atom has a smaller weight. Move the slider.",
    },
    {
      title: "Value and message", kind: "graphormer", scope: "weight", channel: 4, i: 2, j: 4, unfold: "later", look: "path", see: [".of-pair", ".path"],
      ask: ["A large weight does not always mean a large message. What can make the message small although the weight is large?", "a small value v", "the softmax"],
      right: () => 0,
      text: () => "The value: the message is the weight times the value. Follow the green bars of the path: value, message, and their sum over all atoms. The sum is added to h, and the next layer begins from there.",
    },
    {
      title: "From the message to the prediction", kind: "graphormer", scope: "weight", channel: 4, i: 2, j: 4, unfold: "later", changes: { cut: new Set(["graphormer,0,4,2,4"]) },
      look: "made path", cover: "onward", see: [".of-pair", ".path"],
      ask: ["We will cut this one weight, so that C1 no longer gets O3’s message from head 5 of layer 1. The read-out reads [VNode] alone. After which layer will [VNode] first differ?", "after layer 1", "after layer 2", "after none"],
      right: ({ trace }) => {
        const first = trace.findIndex(({ readOut }) => readOut > 0);
        return first < 0 ? 2 : Math.min(first, 1);
      },
      text: ({ trace, now, before }) => `The message is added to C1’s own vector (the residual), so in layer 1 C1’s vector alone changes, by ${percent(trace[0].chosen)} of its length.
        In layer 2 [VNode] attends to C1, and differs for the first time, by ${percent(trace[1].readOut)}. After layer ${trace.length} C1 differs by ${percent(trace.at(-1).chosen)}, [VNode] by ${percent(trace.at(-1).readOut)}, and the
        prediction, which is read from [VNode], moves: ${two(before)} → ${two(now)}.`,
    },
    {
      title: "A gate", kind: "egt", scope: "weight", channel: 1, i: 1, j: 2, changes: { closed: new Set(["0,1"]) }, look: "models fieldset maps", see: [".made", ".maps"],
      ask: ["Now EGT, which multiplies each weight by a gate between 0 and 1. We will close the gates of head 2 in layer 1. What will C1’s weights then add up to?", "exactly 1", "less, not 0", "exactly 0"],
      right: ({ sum }) => (sum > 0.99 ? 0 : sum > 0 ? 1 : 2),
      text: ({ now, before }) => `The gates come after the softmax, so it cannot make up for them: the head sends nothing. The prediction moves: ${two(before)} → ${two(now)}. Reopen the gates with ×.`,
    },
    {
      title: "Maps without the value term", kind: "grpe", scope: "layer", layer: 0, channel: 0, changes: { off: new Set(["value"]) }, look: "models fieldset flow", see: [".made", ".maps"],
      ask: ["Now GRPE, which adds the relation to the values, too. We will switch that off. Which layers’ attention maps will change?", "all", "all but the first", "none"],
      right: () => 1,
      text: () => "All but the first: its weights come only from queries and keys. Later layers read other vectors. Tick the box again and compare.",
    },
    {
      title: "A weight for every channel", kind: "csa", scope: "weight", channel: 34, i: 1, j: 3, changes: { perHead: true }, look: "models fieldset maps", see: [".made", ".maps"],
      ask: ["Now CSA, which computes a weight for each of its 52 channels. We will average E over the 13 channels of each head. How far will the prediction move?", "by less than 0.5", "by more"],
      right: ({ now, before }) => Number(Math.abs(now - before) > 0.5),
      text: ({ now, before }) => `It moves by ${two(Math.abs(now - before))}: the channels of a head differ, and the model uses that.`,
    },
    {
      title: "Attention and importance", kind: "csa", scope: "model", i: 9, j: 3, effects: true, look: "fieldset molecule", see: [".molecule", "fieldset"],
      ask: ["Do the atoms with the most attention matter most for the prediction?", "yes, they must be", "not necessarily"],
      right: () => 1,
      text: () => `Attention need not be on the atoms that matter. Colours now show what the prediction loses without each atom: orange atoms raise it, blue ones lower it. Press the button again for
        attention. Chapter 11 measures how far the two agree. The fields at the top<span class="phone">, behind “Your molecule, two models”,</span> take a molecule of your own and put two models side by side.`,
    },
    {
      title: "The puzzle of this page", kind: "csa", molecule: "diazepam", scope: "model", i: 4, j: 13, after: { scope: "weight", channel: 12, outline: RING }, look: "models molecule", see: [".molecule", ".legend"],
      ask: ["Diazepam again. CSA comes close to the exact value, and the other three are off by about 3. What does CSA read that they do not?", "which atoms share a bond", "which atoms share a ring", "how far apart two atoms are"],
      right: () => 1,
      text: ({ ring, now, ringless }) => `Diazepam’s ring of seven atoms, outlined here, lowers its penalised logP. In channel 13, E is at least ${two(ring.inside)} for any two atoms on a common ring and at most ${two(ring.outside)} for all other pairs.
        In layer 1, C4 puts ${percent(ring.share)} of its weight on the other atoms of its ring. So CSA can tell such pairs apart, and its prediction depends on that: it is ${two(now)}, and ${two(ringless())} if no two atoms are marked as sharing a ring.`,
    },
  ];

  const SKIPPED = -1;
  const GAP = 4;  // pixels between the prediction and what a step is about: less than the page's gaps

  /** Where the question stands at the window's lower edge, the first of the parts is brought right below
      the prediction, which stays at the upper edge, so that nothing stands half covered between them. */
  function bringIntoView(place, [first]) {
    if (getComputedStyle(place).position !== "sticky") return;
    const find = (part) => place.parentElement.querySelector(part);
    const box = (part) => find(part).getBoundingClientRect();
    const top = parseFloat(getComputedStyle(find(".now")).top) + box(".now").height;
    scrollBy({ top: box(first).top - top - GAP, behavior: "instant" });
  }

  return function (place, visit, kept) {
    let at = -1;
    let before = null;  // what the reader had chosen
    let guess = null;
    const start = `<button data-tour="1"><span class="long">Take the </span>${STEPS.length}-step tour</button>`;

    async function show() {
      const step = STEPS[at];
      const asking = guess === null;
      // Before the answer the page is as the step finds it: the same place, without its changes.
      const shown = await visit(asking ? { ...step, changes: {}, effects: false } : { ...step, ...step.after });
      if (step !== STEPS[at]) return;  // the reader was faster than the model's file
      const [question, ...answers] = step.ask;
      const verdict = () => (guess === SKIPPED ? "" : step.right(shown) === guess ? "<b>Right.</b> " : `<b>Not quite: ${answers[step.right(shown)]}.</b> `);
      const title = `<b>${at + 1} of ${STEPS.length} · ${step.title}${step.title.endsWith("?") ? "" : "."}</b>`;
      const covered = asking && step.cover ? ' <span class="quiet">The answer is covered until you choose.</span>' : "";
      const onward = asking ? `<button data-answer="${SKIPPED}">Skip</button>` :
        `<button data-tour="1" class="next">${at + 1 < STEPS.length ? "Next" : "Finish"}</button>`;
      Object.assign(place.parentElement.dataset, { cover: asking ? step.cover ?? "" : "", look: step.look, dim: step.dim ?? "" });
      const begins = !place.querySelector("p");
      place.innerHTML = `<div><p role="status">${title} <span class="rest">${asking ? question + covered : verdict() + step.text(shown)}${!asking && shown.changed ? `<span class="changed">${shown.changed}</span>` : ""}</span></p>${asking ?
        `<div class="answers">${answers.map((words, which) => `<button data-answer="${which}">${words}</button>`).join("")}</div>` : ""}</div>
        <div class="steps"><button data-tour="-1" ${at ? "" : "disabled"}>Back</button>${onward}<button data-tour="0" class="end">End</button><button class="phone low" data-low aria-expanded="${!place.classList.contains("folded")}" aria-label="the text of this step"></button></div>`;
      if (begins) place.getRootNode().host.scrollIntoView();  // so that all that changes is in view
      place.querySelector(".next, .answers button").focus({ preventScroll: true });
      bringIntoView(place, step.see);
    }

    place.innerHTML = start;
    place.addEventListener("keydown", (event) => {  // from answer to answer, and from step to step
      const turn = { ArrowRight: ".next", ArrowLeft: '[data-tour="-1"]' }[event.key];
      if (turn && event.target.closest(".steps") && guess !== null) {
        event.preventDefault();
        return place.querySelector(turn).click();
      }
      const answers = [...place.querySelectorAll(".answers button")];
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const from = answers.indexOf(event.target);
      if (!step || from < 0) return;
      event.preventDefault();
      answers[(from + step + answers.length) % answers.length].focus();
    });
    place.addEventListener("click", ({ target }) => {
      const { tour: turn, answer, low } = target.closest("button")?.dataset ?? {};
      if (low !== undefined) return target.setAttribute("aria-expanded", !place.classList.toggle("folded"));
      if (answer !== undefined) guess = Number(answer);
      else if (turn === undefined) return;
      else {
        guess = null;
        place.classList.remove("folded");  // a new question is in view
        before ??= kept();
        at = turn === "0" ? -1 : at + Number(turn);
      }
      if (at >= 0 && at < STEPS.length) return void show();
      at = -1;
      Object.assign(place.parentElement.dataset, { cover: "", look: "", dim: "" });
      place.classList.remove("folded");
      place.innerHTML = start;
      place.querySelector("button").focus({ preventScroll: true });
      visit(before ?? {});
      before = null;
    });
  };
})();
