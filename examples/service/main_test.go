package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/jobs/server"
)

// maxLines limits the lines of the service. Without package jobs, the same service had 223 lines.
const maxLines = 60

func TestServiceIsShort(t *testing.T) {
	b, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b, []byte("\n")); n > maxLines {
		t.Errorf("main.go has %d lines, more than %d", n, maxLines)
	}
}

// A job is started, followed and read again after a restart, which to the client looks like another process.
func TestClientsStartAndFollowJobs(t *testing.T) {
	t.Setenv("AMBLE_STATE", t.TempDir())
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<h1>Tea</h1><b class="price">3.50</b>`)
	}))
	defer shop.Close()
	const secret = "9d1c6f0fb0a94b5e8a6a4e2f0c7d3b1a"
	token, err := server.NewToken("ann", secret, server.Read, server.Write)
	if err != nil {
		t.Fatal(err)
	}
	dir, id := t.TempDir(), ""
	for _, when := range []string{"first", "after a restart"} {
		s, err := open(dir, server.Config{Tokens: []server.Token{token}, AllowAddresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
		if err != nil {
			t.Fatal(err)
		}
		web := httptest.NewServer(s)
		ask := func(method, path, body string) string {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+secret)
			a, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = a.Body.Close() }()
			b, err := io.ReadAll(a.Body)
			if err != nil || a.StatusCode > 299 {
				t.Fatalf("%s: %s %s: %d %s, %v", when, method, path, a.StatusCode, b, err)
			}
			return string(b)
		}
		started := ask("POST", "/v1/jobs", fmt.Sprintf(`{"key":"tea","program":"prices","args":".price","seeds":[%q]}`, shop.URL+"/"))
		_, now, _ := strings.Cut(started, `"id": "`)
		now, _, _ = strings.Cut(now, `"`)
		if id == "" {
			id = now
		}
		if lines := ask("GET", "/v1/jobs/"+id+"/results?follow=true", ""); now != id || !strings.Contains(lines, "3.50") || strings.Count(lines, "\n") != 1 {
			t.Errorf("%s: job %s, now %s: %s", when, id, now, lines)
		}
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
		web.Close()
	}
}
