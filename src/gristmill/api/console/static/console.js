// Everything that pages do beyond links and forms. Without it they can be read and used all the same.
"use strict";
(() => {
  const root = document.documentElement;
  const LIVE_MS = 5000;
  const CHORD_MS = 1200;
  const TOAST_MS = 6000;
  const GO_ON_MS = 300;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector, within = document) => within.querySelector(selector);

  const memory = {
    get(name) { try { return localStorage.getItem("gristmill." + name); } catch { return null; } },
    set(name, value) { try { localStorage.setItem("gristmill." + name, value); } catch { /* Private windows. */ } },
  };

  // Appearance: before the first paint, so that nothing flashes.
  const THEMES = ["auto", "light", "dark"];
  let theme = THEMES.includes(memory.get("theme")) ? memory.get("theme") : "auto";
  const paintTheme = () => { theme === "auto" ? delete root.dataset.theme : (root.dataset.theme = theme); };
  paintTheme();

  const labelTheme = () => {
    const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    const told = { auto: "as the system", light: "light", dark: "dark" };
    for (const button of all("[data-theme-switch]")) {
      one("[data-theme-label]", button).textContent = theme[0].toUpperCase() + theme.slice(1);
      button.setAttribute("aria-label", `${theme[0].toUpperCase() + theme.slice(1)} appearance. Switch to ${told[next]}`);
    }
  };

  let zone = memory.get("zone") === "local" ? "local" : "utc";
  const two = (number) => String(number).padStart(2, "0");
  const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

  const ago = (ms) => {
    const seconds = Math.floor(Math.abs(ms) / 1000);
    for (const [size, unit] of UNITS) {
      if (seconds >= size) {
        const text = `${Math.floor(seconds / size)} ${unit}`;
        return ms > 0 ? `${text} ago` : `in ${text}`;
      }
    }
    return "now";
  };

  const writeTime = (moment) => zone === "utc"
    ? `${moment.toISOString().slice(0, 10)} ${moment.toISOString().slice(11, 19)} UTC`
    : `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())} `
      + `${two(moment.getHours())}:${two(moment.getMinutes())}:${two(moment.getSeconds())}`;

  const writeTimes = (within = document) => {
    for (const element of all("time[datetime]", within)) {
      const moment = new Date(element.dateTime);
      const at = one(".at", element), since = one(".ago", element);
      if (isNaN(moment) || !at) continue;
      const text = writeTime(moment);
      if (at.textContent !== text) at.textContent = text;
      element.title = text;
      const distance = ago(Date.now() - moment);
      if (since && since.textContent !== distance) since.textContent = distance;
    }
  };

  const labelZone = () => {
    for (const button of all("[data-zone]")) {
      one("[data-zone-label]", button).textContent = zone === "utc" ? "UTC" : "Local";
      button.setAttribute("aria-label", zone === "utc" ? "UTC is the time zone. Switch to local time" : "Local time zone. Switch to UTC");
    }
  };

  const switchZone = () => {
    zone = zone === "utc" ? "local" : "utc";
    memory.set("zone", zone);
    labelZone();
    writeTimes();
    drawCharts();
  };

  const switchTheme = () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    memory.set("theme", theme);
    paintTheme();
    labelTheme();
    drawCharts();
  };

  let toastTimer = 0;
  const toast = (text) => {
    const place = one("#toast");
    place.replaceChildren(Object.assign(document.createElement("p"), { textContent: text }));
    clearTimeout(toastTimer);
    toastTimer = setTimeout(() => place.replaceChildren(), TOAST_MS);
  };

  // Live refresh: nothing moves under a selection, an open menu or a field, nor while nobody looks.
  let isLive = memory.get("live") !== "off";
  let lastAnswer = "";
  const isBusy = (region) => {
    const selection = getSelection();
    const isSelecting = selection && !selection.isCollapsed && region.contains(selection.anchorNode);
    const isTyping = document.activeElement && region.contains(document.activeElement)
      && document.activeElement.matches("input, select, textarea");
    return isSelecting || isTyping || one("details[open]", region) || one("dialog[open]");
  };

  const refresh = () => {
    const region = one("#live");
    if (!region || !isLive || document.hidden || !document.hasFocus() || !window.htmx || isBusy(region)) return;
    htmx.ajax("GET", location.pathname + location.search, { target: "#live", select: "#live", swap: "outerHTML" });
  };

  const labelLive = () => {
    for (const button of all("[data-live-switch]")) {
      button.setAttribute("aria-pressed", String(isLive));
      one("[data-live-label]", button).textContent = isLive ? "Live" : "Paused";
    }
  };

  const switchLive = () => {
    isLive = !isLive;
    memory.set("live", isLive ? "on" : "off");
    labelLive();
    refresh();
  };

  const watchSwaps = () => {
    let focused = "";
    document.body.addEventListener("htmx:beforeSwap", (event) => {
      if (event.detail.target.id !== "live" || event.detail.xhr.status >= 400) return;
      const region = new DOMParser().parseFromString(event.detail.serverResponse, "text/html").getElementById("live");
      const text = region ? region.innerHTML : "";
      const inside = document.activeElement;
      if (!region || text === lastAnswer || isBusy(event.detail.target)) event.detail.shouldSwap = false;
      else focused = event.detail.target.contains(inside) ? inside.id : "";
      lastAnswer = text;
    });
    document.body.addEventListener("htmx:afterSettle", () => {
      const again = focused && document.getElementById(focused);
      focused = "";
      if (again && again !== document.activeElement) again.focus({ preventScroll: true });
      dress(document);
    });
    for (const name of ["htmx:responseError", "htmx:sendError"]) {
      document.body.addEventListener(name, (event) => {
        const status = event.detail.xhr && event.detail.xhr.status;
        toast(status ? `The refresh failed (${status}). It is tried again.` : "Gristmill cannot be reached. It is tried again.");
      });
    }
  };

  const charts = new Map();
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  const drawChart = (box) => {
    const source = document.getElementById(box.dataset.chart);
    if (!source || !window.uPlot) return;
    const data = JSON.parse(source.dataset.series);
    const known = charts.get(box);
    if (known && known.look === theme + zone) { known.plot.setData(data); return; }
    if (known) known.plot.destroy();
    const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    const line = (label, name) => ({ label, stroke: colour(name), width: 1.5, points: { show: false } });
    const plot = new uPlot({
      width: box.clientWidth - 16,
      height: 190,
      ms: 1,
      tzDate: (ts) => zone === "utc" ? uPlot.tzDate(new Date(ts), "Etc/UTC") : new Date(ts),
      axes: [{ ...axis, size: 26, values: (_, ticks) => ticks.map(writeTick) }, { ...axis, size: 56, values: (_, ticks) => ticks.map((n) => n.toLocaleString("en")) }],
      scales: { y: { range: (_, low, high) => [0, Math.max((high || 0) * 1.1, 1)] } },
      series: [{}, { ...line(box.dataset.first, "--series-in"), fill: colour("--accent-soft") }, line(box.dataset.second, "--series-out")],
      cursor: { drag: { x: false, y: false } },
      legend: { show: false },
      hooks: { setCursor: [(self) => showPoint(box, self)] },
    }, data, box);
    charts.set(box, { plot, look: theme + zone });
  };

  const writeTick = (ms) => {
    const moment = new Date(ms);
    return zone === "utc" ? moment.toISOString().slice(11, 16) : `${two(moment.getHours())}:${two(moment.getMinutes())}`;
  };

  const showPoint = (box, plot) => {
    const place = document.getElementById(box.dataset.readout);
    const index = plot.cursor.idx;
    if (!place || index == null || plot.cursor.left < 0) { if (place) place.textContent = ""; return; }
    const [times, first, second] = plot.data;
    place.textContent = `${writeTick(times[index])}: ${first[index] ?? "–"} ${box.dataset.first}, ${second[index] ?? "–"} ${box.dataset.second}`;
  };

  const drawCharts = () => all("[data-chart]").forEach(drawChart);

  const rows = () => all("[data-row] a[href]").filter((link) => link === one("a[href]", link.closest("[data-row]")));
  const move = (step) => {
    const links = rows();
    if (!links.length) return;
    const now = links.findIndex((link) => link.closest("[data-row]").contains(document.activeElement));
    links[Math.max(0, Math.min(links.length - 1, now < 0 ? 0 : now + step))].focus();
  };

  const open = (id) => {
    const dialog = document.getElementById(id);
    if (!dialog || dialog.open) return;
    all("dialog[open]").forEach((other) => other.close());
    dialog.showModal();
    const field = one("input", dialog);
    if (field) field.select();
  };

  let chordAt = 0;
  const onKey = (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") { event.preventDefault(); open("palette"); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || one("dialog[open]")) return;
    if (event.target.matches("input, select, textarea, [contenteditable]")) return;
    if (Date.now() - chordAt < CHORD_MS) {
      chordAt = 0;
      const link = one(`.side a[data-key="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    const acts = {
      g: () => { chordAt = Date.now(); },
      j: () => move(1),
      k: () => move(-1),
      p: () => { if (one("[data-live-switch]")) switchLive(); },
      t: switchZone,
      "?": () => open("keys"),
      "/": () => { const field = one("main input[type=search]"); if (field) { field.focus(); field.select(); } },
    };
    if (Object.hasOwn(acts, event.key)) { event.preventDefault(); acts[event.key](); }
  };

  // The palette: pages fit what is typed, everything else is looked up by the server.
  const watchPalette = () => {
    const palette = one("#palette");
    if (!palette) return;
    const field = one("input", palette), entries = all("li", palette);
    field.addEventListener("input", () => {
      const wanted = field.value.trim().toLowerCase();
      entries.forEach((entry) => { entry.hidden = !entry.textContent.toLowerCase().includes(wanted); });
    });
    one("form", palette).addEventListener("submit", (event) => {
      const fit = entries.filter((entry) => !entry.hidden);
      if (field.value.trim() && !(fit.length && fit.length < entries.length)) return;
      event.preventDefault();
      if (field.value.trim()) one("a", fit[0]).click();
    });
    palette.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const stops = [field, ...entries.filter((entry) => !entry.hidden).map((entry) => one("a", entry))];
      stops[Math.max(0, Math.min(stops.length - 1, stops.indexOf(document.activeElement) + step))].focus();
    });
  };

  // A link from another site comes without the cookie (SameSite=Strict), though there may be a session.
  const confirmSession = () => {
    const card = one("[data-confirm-session]");
    if (!card || one("[role=alert]", card) || sessionStorage.getItem("gristmill.confirmed") === card.dataset.after) return;
    if (!document.referrer.startsWith(location.origin) && location.search) {
      fetch(card.dataset.confirmSession, { redirect: "manual" }).then((answer) => {
        if (!answer.ok) return;
        sessionStorage.setItem("gristmill.confirmed", card.dataset.after);
        location.replace(card.dataset.after);
      }).catch(() => {});
    }
  };

  // A link may bring the token behind `#`, which no server gets to see. A person presses the button: whoever sends such
  // a link must not log somebody in unasked.
  const takeToken = () => {
    const field = one("#token"), found = /^#token=(gm_[0-9a-f]+_[0-9a-f]+)$/.exec(location.hash);
    if (!field || !found) return;
    history.replaceState(null, "", location.pathname + location.search);
    field.value = found[1];
    one("[data-from-link]").hidden = false;
    one("button[type=submit]", field.form).focus();
  };

  // Work that is done in steps: each page asks for the next one, until a person leaves it.
  const goOn = () => {
    const form = one("form[data-go-on]");
    if (form) setTimeout(() => form.requestSubmit(), GO_ON_MS);
  };

  const dress = (within) => { writeTimes(within); drawCharts(); };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.open) open(button.dataset.open);
    else if ("zone" in button.dataset) switchZone();
    else if ("themeSwitch" in button.dataset) switchTheme();
    else if ("liveSwitch" in button.dataset) switchLive();
    else if (button.dataset.copy) navigator.clipboard?.writeText(button.dataset.copy).then(() => toast("Copied"));
  });
  document.addEventListener("keydown", onKey);
  document.addEventListener("DOMContentLoaded", () => {
    labelTheme();
    labelZone();
    labelLive();
    dress(document);
    watchSwaps();
    watchPalette();
    takeToken();
    confirmSession();
    goOn();
    setInterval(refresh, LIVE_MS);
    setInterval(() => { if (!document.hidden) writeTimes(); }, LIVE_MS);
    addEventListener("focus", refresh);
    addEventListener("resize", () => charts.forEach(({ plot }, box) => plot.setSize({ width: box.clientWidth - 16, height: 190 })));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { charts.forEach((known) => { known.look = ""; }); drawCharts(); });
  });
})();
