package jobs

import (
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/politeness"
)

// A plan uses robots.txt files that this machine knows already, makes no requests, and states the least time that the limits require.
func TestPlanKnowsTheRobotsFilesOfTheMachine(t *testing.T) {
	dir := t.TempDir()
	m := open(t, dir, Config{})
	var c crawler.Config
	c.ShareMachine(m.config.State)
	now := time.Now()
	keep := func(origin string, f politeness.RobotsFile) {
		f.Fetched, f.Until = now, now.Add(time.Hour)
		c.Politeness.Shared.KeepRobots(politeness.RobotsKey{Origin: origin}, f)
	}
	keep("https://slow.test", politeness.RobotsFile{Status: 200, Body: "User-agent: *\nCrawl-delay: 7\nDisallow: /private\n"})
	keep("https://down.test", politeness.RobotsFile{Failures: 1})
	keep("https://free.test", politeness.RobotsFile{Status: 404})
	q := Request{
		Seeds:    []string{"https://slow.test/", "https://slow.test/private/x", "https://down.test/", "https://free.test/", "https://new.test/"},
		Settings: map[string]any{"contact": "me@university.edu", "max-per-host": 10, "delay": "2s"},
	}
	p, x, err := m.Plan(q)
	if err != nil || x.Crawl.Contact != "me@university.edu" || len(p.Hosts) != 4 {
		t.Fatalf("%+v, %v", p, err)
	}
	for i, want := range []string{"refuses https://slow.test/private/x (line 3: Disallow: /private)", "could not be fetched", "", "not requested yet"} {
		if h := p.Hosts[i]; !strings.Contains(h.Problem, want) || (want == "") != (h.Problem == "") || h.Pages != 10 {
			t.Errorf("%+v, want %q", h, want)
		}
	}
	if slow, free := p.Hosts[0], p.Hosts[2]; slow.Delay != 7*time.Second || free.Delay != 2*time.Second || p.Bound != 10*7*time.Second+11*planService || p.DecidedBy != "host slow.test:443" {
		t.Errorf("%+v", p)
	}
	q.Settings["max-pages"], q.Settings["max-per-host"] = "none", "none"
	if p, _, err = m.Plan(q); err != nil || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "not limited") {
		t.Errorf("%+v, %v", p, err)
	}
	q.Seeds[0] = "nonsense"
	if _, _, err = m.Plan(q); err == nil {
		t.Error("a plan of nonsense")
	}
	if all := m.All(); len(all) != 0 {
		t.Errorf("jobs: %+v", all)
	}
}

// A running job reports its progress.
func TestRunningJobsSayHowFarTheyHaveGot(t *testing.T) {
	s := newSite(t, 3)
	s.hold = make(chan struct{})
	m := open(t, t.TempDir(), Config{})
	info := start(t, m, s.request())
	<-s.held
	now, err := m.Info(info.ID)
	if all := m.All(); err != nil || now.State != Running || now.Requests < 1 || now.Left != 1 || all[0].Left != 1 {
		t.Errorf("%+v, %v, %+v", now, err, all)
	}
	close(s.hold)
	if info = wait(t, m, info.ID, Done); info.Pages != 3 || info.Left != 0 {
		t.Errorf("%+v", info)
	}
}
