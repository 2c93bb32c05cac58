// ---- The left side: the workload's text, policies, and sliders. `changed()` asks for a run.

/** A slider with its name and its value in words; `act(stop)` gives the words. */
function knob(name, stop, words, act, title = "") {
  const told = el("output", {}, words);
  const slider = el("input", { type: "range", min: 0, max: STOPS, value: stop, "aria-label": name, "aria-valuetext": words });
  slider.addEventListener("input", () => {
    const said = act(Number(slider.value));
    told.textContent = said;
    slider.setAttribute("aria-valuetext", said);
  });
  return el("label", { class: "knob", title }, el("span", { class: "name" }, name), slider, told);
}

function findPolicy(name) {
  return studio.policies.find((policy) => policy.name === name);
}

/** Sliders of all parameters of a spec, as it is written. */
function paramKnobs(spec, change) {
  return partsOf(spec).flatMap(({ name, values }, i) => (findPolicy(name)?.params ?? []).map((param) => {
    const now = values.get(param.name) ?? param.default, label = i ? `${name} ${param.name}` : param.name;
    const set = (value) => change((former) => withParam(former, i, param.name, value));
    if (param.kind === "switch") {
      const box = el("input", { type: "checkbox", "aria-label": label });
      box.checked = ["on", "true", "yes", "1"].includes(now);
      box.addEventListener("change", () => set(box.checked ? "on" : "off"));
      return el("label", { class: "knob", title: param.help }, el("span", { class: "name" }, label), box);
    }
    const scale = sliderScale(quantity(param.kind, param.min), quantity(param.kind, param.max));
    const act = (stop) => {
      const text = quantityText(param.kind, scale.of(stop));
      set(text);
      return text;
    };
    return knob(label, scale.at(quantity(param.kind, now)), now, act, param.help);
  }));
}

/** One policy: its spec as text, and its sliders. */
function policyBox(i) {
  const field = el("input", { type: "text", list: "specs", value: asked.policies[i], "aria-label": `Policy ${i + 1}`, spellcheck: "false", autocomplete: "off" });
  const knobs = el("div", {}), more = el("details", {}, el("summary", {}, "Parameters"), knobs);
  const change = (edit) => {
    asked.policies[i] = field.value = edit(asked.policies[i]);
    changed();
  };
  const fill = () => {
    const made = paramKnobs(asked.policies[i], change);
    knobs.replaceChildren(...made);
    more.hidden = !made.length;
  };
  field.addEventListener("input", () => { asked.policies[i] = field.value.trim(); fill(); changed(); });
  const drop = button("\u00d7", () => { asked.policies.splice(i, 1); drawPolicyBoxes(); changed(); }, { "aria-label": `Leave out policy ${i + 1}` });
  drop.disabled = asked.policies.length < 2;
  fill();
  more.open = i === asked.policies.findIndex((spec) => partsOf(spec).some(({ name }) => findPolicy(name)?.params.length));
  return el("div", { class: "policy" }, el("div", { class: "bar" }, field, drop), more);
}

function drawPolicyBoxes() {
  studio.boxes.replaceChildren(...asked.policies.map((_, i) => policyBox(i)));
}

/** Sliders of the workload: those that the last answer said there are. They change the text, but for the load. */
function drawWorkloadKnobs({ knobs }) {
  if (studio.knobs.contains(document.activeElement) && studio.knobs.dataset.has === namesOf(knobs)) return;
  studio.knobs.dataset.has = namesOf(knobs);
  const edit = (key, text) => { studio.edits.set(key, text); changed(); return text; };
  const integer = (low, high) => ({ of: (stop) => Math.round(low + stop / STOPS * (high - low)), at: (value) => Math.round((value - low) / (high - low) * STOPS) });
  // Weights mean something beside each other: 64 times more and less than 1, or than nice 0 where the text has weights of that size.
  const unit = knobs.tasks.some(({ key, value }) => key.endsWith(".weight") && value > 64) ? 1024 : 1, power = linear(0, STOPS, -6, 6);
  const weight = { of: (stop) => unit * 2 ** power(stop), at: (value) => Math.round(Math.max(0, Math.min(STOPS, power.invert(Math.log2(value / unit))))) };
  const made = [], cpus = integer(1, Math.max(16, knobs.cpus));
  made.push(knob("CPUs", cpus.at(knobs.cpus), String(knobs.cpus), (stop) => edit("cpus", String(cpus.of(stop)))));
  if (knobs.load !== null) {
    const now = asked.load ?? knobs.load, scale = integer(1, 120);
    made.push(knob("load", scale.at(100 * now), digits(now), (stop) => { asked.load = scale.of(stop) / 100; changed(); return digits(asked.load); }, "CPU time that open arrivals need, as a part of all CPUs"));
  }
  const quantum = sliderScale(50, 1e6);
  made.push(knob("quantum", quantum.at(knobs.quantum_ns / 1e3), quantityText("time", knobs.quantum_ns / 1e3), (stop) => edit("quantum", quantityText("time", quantum.of(stop)))));
  for (const { key, name, value } of knobs.tasks) {
    const isNice = key.endsWith(".nice"), scale = isNice ? integer(-20, 19) : weight;
    made.push(knob(`${isNice ? "nice" : "weight"} of ${name}`, scale.at(value), String(value), (stop) => edit(key, isNice ? String(scale.of(stop)) : quantityText("ratio", scale.of(stop)))));
  }
  studio.knobs.replaceChildren(...made);
}

function namesOf(knobs) {
  return [knobs.load !== null, ...knobs.tasks.map(({ key }) => key)].join(" ");
}

function drawAsked() {
  const place = document.getElementById("asked");
  studio.text = el("textarea", { id: "text", spellcheck: "false", "aria-label": "Workload (TOML)", autocomplete: "off", autocapitalize: "off" });
  studio.text.value = asked.text;
  studio.text.addEventListener("input", () => { asked.text = studio.text.value; studio.edits.clear(); changed(); });
  studio.boxes = el("div", {});
  studio.knobs = el("div", { id: "knobs" });
  const seed = el("input", { type: "number", min: 0, step: 1, value: asked.seed, "aria-label": "Seed", id: "seed" });
  seed.addEventListener("input", () => {
    const given = Number(seed.value);
    if (Number.isSafeInteger(given) && given >= 0) { asked.seed = given; changed(); }
  });
  const add = button("Add", () => { asked.policies.push("rr"); drawPolicyBoxes(); changed(); }, { id: "add" });
  const link = button("Copy a link", () => copy(location.href, link), { id: "link" });
  const keep = button("Save", () => download(studio.scaled ?? studio.text.value, "workload.toml", "application/toml"), { "aria-label": "Save the workload as TOML" });
  place.replaceChildren(
    el("h2", {}, "Workload", el("span", { class: "bar" }, keep, link)), studio.text,
    el("h2", {}, "Policies", add), studio.boxes, el("datalist", { id: "specs" }, ...studio.policies.map(({ name, title, kind }) => el("option", { value: kind === "modifier" ? `rr+${name}` : name }, title))),
    el("h2", {}, "Sliders"), studio.knobs, el("label", { class: "knob" }, el("span", { class: "name" }, "seed"), seed));
  drawPolicyBoxes();
}
