// Colours of weights and of numbers with a sign. Zero is near the page, light or dark, and the text
// on a colour reads on it. gtcourse.colors.watch(redraw) calls back when the page changes its mode.
gtcourse.colors = (function () {
  "use strict";

  const STOPS = {
    light: { weight: ["#f0ece4", "#f4d09c", "#eda85a", "#e07f2a", "#c25507"],
      number: ["#1f6cb0", "#8fb9dd", "#f0ece4", "#eeb57e", "#c25507"] },
    dark: { weight: ["#33363e", "#6f4529", "#a8642a", "#dc8f3f", "#ffb94f"],
      number: ["#a5d6ff", "#3f77a8", "#33363e", "#8b5429", "#ffb94f"] },
  };

  const mode = () => {
    const theme = document.documentElement.dataset.theme;
    if (theme === "light" || theme === "dark") return theme;
    return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  };
  const stops = (kind) => STOPS[mode()][kind];
  const rgb = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));

  /** A scale in the page's mode: the colour of a share from 0 to 1, [r, g, b]. Who colours many shares asks for it once. */
  function scale(kind) {
    const all = stops(kind).map(rgb);
    return (share) => {
      const place = Math.max(0, Math.min(share, 1)) * (all.length - 1);
      const below = Math.min(Math.floor(place), all.length - 2);
      const [low, high] = [all[below], all[below + 1]];
      return low.map((x, c) => Math.round(x + (place - below) * (high[c] - x)));
    };
  }

  const shade = (kind, share) => scale(kind)(share);

  /** Where a weight stands on the colour scale, from 0 to 1: at its square root, so that small weights and
      large ones can both be told apart. The scale is the same for all maps, in the explainer and in the chapters. */
  const onScale = (weight) => Math.sqrt(Math.max(0, Math.min(1, weight)));
  const ofWeight = (weight) => shade("weight", onScale(weight));
  const scaleOfWeights = () => {
    const of = scale("weight");
    return (weight) => of(onScale(weight));
  };

  /** Black or white, whichever has the higher contrast on a colour. */
  function ink(color) {
    const [r, g, b] = color.map((x) => (x / 255) ** 2.2);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#15171a" : "#f5f6f8";
  }

  const css = (parts) => `rgb(${parts.join(",")})`;
  const ramp = (kind) => `linear-gradient(to right,${stops(kind).join(",")})`;

  /** The scale of weights below a picture, drawn by book.css. Halfway along its colours stands what has its square root halfway, 0.25. */
  const ofWeights = () => {
    const halves = [["0", "0%"], ["0.25", "100%"]].map(([from, at]) =>
      `${from} <i style="background:${ramp("weight")};background-size:200% 100%;background-position-x:${at}"></i>`);
    return `<span class="of-weights">${halves.join(" ")} 1</span>`;
  };

  function watch(redraw) {
    let last = mode();
    const look = () => {  // the theme's script sets the mode again that the page has
      if (mode() === last) return;
      last = mode();
      redraw();
    };
    new MutationObserver(look).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", look);
  }

  return { css, ink, ofWeight, ofWeights, onScale, ramp, scale, scaleOfWeights, shade, watch };
})();
