// A question that the reader answers before playing, and the verdict: gtcourse.guess(box, {question,
// answers, right, show, truth}). `right` is the place of the right answer. Once one is chosen, `show`
// brings the picture to what was asked about, and truth() says what is true.
gtcourse.guess = gtcourse.guess ?? function (box, asked) {
  "use strict";

  const { question, answers, right, show, truth } = asked;
  box.className = "ask";
  box.innerHTML = `<p tabindex="-1" aria-live="polite"><b>Guess first.</b> ${question}</p>
    <div class="choices">${answers.map((words, which) => `<button type="button" data-answer="${which}">${words}</button>`).join("")}</div>`;
  const said = box.querySelector("p");

  function answer(which) {
    show();
    box.querySelector(".choices").remove();  // so that the box has no empty room
    said.innerHTML = `<b>${which === right ? "Right." : `Not quite: ${answers[right]}.`}</b> ${truth()}`;
    said.focus({ preventScroll: true });
  }

  box.addEventListener("click", (event) => {
    const chosen = event.target.closest("[data-answer]");
    if (!chosen) return;
    event.stopPropagation();  // the picture's own buttons are another matter
    answer(Number(chosen.dataset.answer));
  });
};
