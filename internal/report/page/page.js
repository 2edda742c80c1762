"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);

  // Everything that ran, flat: what the time line draws and the filter finds.
  const items = [];
  for (const node of data.nodes) {
    items.push({ kind: "component", node, name: node.id, start: node.start, end: node.end, outcome: node.outcome, row: node });
    for (const step of node.steps) {
      items.push({ kind: "step", node, step, name: step.name, start: step.start, end: step.end, outcome: step.outcome, lane: step.lane, row: node });
      let before = "";
      for (const [start, took, lane, common, rest] of step.edges || []) {
        before = before.slice(0, common) + rest;
        items.push({ kind: "command", node, step, name: before, start, end: start + took, outcome: step.outcome, lane });
      }
    }
  }
  // Neighbours in a core's lane are of different components: two tones in turn.
  const tones = new Map(data.nodes.map((n, i) => [n, i % 2 ? .5 : 1]));
  const inLanes = items.filter((i) => i.lane >= 0).sort((a, b) => a.start - b.start);

  const duration = (ms) => {
    if (ms < 1) return ms > 0 ? "<1ms" : "0ms";
    if (ms < 999.5) return Math.round(ms) + "ms";
    if (ms < 9950) return (ms / 1000).toFixed(1) + "s";
    const s = Math.round(ms / 1000), two = (n) => String(n).padStart(2, "0");
    if (s < 60) return s + "s";
    return s < 3600 ? Math.floor(s / 60) + "m" + two(s % 60) + "s" : Math.floor(s / 3600) + "h" + two(Math.floor(s % 3600 / 60)) + "m";
  };
  const clock = (ms, fine) => {
    const s = ms / 1000, two = (n) => String(n).padStart(2, "0"), whole = Math.floor(s);
    const rest = fine ? "." + String(Math.floor((s - whole) * 1000 + 1e-6)).padStart(3, "0").slice(0, fine) : "";
    const hours = Math.floor(whole / 3600);
    return (hours ? hours + ":" + two(Math.floor(whole % 3600 / 60)) : Math.floor(whole / 60)) + ":" + two(whole % 60) + rest;
  };

  const canvas = $("canvas"), tip = $("tip"), pen = canvas.getContext("2d");
  const wall = Math.max(data.wall, 1);
  let from = 0, to = wall, chosen = null, hovered = null, band = null, hits = [];
  let layout = null;

  // measure gives every row its place for the present width.
  function measure() {
    const width = canvas.clientWidth || 600, narrow = width < 640;
    const left = narrow ? 0 : Math.min(250, 40 + Math.max(70, ...data.nodes.map((n) => n.id.length * 7.6)));
    const lanes = Math.max(1, data.lanes), laneHeight = lanes <= 8 ? 20 : lanes <= 32 ? 11 : lanes <= 128 ? 5 : 2;
    const label = narrow ? 16 : 0;
    let y = 26;
    const load = { y: y + label, height: 34, label: y };
    y += label + 34 + 10;
    const cores = { y: y + label, label: y };
    y += label + lanes * laneHeight + 14;
    const rows = new Map();
    for (const n of data.nodes) { rows.set(n, y + label); y += label + 24; }
    layout = { width, narrow, left, lanes, laneHeight, load, cores, rows, height: y + 4 };
    // A canvas that is higher than a browser allows stays blank: 32,767 is what
    // all have. A very long one is drawn coarser instead.
    const ratio = Math.min(window.devicePixelRatio || 1, 32767 / layout.height);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.floor(layout.height * ratio);
    canvas.style.height = layout.height + "px";
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  const at = (ms) => layout.left + (ms - from) / (to - from) * (layout.width - layout.left);
  const when = (x) => from + (x - layout.left) / (layout.width - layout.left) * (to - from);

  function draw() {
    if (!layout) measure();
    const style = getComputedStyle(document.documentElement), color = (n) => style.getPropertyValue("--" + n).trim();
    const { width, height, left, narrow, lanes, laneHeight, load, cores, rows } = layout;
    const sans = getComputedStyle(document.body).fontFamily;
    const ink = color("ink"), soft = color("soft"), line = color("line"), paper = color("paper");
    pen.fillStyle = paper;
    pen.fillRect(0, 0, width, height);
    hits = [];

    // The axis: about one mark every 90 pixels, at round times.
    const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 144e5, 288e5, 864e5];
    const want = (to - from) / Math.max(2, (width - left) / 90), step = steps.find((s) => s >= want) || want;
    const fine = step < 10 ? 3 : step < 100 ? 2 : step < 1000 ? 1 : 0;
    pen.font = "12px " + sans;
    pen.textBaseline = "middle";
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
      const x = Math.round(at(t)) + .5;
      pen.fillStyle = line;
      pen.fillRect(x - .5, 20, 1, height - 20);
      pen.fillStyle = soft;
      const text = clock(t, fine), w = pen.measureText(text).width;
      pen.fillText(text, Math.min(Math.max(x - w / 2, left), width - w), 11);
    }
    const label = (text, y, h, strong) => {
      pen.fillStyle = strong ? ink : soft;
      pen.font = (strong ? "600 " : "") + (narrow ? "12px " : "13px ") + sans;
      if (narrow) {
        const w = pen.measureText(text).width;
        pen.fillStyle = paper;
        pen.fillRect(0, y - 15, w + 6, 14);
        pen.fillStyle = strong ? ink : soft;
        pen.fillText(text, 0, y - 8);
      } else pen.fillText(fit(text, left - 14), 0, y + h / 2);
    };
    const fit = (text, room) => {
      if (pen.measureText(text).width <= room) return text;
      let n = text.length;
      while (n > 1 && pen.measureText(text.slice(0, n) + "…").width > room) n--;
      return n > 1 ? text.slice(0, n) + "…" : "";
    };

    pen.save();
    pen.beginPath();
    pen.rect(left, 0, width - left, height);
    pen.clip();

    // How much ran at once.
    const most = Math.max(data.cores, 1, ...data.load.map((p) => p[1]));
    const level = (n) => load.y + load.height * (1 - n / most);
    pen.beginPath();
    pen.moveTo(at(0), level(0));
    let now = 0;
    for (const [t, n] of data.load) { pen.lineTo(at(t), level(now)); pen.lineTo(at(t), level(n)); now = n; }
    pen.lineTo(at(wall), level(now));
    pen.lineTo(at(wall), level(0));
    pen.globalAlpha = .3;
    pen.fillStyle = soft;
    pen.fill();
    pen.globalAlpha = 1;
    if (data.cores) {
      pen.strokeStyle = soft;
      pen.setLineDash([3, 3]);
      pen.beginPath();
      pen.moveTo(left, Math.round(level(data.cores)) + .5);
      pen.lineTo(width, Math.round(level(data.cores)) + .5);
      pen.stroke();
      pen.setLineDash([]);
    }

    const bar = (item, y, h, alpha) => {
      const x0 = at(item.start), x1 = at(item.end);
      if (x1 < left || x0 > width) return;
      const w = Math.max(x1 - x0, 1);
      pen.globalAlpha = alpha;
      pen.fillStyle = color(item.outcome);
      pen.fillRect(x0, y, w > 3 ? w - .75 : w, h);
      pen.globalAlpha = 1;
      hits.push({ item, x: x0, y, w, h });
      return { x: Math.max(x0, left), w: Math.min(x1, width) - Math.max(x0, left) };
    };
    // On a full tone stands the paper's colour, on a half tone the ink's.
    const inside = (text, box, y, h, alpha) => {
      if (!box || box.w < 34 || h < 12) return;
      pen.font = "11.5px " + sans;
      const s = fit(text, box.w - 10);
      if (!s) return;
      pen.fillStyle = alpha < 1 ? ink : paper;
      pen.fillText(s, box.x + 5, y + h / 2 + .5);
    };

    // The cores. What is narrower than a pixel is drawn once a pixel.
    const lastX = new Array(lanes).fill(-9);
    for (const item of inLanes) {
      if (item.end < from || item.start > to || item.lane >= lanes) continue;
      const y = cores.y + item.lane * laneHeight, x1 = at(item.end);
      if (x1 - lastX[item.lane] < .5) continue;
      lastX[item.lane] = x1;
      const h = laneHeight - (laneHeight > 4 ? 2 : laneHeight > 2 ? 1 : 0);
      const tone = tones.get(item.node), box = bar(item, y, h, tone);
      inside(item.kind === "command" ? item.name.slice(item.name.lastIndexOf("/") + 1) : item.node.id.split("@")[0] + " " + item.name, box, y, h, tone);
    }

    // The components, and their steps inside.
    for (const item of items) {
      if (item.kind === "command") continue;
      const y = rows.get(item.node);
      if (item.kind === "component") bar(item, y + 3, 16, .28);
      else inside(item.name, bar(item, y + 3, 16, 1), y + 3, 16, 1);
    }
    if (chosen) {
      for (const h of hits.filter((h) => h.item === chosen)) {
        pen.strokeStyle = ink;
        pen.lineWidth = 2;
        pen.strokeRect(h.x - 1, h.y - 1, h.w + 2, h.h + 2);
        pen.lineWidth = 1;
      }
    }
    if (band) {
      pen.globalAlpha = .18;
      pen.fillStyle = color("accent");
      pen.fillRect(Math.min(band.a, band.b), 0, Math.abs(band.b - band.a), height);
      pen.globalAlpha = 1;
    }
    pen.restore();

    label("Running at once" + (narrow ? ", most " + most : ""), load.y, load.height);
    if (!narrow) {
      pen.font = "12px " + sans;
      const text = String(most), w = pen.measureText(text).width;
      pen.fillStyle = soft;
      pen.fillText(text, left - 8 - w, load.y + 5);
    }
    if (laneHeight >= 20) for (let i = 0; i < lanes && !(narrow && i); i++) label(narrow ? "Cores" : "Core " + (i + 1), cores.y + i * laneHeight, laneHeight - 2);
    else label("Cores 1–" + lanes, cores.y, narrow ? 12 : Math.min(lanes * laneHeight, 20));
    for (const n of data.nodes) label((n.critical ? "◆ " : "") + n.id, rows.get(n), 22, n.critical);

    $("range").textContent = clock(from, to - from < 2e4 ? 1 : 0) + " – " + clock(to, to - from < 2e4 ? 1 : 0) + (to - from < wall ? " of " + clock(wall) : "");
  }

  let queued = false;
  const redraw = () => {
    if (queued) return;
    queued = true;
    requestAnimationFrame(() => { queued = false; draw(); });
  };
  function show(a, b) {
    const span = Math.min(wall, Math.max(b - a, 5));
    from = Math.min(Math.max(0, a), wall - span);
    to = from + span;
    redraw();
  }
  const zoom = (factor, around) => show(around - (around - from) * factor, around + (to - around) * factor);
  const move = (part) => { const d = (to - from) * part; show(from + d, to + d); };
  const centre = () => chosen && chosen.start < to && chosen.end > from ? (Math.max(chosen.start, from) + Math.min(chosen.end, to)) / 2 : (from + to) / 2;
  const acts = { in: () => zoom(.5, centre()), out: () => zoom(2, centre()), left: () => move(-.4), right: () => move(.4), all: () => show(0, wall) };
  for (const b of document.querySelectorAll("[data-do]")) b.addEventListener("click", () => acts[b.dataset.do]());

  // words tells an item in full: the same in the tip and below the time line.
  const words = (i) => {
    const place = i.kind === "component" ? i.node.id : i.node.id + " · " + i.step.name;
    const rest = duration(i.end - i.start) + ", from " + clock(i.start, 1) + " to " + clock(i.end, 1);
    return { head: i.kind === "command" ? i.name : place, rest: (i.kind === "command" ? place + " · " : i.outcome + " · ") + rest + (i.lane >= 0 ? ", core " + (i.lane + 1) : "") };
  };
  function choose(item, follow) {
    chosen = item;
    const out = $("detail");
    out.textContent = "";
    if (item) {
      const w = words(item), b = document.createElement("b");
      b.textContent = w.head;
      out.append(b, " — " + w.rest);
      if (follow && (item.end < from || item.start > to)) show(item.start - (to - from) / 2, item.start + (to - from) / 2);
    }
    redraw();
  }
  const find = (x, y) => {
    for (let i = hits.length - 1; i >= 0; i--) {
      const h = hits[i];
      if (x >= h.x - 1 && x <= h.x + h.w + 1 && y >= h.y && y <= h.y + h.h) return h.item;
    }
    return null;
  };
  const point = (e) => { const r = canvas.getBoundingClientRect(); return { x: e.clientX - r.left, y: e.clientY - r.top }; };

  canvas.addEventListener("pointerdown", (e) => {
    if (e.button) return;
    const p = point(e);
    band = { a: p.x, b: p.x, from, to, touch: e.pointerType === "touch" };
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointermove", (e) => {
    const p = point(e);
    if (band) {
      tip.hidden = true;
      if (band.touch) {
        const d = (p.x - band.a) / (layout.width - layout.left) * (band.to - band.from);
        band.b = p.x;
        show(band.from - d, band.to - d);
      } else { band.b = p.x; redraw(); }
      return;
    }
    hovered = find(p.x, p.y);
    tip.hidden = !hovered;
    if (!hovered) return;
    const w = words(hovered);
    tip.textContent = w.head + " — " + w.rest;
    tip.style.left = Math.max(0, Math.min(p.x + 12, layout.width - tip.offsetWidth)) + "px";
    tip.style.top = (p.y + 18) + "px";
  });
  canvas.addEventListener("pointerup", (e) => {
    if (!band) return;
    const p = point(e), b = band;
    band = null;
    if (Math.abs(b.b - b.a) < 4) choose(find(p.x, p.y));
    else if (!b.touch) show(when(Math.max(layout.left, Math.min(b.a, b.b))), when(Math.max(b.a, b.b)));
    redraw();
  });
  canvas.addEventListener("pointercancel", () => { band = null; redraw(); });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("dblclick", acts.all);
  canvas.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && !e.metaKey && !e.shiftKey) return; // the page scrolls
    e.preventDefault();
    if (e.shiftKey) move((e.deltaX || e.deltaY) / 800);
    else zoom(Math.exp(e.deltaY / 400), when(point(e).x));
  }, { passive: false });

  // Left and right go through what ran in the row, up and down through rows.
  const chain = (i) => i.kind === "component" ? items.filter((o) => o.kind === "component")
    : i.kind === "step" ? i.node.steps.map((s) => items.find((o) => o.step === s && o.kind === "step")) : inLanes.filter((o) => o.lane === i.lane);
  const firstInside = (i) => i.kind === "component" ? items.find((o) => o.node === i.node && o.kind === "step") : items.find((o) => o.step === i.step && o.kind === "command");
  const parent = (i) => i.kind === "command" ? items.find((o) => o.step === i.step && o.kind === "step") : items.find((o) => o.node === i.node && o.kind === "component");
  canvas.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const near = (d) => {
      if (!chosen) return choose(items[0] || null, true);
      const list = chain(chosen);
      choose(list[Math.min(list.length - 1, Math.max(0, list.indexOf(chosen) + d))] || chosen, true);
    };
    const keys = {
      "ArrowRight": () => near(1), "ArrowLeft": () => near(-1),
      "ArrowDown": () => choose(chosen ? firstInside(chosen) || chosen : items[0] || null, true), "ArrowUp": () => choose(chosen ? parent(chosen) || chosen : items[0] || null, true),
      "+": acts.in, "=": acts.in, "-": acts.out, "0": acts.all, "Home": acts.all, "[": acts.left, "]": acts.right,
      "Enter": () => { if (chosen) { const pad = Math.max(chosen.end - chosen.start, 5) * .05; show(chosen.start - pad, chosen.end + pad); } },
      "Escape": () => choose(null),
    };
    if (!keys[e.key]) return;
    e.preventDefault();
    keys[e.key]();
  });

  // The filter over all commands, not only over those listed at first.
  const filter = $("filter"), rows = $("rows");
  if (filter) {
    const commands = items.filter((i) => i.kind === "command").sort((a, b) => (b.end - b.start) - (a.end - a.start));
    const texts = commands.map((i) => (i.name + " " + i.node.id + " " + i.step.name).toLowerCase());
    const list = () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = commands.filter((_, i) => words.every((w) => texts[i].includes(w)));
      const took = found.reduce((sum, i) => sum + i.end - i.start, 0);
      rows.textContent = "";
      for (const i of found.slice(0, 30)) {
        const tr = document.createElement("tr");
        for (const [text, cls] of [[duration(i.end - i.start), "num"], [duration(i.start), "num"], [i.name, "path-of"], [i.node.id, "nowrap"]]) {
          const td = document.createElement("td");
          td.className = cls;
          if (tr.children.length === 1) td.dataset.of = "at";
          td.textContent = text;
          tr.append(td);
        }
        rows.append(tr);
      }
      $("shown").textContent = Math.min(30, found.length) + " of " + found.length + (words.length ? " that match" : "") + ", " + duration(took) + " together";
    };
    filter.addEventListener("input", list);
    list();
  }

  new ResizeObserver(() => { if (!layout || canvas.clientWidth !== layout.width) { measure(); draw(); } }).observe(canvas.parentElement);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  const printing = (on) => { document.documentElement.classList.toggle("printing", on); tip.hidden = true; measure(); draw(); };
  addEventListener("beforeprint", () => printing(true));
  addEventListener("afterprint", () => printing(false));
  measure();
  draw();
})();
