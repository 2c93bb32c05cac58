// ---- Data: what divvy wrote, unpacked. Nothing here computes a result.

/** Bytes of base64. */
function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Unpacks the packed data. */
function inflated(base64) {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream);
}

/** The page's data: reports as divvy writes them in JSON. */
async function readPage() {
  return JSON.parse(await inflated(document.getElementById("data").textContent).text());
}

/** Integers of a column: seven bits a byte, least first. They are below 2^53. A page may have more than a million. */
async function column(base64) {
  const bytes = new Uint8Array(await inflated(base64).arrayBuffer());
  const numbers = new Float64Array(bytes.length);
  let found = 0, number = 0, weight = 1;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte < 0x80) {
      numbers[found++] = number + byte * weight;
      number = 0;
      weight = 1;
    } else {
      number += (byte & 0x7f) * weight;
      weight *= 128;
    }
  }
  return numbers.subarray(0, found);
}

/** The n-th of a column that may be shorter than others: 0 behind its end. */
function padded(Kind, values, length) {
  const found = new Kind(length);
  found.set(values.subarray(0, length));
  return found;
}

/** One CPU's slices: beginnings and ends in ns, tasks by number, and marks: codes of wake-ups, delays in ns, ends of jobs. */
async function readLane(cpu, number, timeline) {
  const none = new Float64Array(0), { wakes, delays, ends } = cpu.marks ?? {};
  const texts = [cpu.gaps, cpu.lengths, cpu.tasks, wakes, delays, ends];
  const [gaps, lengths, tasks, woken, waited, ended] = await Promise.all(texts.map((text) => (text === undefined ? none : column(text))));
  const from = new Float64Array(gaps.length), to = new Float64Array(gaps.length);
  let at = 0;
  for (let i = 0; i < gaps.length; i++) {
    from[i] = timeline.from_ns + (at += gaps[i]) * timeline.unit_ns;
    to[i] = timeline.from_ns + (at += lengths[i]) * timeline.unit_ns;
  }
  const wake = padded(Uint32Array, woken, from.length), delay = new Float64Array(from.length);
  for (let i = 0, next = 0; i < wake.length; i++) if (wake[i]) delay[i] = waited[next++] * timeline.unit_ns;
  return { from, to, task: Uint32Array.from(tasks), cpu: number, wake, delay, ends: padded(Uint8Array, ended, from.length) };
}

/** All CPUs of a run; unpacked once. */
function lanesOf(run) {
  run.lanes ??= Promise.all(run.figures.timeline.cpus.map((cpu, number) => readLane(cpu, number, run.figures.timeline)));
  return run.lanes;
}
