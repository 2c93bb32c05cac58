// ---- Looks: theme, paper, and room. `draw` draws the page anew.

const THEMES = ["auto", "light", "dark"];

function makeTheme(draw) {
  const toggle = document.getElementById("theme");
  let theme = "auto";
  toggle.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    toggle.textContent = `Theme: ${theme}`;
    draw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

/** Paper is light, and a canvas does not know that it is printed: `drawNow` is for what does not. */
function makePrint(draw, drawNow) {
  let former;
  addEventListener("beforeprint", () => { former = document.documentElement.dataset.theme; document.documentElement.dataset.theme = "light"; drawNow(); });
  addEventListener("afterprint", () => {
    if (former) document.documentElement.dataset.theme = former; else delete document.documentElement.dataset.theme;
    draw();
  });
}

/** Draws anew when there is more or less room. */
function watchWidth(draw) {
  let width = document.body.clientWidth, timer;
  addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (document.body.clientWidth === width) return;
      width = document.body.clientWidth;
      draw();
    }, 80);
  });
}

/** A section of the page with its heading; what is drawn goes into the box that it gives. The navigation leads to it by `short`. */
function section(id, title, about, short = title, place = document.getElementById("main")) {
  const figure = el("figure", {}), body = el("div", {});
  const caption = el("figcaption", {}, el("h2", {}, title), el("p", { class: "about" }, about));
  place.append(el("section", { id, tabindex: -1 }, figure));
  figure.append(caption, body);
  document.getElementById("nav").append(el("a", { href: `#${id}` }, short));
  return body;
}

/** Marks the section that is read in the navigation. */
function watchSections() {
  const links = new Map([...document.querySelectorAll("#nav a")].map((link) => [link.hash.slice(1), link]));
  const seen = new Set();
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) if (isIntersecting) seen.add(target.id); else seen.delete(target.id);
    const first = [...links.keys()].find((id) => seen.has(id));
    links.forEach((link, id) => set(link, { "aria-current": id === first ? "true" : "false" }, []));
  }, { rootMargin: "-80px 0px -40% 0px" });
  links.forEach((_, id) => watcher.observe(document.getElementById(id)));
}

function commandLine(command) {
  const copier = button("Copy", () => copy(command, copier), { "aria-label": "Copy the command" });
  return el("div", { class: "command" }, el("code", {}, ...command.split(/( )/).map((word) => (word === " " ? word : el("span", {}, word)))), copier);
}

/** Shows a message if the page cannot be shown. */
function orSay(promise) {
  promise.catch((error) => {
    document.getElementById("main").append(el("p", { class: "note", role: "alert" }, `This page cannot be shown: ${error}. It needs a browser of 2023 or later.`));
    throw error;
  });
}
