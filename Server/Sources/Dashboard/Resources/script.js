// Perennial dashboard. Everything works without this file; it only saves reloads.
'use strict';
const root = document.documentElement, $ = (q, e = document) => e.querySelector(q);
const isDark = () => (root.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';

document.addEventListener('click', e => {
  const b = e.target.closest('button'); if (!b) return;
  if ('themeButton' in b.dataset) {
    e.preventDefault();
    const theme = root.dataset.theme = isDark() ? 'light' : 'dark';
    document.cookie = `theme=${theme}; path=/; max-age=31536000; samesite=lax`;
  }
  if (b.dataset.copy) { navigator.clipboard?.writeText(b.dataset.copy); b.textContent = 'Copied'; }
  if ('pause' in b.dataset) {
    const on = b.getAttribute('aria-pressed') !== 'true';
    b.setAttribute('aria-pressed', on); b.textContent = on ? 'Go on' : 'Hold still';
    held = on; dot(on ? 'Held' : 'Live', on); if (!on) flush();
  }
  if ('more' in b.dataset) { scrollTo(0, 0); flush(true); }
});

// A form[data-auto] is fetched on change, and its page's content replaced; focus stays.
document.addEventListener('change', async e => {
  const form = e.target.closest('form[data-auto]'); if (!form) return;
  const url = new URL(form.action || location.href);
  url.search = new URLSearchParams([...new FormData(form)].filter(p => p[1]));
  const answer = await fetch(url, { credentials: 'same-origin' }).catch(() => null);
  if (!answer?.ok) return form.submit();
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  if (!$('main', page)) return form.submit();
  const id = document.activeElement?.id;
  $('main').replaceChildren(...$('main', page).childNodes);
  document.title = page.title; history.replaceState(null, '', url);
  if (id) document.getElementById(id)?.focus();
});

// One stream. A message {id, html} replaces the element of that id; a tbody[data-rows] gets rows on top.
const source = document.body.dataset.source;
let held = false, waiting = new Map(), timer = null, broken = null;
function dot(word, off) {
  const el = $('[data-live]');
  if (el) el.innerHTML = `<span class="dot${off ? ' off' : ''}"></span>${word}`;
}
function fresh(html, tag) {
  const box = document.createElement(tag); box.innerHTML = html;
  for (const el of box.children) el.classList.add('fresh');
  return [...box.children];
}
function flush(all) {
  timer = null; if (held) return;
  const focus = document.activeElement?.id;
  for (const [id, html] of waiting) {
    const el = document.getElementById(id);
    if (el && 'rows' in el.dataset) {
      const more = document.getElementById('more');
      if (scrollY > 80 && !all) {
        if (more) { more.hidden = false; more.textContent = `${fresh(html, 'tbody').length} new`; }
        continue;
      }
      if (more) more.hidden = true;
      el.prepend(...fresh(html, 'tbody'));
      while (el.children.length > 200) el.lastElementChild.remove();
    } else if (el && !el.contains(document.activeElement)) el.replaceWith(...fresh(html, 'div'));
    waiting.delete(id);
  }
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
}
if (source) {
  const stream = new EventSource(source);
  stream.onmessage = e => {
    const { id, html } = JSON.parse(e.data), el = document.getElementById(id);
    waiting.set(id, el && 'rows' in el.dataset ? html + (waiting.get(id) || '') : html);
    timer ??= setTimeout(flush, 500);
  };
  stream.onerror = () => {
    if (broken) return;
    broken = document.createElement('div'); broken.className = 'say warn'; broken.setAttribute('role', 'status');
    broken.innerHTML = `<div><strong>Not live.</strong> The connection broke at ${new Date().toISOString().slice(11, 19)} UTC. What you see is of then.</div>`;
    $('#news')?.append(broken); dot('Not live', true);
  };
  stream.onopen = () => {
    if (!broken) return;
    if (!$(':popover-open')) return location.reload();
    broken.remove(); broken = null; dot('Live');
  };
}
