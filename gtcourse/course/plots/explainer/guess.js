// A question that the reader answers before playing, and the verdict: gtcourse.guess(box, {question,
// answers, right, show, truth, about, covered}). `right` is the place of the right answer. Once one is
// chosen, `show` brings the picture to what was asked about, and truth() says what is true. What has the class
// "answer" stays covered until then, if `covered` says that there is such a thing. Once another control of the
// picture is used, the question shrinks to one line that says what it is about, because the picture may then
// show something else.
gtcourse.guess = gtcourse.guess ?? function (box, asked) {
  "use strict";

  const { question, answers, right, show, truth, about, covered } = asked;
  const picture = box.parentElement;
  const CONTROLS = "button, input, select, svg, canvas, [tabindex]";
  const KEYS = /^(Arrow|Page)|^(Enter| |Home|End)$/;
  box.className = "ask";
  picture.classList.toggle("guessing", Boolean(covered));

  function pose() {
    box.style.minHeight = "";
    box.innerHTML = `<p tabindex="-1" aria-live="polite"><b>Guess first.</b> ${question}${picture.classList.contains("guessing") ?
      ' <span class="hint">The answer is covered until you choose, or use the picture.</span>' : ""}</p>
      <div class="choices">${answers.map((words, which) => `<button type="button" data-answer="${which}">${words}</button>`).join("")}</div>`;
  }

  /** One line in place of the question; what the reader has in hand does not move. */
  function shrink(held) {
    const before = held.getBoundingClientRect().top;
    picture.style.minHeight = "";  // which book.js keeps
    box.style.minHeight = "";
    box.innerHTML = `<button type="button" class="again" aria-expanded="false">Guess about ${about} <span aria-hidden="true">▸</span></button>`;
    window.scrollBy({ top: held.getBoundingClientRect().top - before, behavior: "instant" });
  }

  function use(event) {
    const control = event.target.closest(CONTROLS);
    if (!control || box.contains(control) || (event.key && !KEYS.test(event.key))) return;
    picture.classList.remove("guessing");
    const inHand = event.type === "input" || event.type === "keydown";  // a slider that still moves
    if (!inHand && box.querySelector("[data-answer]")) shrink(control);
  }

  function answer(which) {
    picture.classList.remove("guessing");
    // On a phone the buttons of the answers are a third of the screen, which would stay empty.
    if (matchMedia("(max-width: 576px)").matches) picture.style.minHeight = "";
    else box.style.minHeight = `${box.offsetHeight}px`;
    show();
    box.innerHTML = `<p tabindex="-1" aria-live="polite"><b>${which === right ? "Right." : `Not quite: ${answers[right]}.`}</b> ${truth()}</p>`;
    box.firstChild.focus({ preventScroll: true });
  }

  box.addEventListener("click", (event) => {
    const chosen = event.target.closest("[data-answer]");
    const again = event.target.closest(".again");
    if (!chosen && !again) return;
    event.stopPropagation();  // the picture's own buttons are another matter
    if (chosen) return answer(Number(chosen.dataset.answer));
    pose();
    box.firstChild.focus({ preventScroll: true });
  });
  // Before the picture's own listeners, which may replace what was pressed.
  for (const type of ["input", "change", "click", "keydown", "keyup"]) picture.addEventListener(type, use, true);
  pose();
};
