// Frames with a slider. `data` is what gtcourse.plots.frames writes:
// key, ink, mark, choice (the slider's name), start, seconds (or null), labels, pictures (HTML).
(function (data) {
  "use strict";
  const CSS = `
    :host { display: block; color: ${data.ink}; font: inherit; margin: .5rem 0; }
    .frames-controls { display: flex; flex-wrap: wrap; gap: .4rem .8rem; align-items: center;
                       justify-content: center; margin-top: .4rem; }
    label { display: flex; gap: .5rem; align-items: center; flex: 0 1 20rem; min-width: 0; }
    input { flex: 1 1 6rem; min-width: 4rem; height: 1.75rem; accent-color: ${data.mark}; }
    button { font: inherit; color: inherit; background: transparent; border: 1px solid ${data.ink};
             border-radius: .3rem; padding: .15rem .6rem; min-width: 4.5em; min-height: 1.75rem; }
    button:focus-visible, input:focus-visible { outline: 2px solid ${data.mark};
                                                outline-offset: 2px; }
    output { display: block; text-align: center; min-height: 1.5em; }`;
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;

  function start(host) {
    const root = host.attachShadow({ mode: "open" });
    const last = data.pictures.length - 1;
    root.innerHTML = `<style>${CSS}</style><div class="frames-stage"></div>
      <div class="frames-controls"><label><span></span><input class="frames-range" type="range"
      min="0" max="${last}" step="1" value="${data.start}"></label></div>
      <output class="frames-label" aria-live="polite"></output>`;
    const [stage, range, label] = ["stage", "range", "label"].map((name) =>
      root.querySelector(`.frames-${name}`));
    root.querySelector("span").textContent = data.choice;
    let timer = null;

    function show(at) {
      stage.innerHTML = data.pictures[at];
      range.value = at;
      range.setAttribute("aria-valuetext", data.labels[at]);
      label.textContent = data.labels[at];
    }

    const button = document.createElement("button");
    button.className = "frames-play";
    button.type = "button";

    function stop() {
      clearInterval(timer);
      timer = null;
      button.textContent = "Play";
      label.setAttribute("aria-live", "polite");
    }

    function step() {
      show(Math.min(Number(range.value) + 1, last));
      if (Number(range.value) === last) stop();
    }

    function play() {
      label.setAttribute("aria-live", "off");  // not every frame of a film is read out
      button.textContent = "Pause";
      show(Number(range.value) === last ? 0 : Number(range.value));
      timer = setInterval(step, 1000 * data.seconds);
    }

    range.addEventListener("input", () => {
      stop();
      show(Number(range.value));
    });
    button.addEventListener("click", () => (timer === null ? play() : stop()));
    if (data.seconds && !calm) root.querySelector(".frames-controls").prepend(button);
    stop();
    show(data.start);
  }

  // By its key, and not by an id: the same frames may be on a page twice.
  for (const host of document.querySelectorAll(`[data-frames="${data.key}"]`)) {
    if (!host.shadowRoot) start(host);
  }
})
