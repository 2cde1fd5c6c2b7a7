// All works without this file.
'use strict';
const root = document.documentElement, $ = (q, e = document) => e.querySelector(q), byId = id => document.getElementById(id);
const isDark = () => (root.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';

addEventListener('click', e => {
  const b = e.target.closest('button'); if (!b) return;
  if ('themeButton' in b.dataset) {
    e.preventDefault();
    const theme = root.dataset.theme = isDark() ? 'light' : 'dark';
    document.cookie = `theme=${theme}; path=/; max-age=31536000; samesite=lax`;
  }
  if ('copy' in b.dataset) { navigator.clipboard?.writeText(b.dataset.copy || $('pre', b.closest('section')).textContent); b.textContent = 'Copied'; }
  if ('pause' in b.dataset) {
    const on = b.getAttribute('aria-pressed') !== 'true';
    b.setAttribute('aria-pressed', on); b.textContent = on ? 'Go on' : 'Hold still';
    held = on; dot(on ? 'Held' : 'Live', on); if (!on) flush();
  }
  if ('more' in b.dataset) { scrollTo(0, 0); flush(true); }
});

// Fetched on change; focus stays.
addEventListener('change', async e => {
  const form = e.target.closest('form[data-auto]'); if (!form) return;
  if (source) return form.submit();
  const main = $('main'), slow = setTimeout(() => main.ariaBusy = true, 1e3), url = new URL(form.action);
  url.search = new URLSearchParams([...new FormData(form)].filter(p => p[1]));
  const answer = await fetch(url).catch(() => null);
  if (!answer?.ok) return form.submit();
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html'), next = $('main', page);
  if (!next) return form.submit();
  const id = document.activeElement?.id;
  main.replaceChildren(...next.childNodes);
  main.ariaBusy = clearTimeout(slow);
  document.title = page.title; history.replaceState(null, '', url);
  if (id) byId(id)?.focus();
});

const source = document.body.dataset.source;
let held = false, waiting = new Map(), timer = null, broken = null;
function dot(word, off) {
  const el = $('[data-live]');
  if (el) el.innerHTML = `<span class="dot${off ? ' off' : ''}"></span>${word}`;
}
function fresh(html) {
  const box = document.createElement(html.startsWith('<tr') ? 'tbody' : 'div'); box.innerHTML = html;
  for (const el of box.children) el.classList.add('fresh');
  return [...box.children];
}
function flush(all) {
  timer = null; if (held) return;
  const focus = document.activeElement?.id, more = byId('more');
  for (const [id, html] of waiting) {
    const el = byId(id);
    if (el && 'rows' in el.dataset) {
      const rows = fresh(html).filter(r => !byId(r.id)), later = rows[0] && scrollY > 80 && !all;
      if (more) { more.hidden = !later; more.textContent = `${rows.length} new`; }
      if (later) continue;
      el.prepend(...rows);
      while (el.children.length > 200) el.lastElementChild.remove();
    } else if (el) {
      if (!el.contains(document.activeElement)) {
        const [next] = fresh(html), old = el.querySelectorAll('details');
        next.querySelectorAll('details').forEach((d, i) => d.open = old[i]?.open);
        el.replaceWith(next);
      }
    }
    else if (!html.startsWith(`<tr id="${id}"`) && !$(':popover-open')) return location.reload();
    waiting.delete(id);
  }
  if (focus) byId(focus)?.focus({ preventScroll: true });
}
if (source) {
  const stream = new EventSource(source);
  stream.onmessage = e => {
    const { id, html } = JSON.parse(e.data), el = byId(id);
    waiting.set(id, el && 'rows' in el.dataset ? html + (waiting.get(id) || '') : html);
    timer ??= setTimeout(flush, 500);
  };
  stream.onerror = () => {
    if (broken) return;
    broken = fresh(`<div class="say warn" role="status"><div><strong>Not live.</strong> The connection broke at ${new Date().toISOString().slice(11, 19)} UTC. What you see is of then.</div></div>`)[0];
    $('#news')?.append(broken); dot('Not live', true);
  };
  stream.onopen = () => {
    if (!broken) return;
    if (!$(':popover-open')) return location.reload();
    broken.remove(); broken = null; dot('Live');
  };
}
