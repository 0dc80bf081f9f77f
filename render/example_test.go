package render_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/amble-crawler/amble/render"
	"github.com/amble-crawler/amble/weburl"
)

// round stands for a renderer: it shows the page when the page's data is there.
func round(task render.Task) *render.Result {
	data, _ := task.URL.Resolve("data.json")
	want := render.Want{URL: data, Method: "GET", Kind: render.KindFetch, Accept: "*/*"}
	d := task.Have(want)
	if d.Answer == nil {
		return &render.Result{Missing: []render.Want{want}}
	}
	return &render.Result{DOM: []byte("<p>" + string(d.Answer.Body) + "</p>"), URL: task.URL}
}

// A page is rendered in rounds. Between two rounds the caller requests what was missing.
func Example() {
	page, err := weburl.Parse("https://site.example/")
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	document := &render.Answer{Status: 200, Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte(`<script src=app.js></script>`)}
	policy := &render.Policy{Mode: render.Auto}
	why := policy.Decide(document.Status, document.Body)
	fmt.Println("rendered because:", why)
	r, err := render.Begin(policy, render.NewStore(1<<20), page, document, why, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		result := round(r.Task("example/1", now))
		if r.Took(result) {
			fmt.Printf("round %d: %s\n", r.Rounds(), result.DOM)
			return
		}
		for want, ok := r.Next(now); ok; want, ok = r.Next(now) {
			fmt.Printf("round %d: %s is missing\n", r.Rounds(), want.URL)
			r.Answered(want, &render.Answer{Status: 200, Body: []byte("hello")}, now)
		}
	}
	// Output:
	// rendered because: no_text
	// round 1: https://site.example/data.json is missing
	// round 2: <p>hello</p>
}
