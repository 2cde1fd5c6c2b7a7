// Everything works without this file.
'use strict';
const root = document.documentElement, $ = (q, e = document) => e.querySelector(q), byId = id => document.getElementById(id);
const isDark = () => (root.dataset.theme || matchMedia('(prefers-color-scheme: dark)').matches && 'dark') === 'dark';

addEventListener('click', e => {
  const b = e.target.closest('button'), d = b?.dataset; if (!b) return;
  if ('themeButton' in d) {
    e.preventDefault();
    const theme = root.dataset.theme = isDark() ? 'light' : 'dark';
    document.cookie = `theme=${theme}; path=/; max-age=31536000; samesite=lax`;
  }
  if ('copy' in d) { navigator.clipboard?.writeText(d.copy || $('pre', b.closest('section')).textContent); b.textContent = 'Copied'; }
  if ('pause' in d) {
    held = !held; b.textContent = held ? 'Resume' : 'Pause';
    dot(held ? 'Paused' : 'Live', held); flush();
  }
  if ('more' in d) { scrollTo(0, 0); flush(true); }
});

// Fetched on change; focus stays.
addEventListener('change', async e => {
  const form = e.target.closest('form[data-auto]'); if (!form) return;
  if (source) return form.submit();
  const main = $('main'), slow = setTimeout(() => main.ariaBusy = true, 1e3), url = new URL(form.action);
  url.search = new URLSearchParams([...new FormData(form)].filter(p => p[1]));
  const text = await fetch(url).then(r => r.ok && r.text()).catch(() => '');
  const page = new DOMParser().parseFromString(text, 'text/html'), next = $('main', page);
  if (!next) return form.submit();
  const id = document.activeElement.id;
  main.replaceChildren(...next.childNodes);
  main.ariaBusy = clearTimeout(slow);
  document.title = page.title; history.replaceState(null, '', url);
  byId(id)?.focus();
});

const source = document.body.dataset.source, waiting = new Map();
let held, timer, broken;
function dot(word, off) {
  const el = $('[data-live]');
  if (el) el.innerHTML = `<span class="dot${off ? ' off' : ''}"></span>${word}`;
}
function fresh(html) {
  const box = document.createElement('template'); box.innerHTML = html;
  return [...box.content.children].map(el => (el.classList.add('fresh'), el));
}
const soon = () => timer ??= setTimeout(flush, 500);
const stops = el => [...el.querySelectorAll('a,button,summary')];
function flush(all) {
  timer = null; if (held) return;
  const active = document.activeElement, more = byId('more');
  for (const [id, html] of waiting) {
    const el = byId(id);
    if (el?.dataset.rows === '') {
      const rows = fresh(html).filter(r => !byId(r.id)), later = rows[0] && scrollY > 80 && !all;
      if (more) { more.hidden = !later; more.textContent = `${rows.length} new`; }
      if (later) continue;
      el.prepend(...rows);
      while (el.children.length > 200) el.lastElementChild.remove();
    } else if (el) {
      // Not while somebody writes there.
      if ($(':popover-open,input:focus,select:focus', el)) continue;
      const [next] = fresh(html), old = el.querySelectorAll('details'), stop = stops(next)[stops(el).indexOf(active)];
      next.querySelectorAll('details').forEach((d, i) => d.open = old[i]?.open);
      el.replaceWith(next);
      if (stop?.tagName === active.tagName) stop.focus({ preventScroll: true });
    } else if (!html.startsWith(`<tr id="${id}"`)) {
      if ($(':popover-open')) continue;
      return location.reload();
    }
    waiting.delete(id);
  }
}
for (const type of ['focusout', 'toggle']) addEventListener(type, soon, true);
// Tries again after a pause that grows to half a minute.
let pause = 1e3;
const later = act => { setTimeout(act, pause * (.5 + Math.random())); pause = Math.min(2 * pause, 3e4); };
function listen() {
  const stream = new EventSource(source);
  stream.onmessage = e => {
    const { id, html } = JSON.parse(e.data);
    waiting.set(id, byId(id)?.dataset.rows === '' ? html + (waiting.get(id) || '') : html);
    soon();
  };
  stream.onerror = () => {
    // The browser itself does not try again after an answer that is no stream.
    if (stream.readyState === EventSource.CLOSED) later(listen);
    if (broken) return;
    broken = fresh(`<div class="say warn" role="status"><div><strong>Not live.</strong> The connection broke at ${new Date().toISOString().slice(11, 19)} UTC. What you see is from then.</div></div>`)[0];
    $('#news')?.append(broken); dot('Not live', true);
  };
  stream.onopen = () => { pause = 1e3; if (broken) { waiting.set('', ''); soon(); } };
}
if (source) listen();
// A page that could not be shown is loaded again once it can be.
const again = () => fetch(location, { cache: 'no-store' }).then(r => r.ok, () => false).then(ok => ok ? location.reload() : later(again));
if ('again' in document.body.dataset) later(again);
