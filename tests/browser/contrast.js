// Text that does not stand out from what is behind it: WCAG's ratio, 4.5, or 3 for large letters.
// Quick enough for every page in both modes, which axe-core's rule is not; behind a text is what its
// ancestors paint; the colours of text in pictures are tested in tests/plots.
() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();

  /** Red, green, blue from 0 to 255 and opacity from 0 to 1 of a CSS colour, however written. */
  function channels(color) {
    if (!known.has(color)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(color, [r, g, b, a / 255]);
    }
    return known.get(color);
  }

  const over = (top, below) =>
    [0, 1, 2].map((c) => top[3] * top[c] + (1 - top[3]) * below[c]).concat(1);

  function luminance(color) {
    const [r, g, b] = color.map((x) => x / 255)
      .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function ratio(one, other) {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  }

  const parentOf = (element) => element.parentElement || element.getRootNode().host;
  const behind = new Map();  // an element's own background on those of its ancestors

  function background(element) {
    if (!element) return [255, 255, 255, 1];
    if (!behind.has(element)) {
      const own = channels(getComputedStyle(element).backgroundColor);
      behind.set(element, own[3] === 1 ? own : over(own, background(parentOf(element))));
    }
    return behind.get(element);
  }

  function opacity(element) {
    let product = 1;
    for (let e = element; e; e = parentOf(e)) product *= Number(getComputedStyle(e).opacity);
    return product;
  }

  function fault(element, text) {
    const style = getComputedStyle(element);
    const large = parseFloat(style.fontSize) * (Number(style.fontWeight) >= 700 ? 1.286 : 1) >= 24;
    const needed = large ? 3 : 4.5;
    const paint = element.namespaceURI.endsWith("svg") ? style.fill : style.color;
    const [r, g, b, a] = channels(paint);
    const ground = background(element);
    const found = ratio(over([r, g, b, a * opacity(element)], ground), ground);
    return found >= needed - 0.005 ? null :
      `${found.toFixed(2)} of ${needed} in ${element.tagName.toLowerCase()}.${
        element.getAttribute("class") || ""}: ${text.trim().slice(0, 40)}`;
  }

  const roots = [document];
  const faults = [];
  const judged = new Set();
  // The names of a molecule's atoms are dark, on discs that are light in both modes.
  const exempt = "svg[role=img] *, text.name, :disabled, [aria-disabled=true], option, script, style, noscript";
  while (roots.length) {
    const root = roots.pop();
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) roots.push(element.shadowRoot);
      const own = [...element.childNodes].find((n) => n.nodeType === 3 && n.data.trim());
      const text = element.tagName === "MJX-CONTAINER" ? "a formula" : own?.data;
      if (!text || element.matches(exempt)) continue;
      if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      const sentence = fault(element, text);
      if (sentence && !judged.has(element)) faults.push(sentence);
      judged.add(element);
    }
  }
  return faults;
}
