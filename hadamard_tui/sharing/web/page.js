"use strict";
const NEAR = 0.01; // of the width of the axis: a curve that has ended so near still has its value there
const digits = value => value === null || value === undefined ? "–" : String(Number(value.toPrecision(4)));

for (const figure of document.querySelectorAll("figure")) {
  const data = JSON.parse(figure.querySelector("script").textContent);
  const svg = figure.querySelector("svg.chart"), output = figure.querySelector("output");
  const { left, right, low, high, log } = data.axis;
  const at = share => log ? low * (high / low) ** share : low + share * (high - low);
  const shareOf = x => log ? Math.log(x / low) / Math.log(high / low) : (x - low) / (high - low);
  const nearest = (places, share) => {
    let best = -1, least = Infinity;
    places.forEach((x, place) => {
      const far = Math.abs(shareOf(x) - share);
      if (far < least) { best = place; least = far; }
    });
    return best;
  };
  const pointed = event => {
    const matrix = svg.getScreenCTM();
    const x = (event.clientX - matrix.e) / matrix.a, y = (event.clientY - matrix.f) / matrix.d;
    return [(x - left) / (right - left), y];
  };

  if (data.cells) {
    const { x, y, z, top, bottom, yLow, yHigh, yLog } = data.cells;
    const column = share => nearest(x, share);
    const row = place => {
      const share = (bottom - place) / (bottom - top);
      const wanted = yLog ? yLow * (yHigh / yLow) ** share : yLow + share * (yHigh - yLow);
      const far = value => Math.abs(yLog ? Math.log(value / wanted) : value - wanted);
      return y.reduce((best, value, place) => far(value) < far(y[best]) ? place : best, 0);
    };
    svg.addEventListener("pointermove", event => {
      const [share, down] = pointed(event);
      if (share < 0 || share > 1 || down < top || down > bottom) return;
      const [across, up] = [column(share), row(down)];
      output.textContent = `${data.xName} = ${digits(x[across])}, ${data.yName} = ${digits(y[up])}: ${digits(z[up][across])}`;
    });
    continue;
  }

  const slider = figure.querySelector("input"), button = figure.querySelector("button");
  const cells = [...figure.querySelectorAll("td.value")];
  const [grown, ahead] = ["grown", "ahead"].map(name => svg.querySelector(`[id$="-${name}"] rect`));
  const playhead = svg.querySelector(".playhead"), width = svg.viewBox.baseVal.width;
  const places = [...new Set(data.curves.flatMap(curve => curve && curve.own ? curve.x : []))];
  figure.read = share => {
    const x = places.length ? places[nearest(places, share)] : at(share), here = shareOf(x);
    output.textContent = `${data.xName} = ${data.names[data.places.indexOf(x)] ?? digits(x)}`;
    playhead.setAttribute("transform", `translate(${left + share * (right - left)} 0)`);
    playhead.style.display = share >= 1 ? "none" : "";
    data.curves.forEach((curve, number) => {
      if (!curve) return;
      const place = nearest(curve.x, here), first = shareOf(curve.x[0]), last = shareOf(curve.x.at(-1));
      const isThere = place >= 0 && here >= first - NEAR && here <= last + NEAR;
      cells[number].textContent = isThere ? digits(curve.y[place]) : "–";
    });
  };
  figure.scrub = share => {
    slider.value = share * slider.max;
    const x = share >= 1 ? width : left + share * (right - left);
    grown.setAttribute("width", x);
    ahead.setAttribute("x", x);
    ahead.setAttribute("width", width - x);
    figure.read(share);
  };
  const stack = [...figure.parentElement.querySelectorAll("figure")]; // charts with the same x-axis
  const read = share => stack.forEach(chart => chart.read(share));
  const scrub = share => stack.forEach(chart => chart.scrub(share));
  const place = () => slider.value / slider.max;
  slider.addEventListener("input", () => scrub(place()));
  svg.addEventListener("pointermove", event => read(Math.min(Math.max(pointed(event)[0], 0), 1)));
  svg.addEventListener("pointerleave", () => read(place()));
  button.addEventListener("click", () => {
    const start = performance.now(), length = 4000;
    const step = now => {
      const share = Math.min((now - start) / length, 1);
      scrub(share);
      if (share < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
  figure.scrub(place());
}
