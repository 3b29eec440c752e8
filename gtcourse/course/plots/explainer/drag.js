// A drag that begins with a press: gtcourse.drag(press, follow) calls follow(event) at most once a frame,
// because a pointer moves more often than a picture is drawn. The drag ends when the pointer is released, or
// when the browser takes it over. Other pointers do not take part.
gtcourse.drag = gtcourse.drag ?? function (press, follow) {
  "use strict";

  press.preventDefault();
  const drag = new AbortController();
  let frame = null;
  let last = press;

  function move(event) {
    if (event.pointerId !== press.pointerId) return;
    last = event;
    frame ??= requestAnimationFrame(() => {
      frame = null;
      follow(last);
    });
  }

  function end(event) {
    if (event.pointerId === press.pointerId) drag.abort();
  }

  addEventListener("pointermove", move, { signal: drag.signal });
  addEventListener("pointerup", end, { signal: drag.signal });
  addEventListener("pointercancel", end, { signal: drag.signal });
};

// Whoever touches such an element drags it, and does not scroll the page. (Chromium ignores touch-action on parts of an SVG.)
gtcourse.drag.holds = (place, selector) => place.addEventListener("touchstart", (event) => {
  if (event.target.closest(selector)) event.preventDefault();
}, { passive: false });
