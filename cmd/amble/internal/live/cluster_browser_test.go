package live_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cluster"
	"github.com/amble-crawler/amble/cluster/mem"
	"github.com/amble-crawler/amble/cluster/work"
	"github.com/amble-crawler/amble/cmd/amble/internal/live"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/browsertest"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

// In a real browser, the page of a cluster's job shows the sites of all nodes, the owner of each site, and a silent node.
func TestClusterInABrowser(t *testing.T) {
	if !browsertest.Isolate(t) {
		return
	}
	s := &servers{count: map[string]int{}}
	hosts := []string{s.serve(t, "127.0.0.2", endlessly), s.serve(t, "127.0.0.3", endlessly), s.serve(t, "127.0.0.4", endlessly)}
	server := mem.New()
	c, err := job.Settings{
		{Name: "contact", Values: []string{"me@university.edu"}}, {Name: "delay", Values: []string{"300ms"}},
		{Name: "depth", Values: []string{"none"}}, {Name: "allow-address", Values: []string{"127.0.0.0/8"}}, {Name: "allow-port", Values: []string{"18400"}},
	}.Config()
	if err != nil {
		t.Fatal(err)
	}
	spec := &work.Spec{Config: c, Shards: 4, Lease: 6 * time.Second}
	for _, h := range hosts {
		u, err := weburl.Parse("http://" + h + "/")
		if err != nil {
			t.Fatal(err)
		}
		spec.Seeds = append(spec.Seeds, u)
	}
	if err := work.Create(t.Context(), server.Connect(), spec); err != nil {
		t.Fatal(err)
	}
	begin := func(name string) *mem.Conn {
		conn, ended := server.Connect(), make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		n := &work.Node{Engine: conn, Name: name, Dir: filepath.Join(t.TempDir(), name), JobName: "shops", Program: func(c *job.Config) { c.Crawl.Trace = &crawler.Trace{} }}
		go func() { ended <- n.Run(ctx) }()
		t.Cleanup(func() {
			conn.Cut(false)
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		return conn
	}
	begin("node1")
	second := begin("node2")
	page, err := live.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()
	page.Serve(live.NewCluster(live.ClusterConfig{
		Name: "shops", Watcher: &work.Watcher{Engine: server.Connect()}, Metrics: http.NotFoundHandler(), Ready: func() error { return nil },
		Operator: &work.Operator{Engine: server.Connect(), Name: "the page"},
	}))
	browser := browsertest.Start(t)
	p := browser.Open(page.URL(), browsertest.View{Width: 1280, Height: 1000})
	for _, host := range hosts {
		p.Until("[...document.querySelectorAll('#sites tr')].some(r => r.innerText.includes('" + host + "') && r.innerText.includes('node'))")
	}
	p.Until("document.querySelectorAll('#nodes .pill.fine').length == 2")
	p.Until("[...document.querySelectorAll('#lanes path.got')].filter(x => x.getAttribute('d').length > 20).length == 3")
	p.Until("parseInt(document.querySelector('.tile.got strong').innerText) > 10")
	p.Until("document.querySelector('#events').innerText.includes('404')")
	p.Until("document.querySelector('#ends').innerText.includes(' decides')")
	for name, v := range map[string]browsertest.View{"wide": {Width: 1280, Height: 1000}, "phone": {Width: 390, Height: 800}, "dark": {Width: 1280, Dark: true}} {
		p.Show(v)
		if n := p.Beyond(); n > 0 {
			t.Errorf("%+v: %d pixels too wide", v, n)
		}
		for _, x := range p.Axe() {
			t.Errorf("%+v: %s", v, x)
		}
		if out := os.Getenv("TEST_SCREENSHOTS"); out != "" {
			p.Screenshot(filepath.Join(out, "cluster-"+name+".png"))
		}
	}
	p.Show(browsertest.View{Width: 1280, Height: 1000})
	order := func(host, action string) {
		t.Helper()
		row := fmt.Sprintf("[...document.querySelectorAll('#sites tbody tr')].find(r => r.querySelector('th')?.innerText.includes('%s'))", host)
		p.Until(row + "?.querySelector('details')")
		p.Eval(fmt.Sprintf("(() => { const d = %s.querySelector('details'); d.open = true; d.querySelector('form[action=%s] button').click(); })()", row, action), nil)
	}
	p.Eval("document.querySelector('#pause button').click()", nil)
	p.Until("document.querySelector('#state').innerText === 'paused' && document.querySelector('#resume')")
	p.Show(browsertest.View{Width: 390, Height: 800})
	if n := p.Beyond(); n > 0 {
		t.Errorf("paused, on a phone: %d pixels too wide", n)
	}
	p.Show(browsertest.View{Width: 1280, Height: 1000})
	p.Eval("document.querySelector('#resume button').click()", nil)
	p.Until("document.querySelector('#state').innerText === 'running'")
	order(hosts[0], "slower")
	order(hosts[1], "leave-out")
	p.Until("[...document.querySelectorAll('#sites tr')].some(r => r.innerText.includes('" + hosts[1] + "') && r.innerText.includes('left out')) || ![...document.querySelectorAll('#sites tr')].some(r => r.innerText.includes('" + hosts[1] + "') && r.querySelector('.pill'))")
	all, err := cluster.LoadOrders(t.Context(), server.Connect())
	var given []string
	for _, o := range all {
		given = append(given, strings.TrimSpace(o.What+" "+o.To))
	}
	slices.Sort(given) // the page sends the second order without waiting for the answer to the first one
	if want := []string{"leave-out " + hosts[1], "pause", "resume", "slower " + hosts[0] + " 2s"}; err != nil || !slices.Equal(given, want) {
		t.Errorf("orders %q, want %q, %v", given, want, err)
	}
	second.Cut(true)
	p.Until("document.querySelector('#nodes').innerText.includes('silent')")
	for _, line := range p.Console() {
		t.Error(line)
	}
}
