"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const LANE = 12;
  const whole = new Intl.NumberFormat("en-US");

  function make(tag, attributes, text) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function short(value) {
    if (value >= 1e6) return `${+(value / 1e6).toFixed(2)}M`;
    return value >= 1000 ? `${+(value / 1000).toFixed(1)}k` : String(value);
  }

  /** Index of the last sampled request at or before this one. */
  function sample(at, request) {
    let low = 0;
    let high = at.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (at[middle] <= request) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  function ticks(top) {
    const power = 10 ** Math.floor(Math.log10(top / 4));
    const step = power * [1, 2, 5, 10].find((factor) => (top / power) / factor <= 5);
    const found = [];
    for (let value = 0; value <= top; value += step) found.push(value);
    return found;
  }

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.plot = figure.querySelector(".plot");
      this.range = figure.querySelector("input");
      this.output = figure.querySelector("output");
      this.data = JSON.parse(document.getElementById(figure.dataset.chart).textContent);
      this.shown = this.data.policies.map(() => true);
      this.last = Math.max(0, ...this.data.policies.map((policy) => policy.at.at(-1) ?? 0));
      this.range.max = this.last;
      this.range.value = this.last;
      this.range.addEventListener("input", () => this.point());
      this.legend(figure.querySelector(".legend"));
      figure.classList.add("drawn");
      new ResizeObserver(() => {
        if (Math.floor(this.plot.clientWidth) !== this.width) requestAnimationFrame(() => this.draw());
      }).observe(this.plot);
    }

    legend(place) {
      this.values = this.data.policies.map((policy, index) => {
        const button = document.createElement("button");
        button.type = "button";
        button.setAttribute("aria-pressed", "true");
        const line = make("svg", { width: 28, height: 12, "aria-hidden": "true" });
        line.append(make("path", { class: `series p${index}`, d: "M0 6H28" }));
        const value = document.createElement("b");
        button.append(line, policy.label, value);
        button.addEventListener("click", () => {
          this.shown[index] = !this.shown[index];
          button.setAttribute("aria-pressed", String(this.shown[index]));
          this.draw();
        });
        place.append(button);
        return value;
      });
    }

    draw() {
      const width = Math.floor(this.plot.clientWidth);
      if (!width) return;
      this.width = width;
      const { data, shown } = this;
      const drawn = data.policies.map((policy, index) => ({ ...policy, index })).filter((_, index) => shown[index]);
      const lanes = drawn.filter((policy) => policy.pruned.length || policy.compacted.length);
      const peak = Math.max(1, ...drawn.flatMap((policy) => policy.tokens));
      const near = data.window <= 2 * peak;
      const top = (near ? Math.max(peak, data.window) : peak) * 1.06;
      const height = Math.max(200, Math.min(340, Math.round(width * 0.42)));
      const [left, right, above] = [48, 8, 24];
      const bottom = above + height;
      const total = bottom + 8 + lanes.length * LANE + 20;
      const x = (request) => left + (this.last ? request / this.last : 0.5) * (width - left - right);
      const y = (tokens) => bottom - (tokens / top) * height;
      const gem = (cx, cy) => `M${cx} ${cy - 4.5}l4.5 4.5l-4.5 4.5l-4.5 -4.5Z`;
      const svg = make("svg", { width, height: total, viewBox: `0 0 ${width} ${total}`, role: "img" });
      svg.setAttribute("aria-label", `Tokens of ${whole.format(this.last + 1)} requests; the figures stand in the table below`);

      if (data.fits < top) svg.append(make("rect", { class: "shade", x: left, y: above, width: width - left - right, height: Math.max(0, y(data.fits) - above) }));
      for (const value of ticks(top)) {
        svg.append(make("path", { class: "grid", d: `M${left} ${y(value)}H${width - right}` }));
        svg.append(make("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, short(value)));
      }
      for (const request of data.recorded) {
        svg.append(make("path", { class: "recorded", d: `M${x(request)} ${above - 4}V${bottom}` }));
        svg.append(make("path", { class: "own", d: gem(x(request), above - 8) }));
      }
      if (near) {
        svg.append(make("path", { class: "window", d: `M${left} ${y(data.window)}H${width - right}` }));
        svg.append(make("text", { class: "window", x: left + 6, y: y(data.window) - 5 }, `window ${short(data.window)}`));
      } else {
        svg.append(make("text", { x: left + 6, y: above - 8 }, `window ${short(data.window)}, far above`));
      }
      if (data.trigger < top) {
        svg.append(make("path", { class: "trigger", d: `M${left} ${y(data.trigger)}H${width - right}` }));
        svg.append(make("text", { class: "trigger", x: left + 6, y: y(data.trigger) + 15 }, `trigger ${short(data.trigger)}`));
      }
      for (const policy of [...drawn].sort((a, b) => (a.index === 1) - (b.index === 1))) {
        const path = policy.at.map((request, i) => `${i ? "L" : "M"}${x(request).toFixed(1)} ${y(policy.tokens[i]).toFixed(1)}`).join("");
        svg.append(make("path", { class: `series p${policy.index}`, d: policy.at.length === 1 ? `${path}h0.1` : path }));
        const gems = policy.compacted.map(([request, before]) => gem(x(request), y(Math.min(before, top)))).join("");
        svg.append(make("path", { class: `gems p${policy.index}`, d: gems }));
      }
      lanes.forEach((policy, row) => {
        const middle = bottom + 8 + row * LANE + LANE / 2;
        const marks = policy.pruned.map((request) => `M${x(request).toFixed(1)} ${middle - 4}v8`).join("");
        svg.append(make("path", { class: `marks p${policy.index}`, d: marks }));
        svg.append(make("path", { class: `gems p${policy.index}`, d: policy.compacted.map(([request]) => gem(x(request), middle)).join("") }));
      });
      svg.append(make("text", { x: left, y: total - 4 }, "request 1"));
      if (this.last) svg.append(make("text", { x: width - right, y: total - 4, "text-anchor": "end" }, whole.format(this.last + 1)));
      this.cursor = make("g", {});
      svg.append(this.cursor);
      svg.addEventListener("pointermove", (event) => {
        const share = (event.clientX - svg.getBoundingClientRect().left - left) / (width - left - right);
        this.range.value = Math.round(Math.max(0, Math.min(1, share)) * this.last);
        this.point();
      });
      this.scale = { x, y, top, above, bottom: total - 20 };
      this.plot.replaceChildren(svg);
      this.point();
    }

    point() {
      if (!this.scale) return;
      const request = Number(this.range.value);
      const { x, y, above, bottom } = this.scale;
      this.cursor.replaceChildren(make("path", { class: "cursor", d: `M${x(request)} ${above}V${bottom}` }));
      const events = this.data.recorded.includes(request) ? ["the recording agent compacted here"] : [];
      this.data.policies.forEach((policy, index) => {
        if (!policy.at.length) return;
        const tokens = policy.tokens[sample(policy.at, request)];
        this.values[index].textContent = short(tokens);
        if (!this.shown[index]) return;
        this.cursor.append(make("circle", { class: `dot p${index}`, r: 4, cx: x(request), cy: y(tokens) }));
        const compacted = policy.compacted.find(([at]) => at === request);
        if (compacted) events.push(`${policy.label}: compacted ${short(compacted[1])} → ${short(tokens)}`);
        else if (policy.pruned.includes(request)) events.push(`${policy.label}: pruned`);
      });
      const place = `request ${whole.format(request + 1)} of ${whole.format(this.last + 1)}`;
      const text = [place, ...events].join(" · ");
      this.output.textContent = text;
      this.range.setAttribute("aria-valuetext", text);
    }
  }

  const sessions = [...document.querySelectorAll("details.session")];
  const mounted = new WeakSet();
  function mount(session) {
    if (!session.open || mounted.has(session)) return;
    mounted.add(session);
    new Chart(session.querySelector(".chart"));
  }
  const links = [...document.querySelectorAll('a[href^="#session-"]')];
  const { unfold, first } = document.getElementById("all").dataset;
  const picks = links.length > 0 && unfold === undefined;

  /** Of many sessions only the chosen one is shown; the list above is the way to the others. */
  function choose(session, moves) {
    for (const item of picks ? sessions : []) item.hidden = item !== session;
    for (const link of links) link.ariaCurrent = link.hash === `#${session.id}` ? "true" : null;
    session.open = true;
    if (!moves) return;
    session.scrollIntoView();
    session.querySelector("summary").focus({ preventScroll: true });
  }
  function reveal() {
    const session = sessions.find((item) => `#${item.id}` === location.hash);
    if (session) choose(session, true);
  }
  for (const session of sessions) {
    session.addEventListener("toggle", () => mount(session));
    if (!picks) session.open = true;
    mount(session);
  }
  if (picks) choose(document.getElementById(first), false);
  addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#session-"]');
    if (link && link.hash === location.hash) reveal();
  });
  reveal();

  const filter = document.getElementById("filter");
  if (filter && sessions.length > 12) {
    filter.closest(".filter").hidden = false;
    const rows = [...document.querySelectorAll(".list tbody tr")];
    filter.addEventListener("input", () => {
      const wanted = filter.value.toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
  }
})();
