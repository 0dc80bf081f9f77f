package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/internal/browsertest"
	"github.com/amble-crawler/amble/jobs"
)

// TestPageInABrowser starts, follows, pauses, ends and deletes jobs in a real browser, with scripts and without.
func TestPageInABrowser(t *testing.T) {
	if !browsertest.Isolate(t) {
		return
	}
	hold := make(chan struct{})
	s := newService(t, t.TempDir(), Config{Contact: "crawls@university.edu", Jobs: jobs.Config{Running: 1}})
	site := newSite(t, 40, hold)
	quick := newSite(t, 30, nil)
	first := s.start(body(quick, `"key":"customer 7, \"><script>console.error(7)</script>"`))
	s.lines(first.ID, 0)
	b := browsertest.Start(t)
	shot := func(p *browsertest.Page, name string) {
		if out := os.Getenv("TEST_SCREENSHOTS"); out != "" {
			p.Send("Page.bringToFront", nil, nil)
			p.Screenshot(filepath.Join(out, name+".png"))
		}
	}
	// looks checks the layout at all widths, in both colour schemes, and with text of twice the size, which halves the usable width.
	looks := func(p *browsertest.Page, name string) {
		t.Helper()
		for _, v := range []browsertest.View{{Width: 390, Height: 800}, {Width: 800}, {Width: 1280}, {Width: 640}, {Width: 320, Height: 640}, {Width: 1280, Dark: true}, {Width: 390, Height: 800, Dark: true}} {
			p.Show(v)
			if n := p.Beyond(); n > 0 {
				t.Errorf("%s, %+v: %d pixels too wide", name, v, n)
			}
			for _, x := range p.Axe() {
				t.Errorf("%s, %+v: %s", name, v, x)
			}
			shot(p, fmt.Sprintf("%s-%d-%v", name, v.Width, v.Dark))
		}
		p.Show(browsertest.View{})
	}
	p := b.Open(s.url+"/", browsertest.View{})
	looks(p, "login")
	submit := func(fields, button string) {
		t.Helper()
		p.Follow(fields + fmt.Sprintf(";document.querySelector(%q).click()", button))
	}
	fill := func(id, text string) string { return fmt.Sprintf("document.getElementById(%q).value = %q;", id, text) }
	submit(fill("token", "wrong-wrong"), "main button")
	p.Until("document.body.innerText.includes('no valid token')")
	submit(fill("token", annSecret), "main button")
	p.Until("document.querySelector('#jobs .pill').innerText === 'done'")
	submit("", "nav a[href$=new]")
	looks(p, "new")
	submit(fill("seeds", site+"/0\n"+site+"/no\"><script>console.error(8)</script>")+fill("pages", "40")+fill("delay", "1ms")+fill("depth", "none"), "main button")
	p.Until("document.body.innerText.includes('Start this job?')")
	looks(p, "plan")
	submit("", "button.main")
	p.Until("document.querySelector('#state .pill').innerText === 'running'")
	looks(p, "job")
	var here string
	p.Eval("location.href", &here)

	// With scripts, the page shows changes without being loaded again, and keeps the focus.
	p.Eval(`window.kept = 1; document.getElementById("pause").focus()`, nil)
	second := s.start(body(quick))
	list := b.Open(strings.Split(here, "jobs/")[0], browsertest.View{})
	list.Until(fmt.Sprintf("document.getElementById('to-%s')?.closest('tr').innerText.includes('queued')", second.ID))
	list.Eval(fmt.Sprintf("document.getElementById('to-%s').focus()", second.ID), nil)
	looks(list, "list")
	close(hold)
	p.Until("document.querySelector('#state .pill').innerText === 'done' && document.querySelector('.tile strong').innerText === '40'")
	p.Until("window.kept === 1 && !document.getElementById('pause')")
	list.Until("[...document.querySelectorAll('#jobs .pill')].every(x => x.innerText === 'done')")
	list.Until(fmt.Sprintf("document.activeElement.id === 'to-%s'", second.ID))
	p.Eval("document.getElementById('remove').open = true", nil)
	looks(p, "done")

	// Without scripts, the page reloads itself, and orders can still be given, by forms.
	endless := s.start(strings.Replace(body(newSite(t, 1<<20, nil)), `"1ms"`, `"20ms"`, 1))
	p.Show(browsertest.View{NoScript: true})
	p.Navigate(strings.Split(here, "jobs/")[0] + "jobs/" + endless.ID)
	if text := p.Text(); !strings.Contains(text, "Pause") {
		t.Errorf("without scripts: %s", text)
	}
	p.Show(browsertest.View{})
	p.Navigate(strings.Split(here, "jobs/")[0] + "jobs/" + endless.ID)
	submit("", "#pause")
	p.Until("document.querySelector('#state .pill').innerText === 'paused'")
	looks(p, "paused")
	submit("", "#resume")
	p.Until("document.querySelector('#state .pill').innerText === 'running'")
	submit("", "#stop")
	p.Until("document.querySelector('#state .pill').innerText === 'stopped'")
	submit("document.getElementById('remove').open = true", "#delete")
	p.Until(fmt.Sprintf("document.querySelector('#jobs') && !document.getElementById('to-%s')", endless.ID))
	submit("", "nav form button")
	p.Until("document.getElementById('token')")
	p.Navigate(here)
	p.Until("document.body.innerText.includes('session has ended')")
	for _, line := range append(p.Console(), list.Console()...) {
		if !strings.Contains(line, "401") {
			t.Error("the console:", line)
		}
	}
	for _, to := range append(p.Requests(), list.Requests()...) {
		if !strings.HasPrefix(to, s.url+"/") && !strings.HasPrefix(to, "data:") {
			t.Error("the page has requested", to)
		}
	}
}
