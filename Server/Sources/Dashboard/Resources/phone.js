// The phone's page of `perennial dev`. Everything works without this file; it only saves reloads.
'use strict';
{
  const form = document.getElementById('sim'), newest = () => +document.querySelector('#wire li')?.dataset.id || 0;
  let busy = false, next = null;

  // Which button gets a replaced one's focus: the sheet's, the same, the opener, the hint.
  const focused = () => document.activeElement?.name === 'act' ? document.activeElement.value : null;
  let opener = null, lost = null, later = null;
  const find = wanted => form.querySelector(`button[name=act][value="${CSS.escape(wanted || '-')}"]:not([disabled])`);
  const focus = value => {
    lost = null;
    const sheet = form.querySelector('.sheet'), same = find(value);
    // A focus in the sheet stays there.
    if (sheet?.contains(document.activeElement)) return;
    ((sheet?.contains(same) ? same : sheet?.querySelector('.buy')) || same || find(opener) || form.querySelector('.hint') ||
      form.querySelector('#screen button:not([disabled])'))?.focus({ preventScroll: true });
  };

  function replace(pieces) {
    const value = focused(), last = newest(), wire = document.getElementById('wire').scrollTop;
    for (const { id, html } of pieces) {
      const old = document.getElementById(id), box = document.createElement('template');
      box.innerHTML = html;
      const next = box.content.firstElementChild;
      // Unchanged pieces keep the focus and a screen reader's place.
      if (old && !old.isEqualNode(next)) old.replaceWith(next);
    }
    const line = document.getElementById('line');
    // Another person has the phone, so the rest of the page changes, too.
    if (line.dataset.customer !== form.dataset.customer) return location.reload();
    document.getElementById('answer').className = 'panel answer ' + line.dataset.look;
    for (const li of document.querySelectorAll('#wire li')) if (+li.dataset.id > last) li.classList.add('fresh');
    document.getElementById('wire').scrollTop = wire;
    if (!value || focused() === value) return;
    // The pieces of one change arrive one by one. The button may be in the last.
    clearTimeout(later);
    later = setTimeout(focus, 40, lost = lost || value);
  }

  form.addEventListener('submit', async event => {
    const act = event.submitter?.value;
    event.preventDefault();
    // A tap while time passes is done afterwards, if it still can be.
    if (!act || busy) return next = act;
    form.ariaBusy = busy = true;
    if (act.startsWith('sheet ')) opener = act;
    try {
      const body = new URLSearchParams(new FormData(form));
      body.set('act', act);
      const answer = await fetch(form.action, { method: 'POST', body, headers: { accept: 'application/json' } });
      if (!answer.ok) return location.reload();
      replace(await answer.json());
      if (act === 'yes' || act === 'no') opener = null;
    } catch { location.reload(); } finally {
      form.ariaBusy = busy = false;
      const button = find(next);
      next = null;
      button?.click();
    }
  });

  addEventListener('keydown', event => {
    if (event.key === 'Escape') form.querySelector('.sheet button[value=no]')?.click();
  });

  let broken = null, pause = 1000;
  const listen = () => {
    const live = new EventSource(form.dataset.liveSource);
    live.onmessage = message => replace([JSON.parse(message.data)]);
    live.onopen = () => { if (broken) location.reload(); };
    live.onerror = () => {
      // The browser itself does not try again after an answer that is no stream.
      if (live.readyState === EventSource.CLOSED) {
        setTimeout(listen, pause);
        pause = Math.min(2 * pause, 30000);
      }
      if (broken) return;
      broken = document.createElement('div');
      broken.className = 'say warn';
      broken.setAttribute('role', 'status');
      broken.innerHTML = `<div><strong>Not live.</strong> bin/dev went away at ${new Date().toISOString().slice(11, 19)} UTC. What you see is from then.</div>`;
      document.getElementById('news')?.append(broken);
    };
  };
  listen();
}
