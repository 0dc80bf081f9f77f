package render_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/render/rendertest"
)

// finish renders a page completely with a Fake, and returns what was requested, in order.
func finish(t *testing.T, r *render.Rendering, web map[string]string, now func() time.Time) (*render.Result, []string) {
	t.Helper()
	var asked []string
	fake := &rendertest.Fake{}
	res, err := rendertest.Finish(t.Context(), fake, r, now, func(w render.Want) (*render.Answer, string) {
		asked = append(asked, w.URL.String())
		if body, ok := web[w.URL.String()]; ok {
			return answer(body), ""
		}
		return nil, "robots_disallow"
	})
	if err != nil {
		t.Fatal(err)
	}
	if f := fake.Faults(); len(f) > 0 {
		t.Errorf("faults: %v", f)
	}
	return res, asked
}

func still() time.Time { return noon }

func page(t *testing.T, p *render.Policy, s *render.Store, url, document string) *render.Rendering {
	t.Helper()
	r, err := render.Begin(p, s, parse(t, url), answer(document), render.RuleAlways, noon)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// endless is a page whose script imports another, and so on without end.
func endless(n int) map[string]string {
	web := map[string]string{}
	for i := range n {
		web[fmt.Sprintf("http://a.test/%d.js", i)] = fmt.Sprintf("text t%d\nimport /%d.js\ntext after", i, i+1)
	}
	return web
}

func TestMaxRounds(t *testing.T) {
	p := &render.Policy{MaxRounds: 5}
	r := page(t, p, render.NewStore(0), "http://a.test/", `<body><script src=/0.js></script></body>`)
	res, asked := finish(t, r, endless(30), still)
	if res.Cut != "render_rounds" || r.Rounds() != 5 || len(asked) != 4 {
		t.Errorf("%q after %d rounds and %d requests", res.Cut, r.Rounds(), len(asked))
	}
	last := res.Requests[len(res.Requests)-1]
	if last.Refused != "render_rounds" || last.URL != "http://a.test/4.js" {
		t.Errorf("%+v", last)
	}
}

func TestMaxWait(t *testing.T) {
	now := noon
	p := &render.Policy{MaxWait: 3 * time.Minute}
	r := page(t, p, render.NewStore(0), "http://a.test/", `<body><script src=/0.js></script></body>`)
	res, asked := finish(t, r, endless(30), func() time.Time { now = now.Add(20 * time.Second); return now })
	if res.Cut != "render_wait" || len(asked) == 0 || len(asked) > 9 {
		t.Errorf("%q after %d requests", res.Cut, len(asked))
	}
}

func TestMaxRequests(t *testing.T) {
	p := &render.Policy{MaxRequests: 3}
	r := page(t, p, render.NewStore(0), "http://a.test/", `<body><script>
		fetch /1
		fetch /2
		fetch /1
		fetch /3
		fetch /4
		text end
	</script></body>`)
	res, asked := finish(t, r, map[string]string{"http://a.test/1": "", "http://a.test/2": "", "http://a.test/3": "", "http://a.test/4": ""}, still)
	if len(asked) != 3 || res.Requests[4].Refused != "render_requests" || res.Cut != "" {
		t.Errorf("%v, %+v, %q", asked, res.Requests, res.Cut)
	}
}

func TestMaxOrigins(t *testing.T) {
	script := ""
	for i := range 6 {
		script += fmt.Sprintf("fetch http://cdn%d.other.test/1\nfetch http://cdn%d.other.test/2\n", i, i)
	}
	script += "fetch http://api.a.test/\nfetch http://a.test:81/\n"
	r := page(t, &render.Policy{}, render.NewStore(0), "http://a.test/", `<body><script>`+script+`</script></body>`)
	res, asked := finish(t, r, nil, still)
	if len(asked) != 4*2+2 {
		t.Errorf("requested %v", asked)
	}
	for i, f := range res.Requests {
		if want := map[bool]string{true: render.ReasonHost, false: "robots_disallow"}[i >= 8 && i < 12]; f.Refused != want {
			t.Errorf("%d: %+v, want %s", i, f, want)
		}
	}
}

// A resource that several pages need is requested once.
func TestOnceForAllPages(t *testing.T) {
	s := render.NewStore(0)
	web := map[string]string{"http://a.test/app.js": "import /lib.js\nfetch /api", "http://a.test/lib.js": "text lib", "http://a.test/api": "<a href=/x>x</a>"}
	all := 0
	for i := range 10 {
		r := page(t, &render.Policy{}, s, fmt.Sprintf("http://a.test/%d", i), `<body><script src=/app.js></script></body>`)
		res, asked := finish(t, r, web, still)
		r.End("k")
		all += len(asked)
		if string(res.DOM) != "<body><script src=/app.js></script><p>lib</p>\n<a href=/x>x</a></body>" {
			t.Errorf("%s", res.DOM)
		}
	}
	if all != 3 {
		t.Errorf("%d requests for ten pages", all)
	}
}

// A page can be resumed after any step, from the records committed by then, with the same result.
func TestKilledAtEveryStep(t *testing.T) {
	document := `<body><script src=/app.js></script><script src=/second.js></script></body>`
	web := map[string]string{
		"http://a.test/app.js": "import /lib.js\nfetch /api\npush /there", "http://a.test/lib.js": "text lib",
		"http://a.test/api": "<a href=/x>x</a>", "http://a.test/second.js": "fetch /forbidden\ntext second",
	}
	whole, _ := finish(t, page(t, &render.Policy{}, render.NewStore(0), "http://a.test/", document), web, still)
	for kill := 1; ; kill++ {
		res, steps, requests := interrupted(t, document, web, kill)
		if string(res.DOM) != string(whole.DOM) || fmt.Sprint(res.Routes, res.Requests) != fmt.Sprint(whole.Routes, whole.Requests) {
			t.Errorf("killed at step %d: %+v, want %+v", kill, res, whole)
		}
		if requests > 6 {
			t.Errorf("killed at step %d: %d requests for 5 URLs and one kill", kill, requests)
		}
		if steps < kill {
			return
		}
	}
}

// interrupted renders a page, and at one step forgets everything that is not committed. It returns the numbers of steps and requests.
func interrupted(t *testing.T, document string, web map[string]string, kill int) (res *render.Result, steps, requests int) {
	t.Helper()
	const key = render.PrefixPage + "p"
	dir, x := t.TempDir(), &index{values: map[string][]byte{}}
	fake := &rendertest.Fake{}
	var s *render.Store
	var r *render.Rendering
	boot := func() {
		var err error
		if s, err = render.OpenStore(dir, x); err != nil {
			t.Fatal(err)
		}
		if v := x.values[key]; v == nil {
			r = page(t, &render.Policy{}, s, "http://a.test/", document)
		} else if r, err = render.Resume(&render.Policy{}, s, v, noon); err != nil {
			t.Fatal(err)
		}
	}
	killed := func() bool {
		if steps++; steps == kill {
			boot()
			return true
		}
		return false
	}
	commit := func() {
		records, err := r.Records(key, noon)
		if err != nil {
			t.Fatal(err)
		}
		if !killed() {
			x.commit(records)
			killed()
		}
	}
	boot()
	for {
		w, ok := r.Next(noon)
		if ok {
			requests++
			if body, ok := web[w.URL.String()]; ok {
				r.Answered(w, answer(body), noon)
			} else {
				r.Refused(w, "robots_disallow")
			}
			commit()
			continue
		}
		var err error
		if res, err = fake.Round(t.Context(), r.Task("a", noon)); err != nil {
			t.Fatal(err)
		}
		if killed() {
			continue
		}
		if r.Took(res) {
			if f := fake.Faults(); len(f) > 0 {
				t.Error(f)
			}
			return res, steps, requests
		}
		commit()
	}
}

func TestFatesInOrder(t *testing.T) {
	r := page(t, &render.Policy{}, render.NewStore(0), "http://a.test/", `<body><script>
		fetch ftp://a.test/
		fetch /yes
		fetch /no
		text end</script></body>`)
	res, _ := finish(t, r, map[string]string{"http://a.test/yes": "y"}, still)
	var got []string
	for _, f := range res.Requests {
		got = append(got, fmt.Sprint(f.URL, " ", f.Status, " ", f.Refused))
	}
	want := []string{"ftp://a.test/ 0 url_scheme", "http://a.test/yes 200 ", "http://a.test/no 0 robots_disallow"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The processor time of a page includes all its rounds, even those in an earlier process.
func TestRoundsShareProcessorTime(t *testing.T) {
	x, p := &index{values: map[string][]byte{}}, render.Policy{MaxProcessor: 5 * time.Second}
	s, err := render.OpenStore(t.TempDir(), x)
	if err != nil {
		t.Fatal(err)
	}
	r := page(t, &p, s, "http://a.test/", "")
	for _, left := range []time.Duration{5 * time.Second, 3 * time.Second, time.Second, 1} {
		if got := r.Task("", noon).MaxProcessor; got != left {
			t.Errorf("%v left, want %v", got, left)
		}
		r.Took(&render.Result{Missing: []render.Want{{}}, Processor: 2 * time.Second})
		records, err := r.Records(render.PrefixPage+"p", noon)
		if err != nil {
			t.Fatal(err)
		}
		x.commit(records)
		if r, err = render.Resume(&p, s, x.values[render.PrefixPage+"p"], noon); err != nil {
			t.Fatal(err)
		}
	}
}
