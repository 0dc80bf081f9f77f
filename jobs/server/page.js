// The server makes the page. This script puts the parts that have changed in the place of the old ones, without losing the focus and
// what is open. Without it the browser loads the page again.
'use strict';
(() => {
  const lost = document.getElementById('lost'), shown = {};
  const say = (text) => { lost.textContent = text; lost.hidden = !text; };

  const show = (html) => {
    for (const next of [...new DOMParser().parseFromString(html, 'text/html').body.children]) {
      const now = next.outerHTML, old = document.getElementById(next.id);
      if (!old) { location.reload(); return; }
      if ((shown[next.id] ?? old.outerHTML) === now) continue;
      shown[next.id] = now;
      const focus = old.contains(document.activeElement) && document.activeElement.id;
      for (const open of old.querySelectorAll('details[open]')) {
        const same = next.querySelector('#' + CSS.escape(open.id));
        if (same) same.open = true;
      }
      old.replaceWith(next);
      if (focus) document.getElementById(focus)?.focus();
    }
  };

  const events = new EventSource(document.body.dataset.events);
  events.onmessage = (e) => { say(''); show(e.data); };
  events.addEventListener('over', () => { events.close(); say('The job was deleted, or your session has ended: load the page again.'); });
  events.onerror = () => say(events.readyState === EventSource.CLOSED ? 'This page is not updated: load it again.' : 'The server does not answer; trying again.');
})();
