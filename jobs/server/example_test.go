package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"

	"github.com/amble-crawler/amble/jobs"
	"github.com/amble-crawler/amble/jobs/server"
)

// A client starts a job on the server, and reads the results until the job has ended.
func Example() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>Tea, 100 g</title>")
	}))
	defer site.Close()
	dir, err := os.MkdirTemp("", "jobs")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	const secret = "9d1c6f0fb0a94b5e8a6a4e2f0c7d3b1a"
	token, err := server.NewToken("shop", secret, server.Read, server.Write)
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := server.Open(dir, server.Config{
		Tokens:         []server.Token{token},
		AllowAddresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, // the site is on this machine
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close(context.Background()) }()
	api := httptest.NewServer(s)
	defer api.Close()

	ask := func(method, path string, body []byte) []byte {
		r, err := http.NewRequestWithContext(context.Background(), method, api.URL+path, bytes.NewReader(body))
		if err != nil {
			fmt.Println(err)
			return nil
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Content-Type", "application/json")
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			fmt.Println(err)
			return nil
		}
		defer func() { _ = a.Body.Close() }() // the body has been read
		b, err := io.ReadAll(a.Body)
		if err != nil {
			fmt.Println(err)
		}
		return b
	}
	var info jobs.Info
	request := fmt.Sprintf(`{"key": "tea", "seeds": [%q]}`, site.URL+"/")
	if err := json.Unmarshal(ask("POST", "/v1/jobs", []byte(request)), &info); err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(string(ask("GET", "/v1/jobs/"+info.ID+"/results?follow=true", nil))) {
		var visit struct{ Outcome string }
		if err := json.Unmarshal([]byte(line), &visit); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(visit.Outcome)
	}
	// Output: fetched
}
