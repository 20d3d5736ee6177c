// Draws the figures: by night in the night colours, on paper always by day.
(() => {
  "use strict";
  const read = (id) => document.getElementById(id).textContent;
  const byDay = read("figure-data");
  const nightColours = JSON.parse(read("night"));
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // A finger on a figure scrolls the page; a mouse drags a zoom.
  const touch = matchMedia("(pointer: coarse)").matches;
  const config = { responsive: true, displayModeBar: false, doubleClick: "reset" };

  function draw(night) {
    const text = night
      ? byDay.replace(/#[0-9a-f]{6}\b/g, (colour) => nightColours[colour] ?? colour)
      : byDay;
    for (const [name, figure] of Object.entries(JSON.parse(text))) {
      const place = document.getElementById(name);
      figure.layout.width = place.clientWidth;
      if (touch) figure.layout.dragmode = false;
      Plotly.react(place, figure.data, figure.layout, config);
      // Drawn once at the right width; from here on the window decides.
      delete place.layout.width;
    }
  }

  draw(dark.matches);
  dark.addEventListener("change", () => draw(dark.matches));

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const details of closed) details.open = true;
    document.body.classList.add("printing");
    draw(false);
  });
  addEventListener("afterprint", () => {
    for (const details of closed) details.open = false;
    document.body.classList.remove("printing");
    draw(dark.matches);
  });
})();
