package main

import (
	"context"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

// TestProgram runs main unchanged with a real server on loopback, which needs no contact.
func TestProgram(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "User-agent: *\nDisallow: /\nAllow: /$\n")
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<!doctype html><a href="//site.invalid/">out of scope</a>`)
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	out := stdout(t, func() {
		defer func(args []string, f *flag.FlagSet) { os.Args, flag.CommandLine = args, f }(os.Args, flag.CommandLine)
		os.Args, flag.CommandLine = []string{"quickstart", srv.URL}, flag.NewFlagSet("quickstart", flag.ContinueOnError)
		main()
	})
	want := "fetched 200 " + srv.URL + "/\n"
	if out != want {
		t.Errorf("printed\n%swant\n%s", out, want)
	}
}

// stdout returns what f prints.
func stdout(t *testing.T, f func()) string {
	t.Helper()
	tmp, err := os.Create(t.TempDir() + "/stdout")
	if err != nil {
		t.Fatal(err)
	}
	defer tmp.Close()
	defer func(old *os.File) { os.Stdout = old }(os.Stdout)
	os.Stdout = tmp
	f()
	if _, err := tmp.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(tmp)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestBody limits the program to twelve lines, and the program's Config to the one field without a default.
func TestBody(t *testing.T) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "main.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if lines := fset.Position(n.Body.Rbrace).Line - fset.Position(n.Body.Lbrace).Line - 1; lines > 12 {
				t.Errorf("%s has %d lines", n.Name, lines)
			}
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				if key := e.(*ast.KeyValueExpr).Key.(*ast.Ident).Name; key != "Contact" {
					t.Errorf("the Config sets %s: the defaults must be enough", key)
				}
			}
		}
		return true
	})
}

// TestDefaults runs the same crawl on an endless simulated web: with only a contact it is limited and polite, and identifies itself.
func TestDefaults(t *testing.T) {
	const contact = "https://lab.university.edu/crawl"
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble", Contact: contact})
		w.Site("https://other.example").Page("/", "not ours")
		s := w.Site("https://site.example").Latency(20 * time.Millisecond)
		s.Robots("User-agent: *\nDisallow: /no/\n").Forbids("/no/*")
		s.Handle("/*", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<a href="https://other.example/">x</a><a href="/no/x">x</a>`)
			for i := range 10 {
				fmt.Fprintf(w, `<a href="%s%d/">x</a>`, r.URL.Path, i)
			}
		}))
		cfg := crawler.Config{Contact: contact}
		w.Apply(&cfg)
		c, err := crawler.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		visits := map[crawler.Outcome]int{}
		for v, err := range c.Pages(context.Background(), s.URL("/")) {
			if err != nil {
				t.Fatal(err)
			}
			visits[v.Outcome]++
			if v.Depth > crawler.DefaultMaxDepth {
				t.Errorf("%s at depth %d", v.URL, v.Depth)
			}
		}
		if visits[crawler.Fetched] != crawler.DefaultMaxPages {
			t.Errorf("visits %v, want %d fetched", visits, crawler.DefaultMaxPages)
		}
		if other := w.Visited("other.example"); len(other) != 0 {
			t.Errorf("asked another host for %s", strings.Join(other, " "))
		}
	})
}
