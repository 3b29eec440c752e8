// The arrow keys among things of which one has the focus: they lead to the next one and to the one before it,
// in a circle, and Home and End to the first and the last. gtcourse.arrows(place, things), with {of, go, press, up}:
//   of(target): [at, count], the place of what has the focus among how many; NaN or -1 for something else.
//   go(next, target): chooses the thing at this place and gives it the focus.
//   press(target): what Enter and the space bar do.
//   up: 1 where the next thing stands above.
// With Alt, Ctrl or the command key, a key is the browser's.
var gtcourse = window.gtcourse || {};
window.gtcourse = gtcourse;

gtcourse.arrows = function (place, things) {
  "use strict";

  const { of, go, press, up = -1 } = things;
  place.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const [at, count] = of(target);
    if (!(at >= 0) || event.altKey || event.ctrlKey || event.metaKey) return;
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowUp: at + up, ArrowDown: at - up, Home: 0, End: count - 1 }[key];
    if (next !== undefined) go((next + count) % count, target);
    else if (press && (key === "Enter" || key === " ")) press(target);
    else return;
    event.preventDefault();
  });
};

// Which of a drawing's things a click means: a finger covers more than the small circle that it aims at. Enter and
// the space bar click on what has the focus.
gtcourse.nearest = function (event, things) {
  "use strict";

  const FINGER = 22;  // pixels around the click
  const { target, detail, clientX, clientY } = event;
  const drawing = detail && target.closest("svg");
  if (!drawing) return target;
  const away = (thing) => {
    const { left, top, width, height } = thing.getBoundingClientRect();
    return Math.hypot(left + width / 2 - clientX, top + height / 2 - clientY);
  };
  const all = [...drawing.querySelectorAll(things)];
  const best = all.reduce((one, other) => (one && away(one) <= away(other) ? one : other), null);
  return best && away(best) <= FINGER ? best : target;
};
