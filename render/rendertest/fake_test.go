package rendertest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/render/rendertest"
	"github.com/amble-crawler/amble/weburl"
)

func task(t *testing.T, document string, have func(render.Want) render.Decision) render.Task {
	t.Helper()
	u, err := weburl.Parse("http://a.test/dir/")
	if err != nil {
		t.Fatal(err)
	}
	return render.Task{URL: u, Document: render.Answer{Status: 200, Body: []byte(document)}, Time: time.Unix(1e9, 0), Have: have}
}

func round(t *testing.T, f *rendertest.Fake, x render.Task) *render.Result {
	t.Helper()
	res, err := f.Round(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestFakeScripts(t *testing.T) {
	web := map[string]string{
		"http://a.test/dir/a.js": "import b.js\nlink next\nfetch /api\npush /there\nnothing at all", "http://a.test/dir/b.js": "text b <", "http://a.test/api": "<b>api</b>",
	}
	have := func(w render.Want) render.Decision {
		if b, ok := web[w.URL.String()]; ok {
			return render.Decision{Answer: &render.Answer{Status: 200, Body: []byte(b)}}
		}
		return render.Decision{Refuse: "gone"}
	}
	f := &rendertest.Fake{}
	res := round(t, f, task(t, `<body><script src=a.js></script><script src=none.js></script><script>text inline</script></body>`, have))
	want := "<p>b &lt;</p>\n<a href=\"next\">link</a>\n<b>api</b><p>inline</p>\n</body>"
	if !strings.HasSuffix(string(res.DOM), want) {
		t.Errorf("%s, want %s", res.DOM, want)
	}
	if len(res.Requests) != 4 || res.Requests[1].Refused != "gone" || len(res.Routes) != 1 || len(res.Missing) != 0 {
		t.Errorf("%+v", res)
	}
	if res = round(t, f, task(t, `<script>crash</script>`, have)); res.Cut != render.CutCrashed || res.DOM != nil {
		t.Errorf("%+v", res)
	}
}

func TestFakeSeesFaults(t *testing.T) {
	f := &rendertest.Fake{}
	decision := render.Decision{}
	x := task(t, `<script src=a.js></script>`, func(render.Want) render.Decision { return decision })
	if res := round(t, f, x); len(res.Missing) != 1 || res.DOM != nil {
		t.Errorf("%+v", res)
	}
	decision = render.Decision{Answer: &render.Answer{Status: 200}}
	round(t, f, x)
	if len(f.Faults()) > 0 {
		t.Errorf("without a fault: %v", f.Faults())
	}
	decision = render.Decision{Refuse: "later"}
	round(t, f, x)
	x.Seed++
	round(t, f, x)
	if n := len(f.Faults()); n < 2 {
		t.Errorf("%d faults: %v", n, f.Faults())
	}
	if f.Rounds() != 4 {
		t.Errorf("%d rounds", f.Rounds())
	}
}
