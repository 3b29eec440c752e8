// The weights of trained models, each in a file that calls gtcourse.deliver(name, model) and that is
// asked for once, whoever in the page needs it: gtcourse.weights(name, src) promises the model.
gtcourse.weights = gtcourse.weights ?? (function () {
  "use strict";

  const promised = {};
  const waiting = {};
  gtcourse.deliver = (name, model) => waiting[name](model);

  const loaded = {};

  /** Runs a script of the page's own site, once. */
  gtcourse.load = (src) => {
    loaded[src] ??= new Promise((resolve, reject) => {
      const failed = () => {
        delete loaded[src];  // so that a reader can try again
        reject(new Error(`${src} cannot be read`));
      };
      const script = document.createElement("script");
      Object.assign(script, { src, onload: resolve, onerror: failed });
      document.head.append(script);
    });
    return loaded[src];
  };

  return function (name, src) {
    promised[name] ??= new Promise((resolve, reject) => {
      waiting[name] = resolve;
      gtcourse.load(src).catch((error) => {
        delete promised[name];  // so that a reader can try again
        reject(error);
      });
    });
    return promised[name];
  };
})();
