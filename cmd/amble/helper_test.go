package main

import (
	"fmt"
	"net/http"
)

// page returns a handler for an HTML page with these links.
func page(title string, links ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>%s</title><h1>%s</h1>", title, title)
		for _, l := range links {
			fmt.Fprintf(w, "<a href=%q>%s</a>", l, l)
		}
	}
}
