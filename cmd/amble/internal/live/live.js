// The page is made by the server. This script puts the new one in the place of the old every second, without losing the focus,
// what is open and what is being written, and sends orders without leaving the page.
'use strict';
(() => {
  const live = document.getElementById('live'), lost = document.getElementById('lost');

  let over = false; // what is said then is the last word
  const say = (text) => {
    if (over) return;
    lost.textContent = text;
    lost.hidden = !text;
  };

  // same reports whether two nodes are one and the same thing at different times.
  const same = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || '') === (b.id || '');

  const attributes = (old, now) => {
    for (const {name, value} of now.attributes) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    for (const {name} of [...old.attributes]) {
      if (!now.hasAttribute(name) && !(name === 'open' && old.nodeName === 'DETAILS')) old.removeAttribute(name);
    }
  };

  // update makes the children of old those of now. What has an id may move; anything else is what it was only in its place.
  const update = (old, now) => {
    let at = old.firstChild;
    for (const next of [...now.childNodes]) {
      let found = at && same(at, next) ? at : null;
      if (!found && next.id) found = [...old.children].find((c) => same(c, next));
      if (!found) {
        old.insertBefore(next, at);
        continue;
      }
      if (found === at) at = at.nextSibling;
      else old.insertBefore(found, at);
      if (found.nodeType !== Node.ELEMENT_NODE) {
        if (found.nodeValue !== next.nodeValue) found.nodeValue = next.nodeValue;
        continue;
      }
      if (found.nodeName === 'INPUT') continue; // what is being written stays
      attributes(found, next);
      update(found, next);
    }
    while (at) { const gone = at; at = at.nextSibling; gone.remove(); }
  };

  // arrange hides the sites that the reader does not look for and puts the others into the chosen order.
  const arrange = () => {
    const tools = document.getElementById('tools');
    if (!tools) return;
    tools.hidden = live.querySelectorAll('.hosts tr[id]').length < 3;
    const words = document.getElementById('filter').value.toLowerCase(), by = document.getElementById('sort').value;
    const key = (row) => by === '0' ? row.cells[0].textContent : -parseFloat('0' + row.cells[by].textContent.replace(/[^0-9.]/g, ''));
    for (const body of live.querySelectorAll('.hosts tbody')) {
      const rows = [...body.rows].filter((r) => r.id);
      for (const r of rows) {
        r.hidden = !r.textContent.toLowerCase().includes(words);
        r.style.order = '';
      }
      if (words && rows.some((r) => !r.hidden) && body.closest('details')) body.closest('details').open = true;
      if (by) rows.map((r) => [key(r), r]).sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0).forEach(([, r], i) => { r.style.order = i; });
    }
  };
  live.addEventListener('input', (e) => { if (['filter', 'sort'].includes(e.target.id)) arrange(); });
  arrange();

  const show = (html) => {
    update(live, new DOMParser().parseFromString('<div>' + html + '</div>', 'text/html').body.firstChild);
    arrange();
    document.title = document.getElementById('head').dataset.title;
  };

  const watch = () => {
    const events = new EventSource('events');
    events.onmessage = (e) => { say(''); show(e.data); };
    events.addEventListener('over', () => { events.close(); say('The process that served this page has ended. What is shown is how it was in its last second.'); over = true; });
    events.onerror = () => {
      say(events.readyState === EventSource.CLOSED ? 'This page is not updated: too many watch at the same time, or its process has ended. Reload it to try again.' : 'No connection to the crawl; trying again.');
    };
  };
  if (document.getElementById('head').dataset.running === 'true') watch();

  document.addEventListener('submit', async (e) => {
    const form = e.target;
    if (form.method !== 'post') return;
    e.preventDefault();
    const open = form.closest('details');
    try {
      const answer = await fetch(form.action, {method: 'POST', body: new URLSearchParams(new FormData(form)), redirect: 'manual'});
      const ok = answer.type === 'opaqueredirect' || answer.ok;
      say(ok ? '' : await answer.text());
      if (ok && open) { open.open = false; open.querySelector('summary').focus(); }
    } catch {
      say('The crawl did not get the order: its process may have ended.');
    }
  });
})();
