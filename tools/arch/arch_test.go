package arch

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/amble-crawler/amble"

var update = flag.Bool("update", false, "rewrite the golden of the exported API")

// pkg represents one package of the module by its parsed files, without tests.
type pkg struct {
	dir   string // relative to the module's root, with slashes
	files map[string]*ast.File
	build *build.Package
}

// workspace lists the directories of the modules that are developed together, as go.work does.
var workspace = []string{".", "examples", "tools"}

// load parses every package of the workspace.
func load(t *testing.T) (map[string]*pkg, *token.FileSet) {
	t.Helper()
	root := filepath.Join("..", "..")
	fset := token.NewFileSet()
	pkgs := map[string]*pkg{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		if d.Name() == "testdata" || p != root && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil && !slices.Contains(workspace, filepath.ToSlash(rel)) {
			return fs.SkipDir
		}
		bp, err := build.ImportDir(p, 0)
		if bp == nil || len(bp.GoFiles) == 0 {
			return nil // no Go files, or only tests
		}
		if err != nil {
			return err
		}
		k := &pkg{dir: filepath.ToSlash(rel), files: map[string]*ast.File{}, build: bp}
		for _, name := range bp.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p, name), nil, parser.ParseComments)
			if err != nil {
				return err
			}
			k.files[path.Join(k.dir, name)] = f
		}
		pkgs[k.dir] = k
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pkgs, fset
}

// sorted iterates over a map in the order of its keys.
func sorted[K cmp.Ordered, V any](m map[K]V) func(func(K, V) bool) {
	return func(yield func(K, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

func TestImportGraph(t *testing.T) {
	f, err := os.Open("imports.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	allowed := map[string][]string{}
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, deps, ok := strings.Cut(line, ":")
		if !ok {
			t.Fatalf("imports.txt: %q has no colon", line)
		}
		allowed[name] = strings.Fields(deps)
	}
	pkgs, _ := load(t)
	for dir, p := range sorted(pkgs) {
		deps, ok := allowed[dir]
		if !ok {
			t.Errorf("%s is not in imports.txt", dir)
			continue
		}
		for _, imp := range p.build.Imports {
			rel, ours := strings.CutPrefix(imp, module+"/")
			if ours && !slices.Contains(deps, rel) {
				t.Errorf("%s must not import %s", dir, rel)
			}
		}
	}
}

// thirdParty lists the modules that each package may import outside of its tests. Only packages that need a module may import it.
var thirdParty = map[string][]string{
	"weburl":               {"github.com/PuerkitoBio/purell", "github.com/nlnwa/whatwg-url", "golang.org/x/net/publicsuffix", "golang.org/x/net/idna", "github.com/zeebo/xxh3"},
	"robots":               {},
	"consent":              {},
	"politeness":           {"golang.org/x/time/rate"},
	"politeness/challenge": {"golang.org/x/net/html"},
	"fetcher": {
		"github.com/andybalholm/brotli", "github.com/klauspost/compress", "golang.org/x/net", "golang.org/x/text",
		"github.com/wlynxg/chardet",
	},
	"crawler":           {"github.com/zeebo/xxh3", "golang.org/x/net/html"}, // x/net/html has the type of Visit.Tree
	"cluster":           {"github.com/klauspost/compress"},
	"cluster/nats":      {"github.com/nats-io/nats.go"},
	"extract":           {"golang.org/x/net/html"},
	"article":           {"golang.org/x/net/html"},
	"article/document":  {"golang.org/x/net/html", "golang.org/x/sys/unix", "golang.org/x/text", "github.com/pdfcpu/pdfcpu"},
	"article/language":  {},
	"schema":            {"golang.org/x/net/html"},
	"crawler/forms":     {"golang.org/x/net/html"},
	"extract/css":       {"golang.org/x/net/html", "github.com/andybalholm/cascadia"},
	"frontier/disk":     {"github.com/cockroachdb/pebble/v2"},
	"identity":          {"github.com/dunglas/httpsfv", "golang.org/x/net/html"},
	"sink/warc":         {"github.com/klauspost/compress"},
	"sink/sqlite":       {"modernc.org/sqlite"},
	"job/check":         {"golang.org/x/net/html"},
	"job/export/mirror": {"golang.org/x/net/html", "golang.org/x/text/unicode/norm"},
	"job/export/sqlite": {"modernc.org/sqlite"},
	"job/export/text":   {"golang.org/x/text/language", "github.com/zeebo/xxh3"},

	"stores/s3": {"github.com/minio/minio-go/v7", "gopkg.in/ini.v1"},

	"job/export/corpus":  {"github.com/klauspost/compress"},
	"job/export/parquet": {"github.com/parquet-go/parquet-go"},
	"sink/items/parquet": {"github.com/parquet-go/parquet-go"},

	"weburl/charset": {"golang.org/x/text/encoding"},

	"render":            {"golang.org/x/net/html"},
	"render/chromium":   {"github.com/chromedp/cdproto"},
	"render/rendertest": {"golang.org/x/net/html"},

	"cluster/natsserver": {"github.com/nats-io/nats-server/v2"},
	"sink/warc/warctest": {"github.com/klauspost/compress"},
	"crawltest":          {"golang.org/x/tools/txtar"},
	"crawltest/fixture":  {"golang.org/x/tools/txtar"},

	"examples/search": {"golang.org/x/net/html", "modernc.org/sqlite"},

	"crawler/metrics":            {"github.com/prometheus/client_golang"},
	"cmd/amble/internal/monitor": {"github.com/prometheus/client_golang"}, // metrics of nodes and servers
	"jobs":                       {"github.com/robfig/cron/v3"},
	"jobs/server":                {"golang.org/x/net/netutil", "golang.org/x/time/rate"},
	"job":                        {"go.yaml.in/yaml/v4", "golang.org/x/sys"}, // job files; free space on a disk
	"cmd/amble":                  {"github.com/alecthomas/kong"},
	"tools/release":              {"github.com/goreleaser/nfpm/v2", "github.com/google/go-containerregistry", "golang.org/x/crypto/x509roots/fallback/bundle"},

	"cmd/amble/internal/completion": {"github.com/alecthomas/kong"},
	"cmd/amble/internal/keyflags":   {"github.com/alecthomas/kong"},
	"cmd/amble/internal/live":       {"github.com/prometheus/client_golang", "golang.org/x/net/netutil"},
	"cmd/amble/internal/mcp":        {"github.com/modelcontextprotocol/go-sdk"},
	"cmd/amble/internal/shell":      {"golang.org/x/net/html", "golang.org/x/term"}, // the tree of a page; line editing
	"cmd/amble/internal/terminal":   {"golang.org/x/term", "golang.org/x/text/width"},
}

func TestThirdParty(t *testing.T) {
	pkgs, _ := load(t)
	for dir, p := range sorted(pkgs) {
		for _, imp := range p.build.Imports {
			host, _, _ := strings.Cut(imp, "/")
			if !strings.Contains(host, ".") || strings.HasPrefix(imp, module) {
				continue
			}
			if !slices.ContainsFunc(thirdParty[dir], func(m string) bool { return imp == m || strings.HasPrefix(imp, m+"/") }) {
				t.Errorf("%s must not import %s", dir, imp)
			}
		}
	}
}

// privilege represents an operation that only some packages may perform. names maps the path of a package
// to the names that it exports for the operation, and "" to names of methods of any type.
type privilege struct {
	what    string
	holders []string
	names   map[string][]string
}

// network lists the privileges for using the network. Code that makes requests or looks up names for them could bypass the gate (the
// command looks up only the operator's own addresses, to check what is published about them). Code that listens can be reached from
// outside. jobs/server calls webhooks that the operator has allowed.
var network = []privilege{
	{"make requests", []string{"fetcher", "crawltest", "jobs/server"}, map[string][]string{
		"net/http":   {"Get", "Head", "Post", "PostForm", "Client", "DefaultClient", "DefaultTransport", "Transport", "NewRequest", "NewRequestWithContext"},
		"net":        {"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialIP", "DialUnix", "Dialer", "FileConn", "FilePacketConn"},
		"crypto/tls": {"Dial", "DialWithDialer", "Dialer", "Client"},
	}},
	{"look up names", []string{"fetcher", "cmd/amble"}, map[string][]string{
		"net": {
			"LookupAddr", "LookupCNAME", "LookupHost", "LookupIP", "LookupMX", "LookupNS", "LookupPort", "LookupSRV", "LookupTXT",
			"Resolver", "DefaultResolver", "ResolveIPAddr", "ResolveTCPAddr", "ResolveUDPAddr",
		},
	}},
	// Only the function that the operator's program sets as crawler.Config.Login may submit forms.
	{"submit forms", []string{"fetcher"}, map[string][]string{module + "/politeness": {"Login"}, "": {"Post"}}},
	{"log in", []string{"fetcher", "crawler", "crawler/forms", "job"}, map[string][]string{"": {"Login"}}},
	{"listen", []string{"cmd/amble/internal/demo", "cmd/amble/internal/live", "crawltest", "jobs/server", "render/chromium"}, map[string][]string{
		"net": {
			"Listen", "ListenConfig", "ListenIP", "ListenMulticastUDP", "ListenPacket", "ListenTCP", "ListenUDP", "ListenUnix",
			"ListenUnixgram", "FileListener",
		},
		"net/http":   {"ListenAndServe", "ListenAndServeTLS"},
		"crypto/tls": {"Listen"},
		"":           {"ListenAndServe", "ListenAndServeTLS"},
	}},
}

func TestPrivileges(t *testing.T) {
	pkgs, fset := load(t)
	for dir, p := range sorted(pkgs) {
		for _, v := range network {
			if slices.Contains(v.holders, dir) || dir == "tools/rivals" { // tools/rivals has its own simulated sites
				continue
			}
			for _, f := range sorted(p.files) {
				for _, use := range v.uses(f) {
					t.Errorf("%v: only %v may %s", fset.Position(use.Pos()), v.holders, v.what)
				}
			}
		}
	}
}

// uses returns the nodes of a file at which the privilege is used.
func (v privilege) uses(f *ast.File) (found []ast.Node) {
	names := importNames(f)
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec: // with a dot import, names stand without the name of the package
			if n.Name != nil && n.Name.Name == "." && v.names[strings.Trim(n.Path.Value, `"`)] != nil {
				found = append(found, n)
			}
		case *ast.SelectorExpr:
			of := "" // the path "" is for methods and fields
			if id, ok := n.X.(*ast.Ident); ok {
				of = names[id.Name]
			}
			if slices.Contains(v.names[of], n.Sel.Name) {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// gateCalls lists the methods of politeness.Gate that decide about requests, with their numbers of arguments.
var gateCalls = map[string]int{"Admit": 1, "Report": 2, "Failed": 3}

// TestOneOrderOfCalls checks that only fetcher.Client calls these methods of the gate, so that their order is written down in one place.
func TestOneOrderOfCalls(t *testing.T) {
	pkgs, fset := load(t)
	var at []string
	for dir, p := range sorted(pkgs) {
		if !slices.Contains(p.build.Imports, module+"/politeness") {
			continue
		}
		for name, f := range sorted(p.files) {
			for _, n := range callsOfGate(f) {
				if at = append(at, n.Sel.Name); name != "fetcher/client.go" {
					t.Errorf("%v: %s calls %s: only fetcher.Client may", fset.Position(n.Pos()), dir, n.Sel.Name)
				}
			}
		}
	}
	if slices.Sort(at); !slices.Equal(at, []string{"Admit", "Failed", "Report"}) {
		t.Errorf("calls of the gate: %v, want one of each", at)
	}
}

func callsOfGate(f *ast.File) (found []*ast.SelectorExpr) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); ok {
			if n, ok := gateCalls[s.Sel.Name]; ok && n == len(call.Args) {
				found = append(found, s)
			}
		}
		return true
	})
	return found
}

// importNames returns the paths of the packages that a file imports, by the names under which it imports them.
func importNames(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, s := range f.Imports {
		p := strings.Trim(s.Path.Value, `"`)
		name := path.Base(p)
		if s.Name != nil {
			name = s.Name.Name
		}
		names[name] = p
	}
	return names
}

// starters lists the packages that may start goroutines. Each of them waits for the goroutines that it has started.
var starters = privilege{"start goroutines", []string{"article/document", "cluster", "cluster/work", "crawler", "crawltest", "fetcher", "frontier/disk", "cmd/amble", "cmd/amble/internal/demo", "internal/jsonl", "job", "job/export/text", "jobs", "jobs/server", "cmd/amble/internal/live", "cmd/amble/internal/terminal", "cmd/amble/internal/view", "render/chromium", "sink/items"}, map[string][]string{
	"":        {"Go"}, // the method Go of sync.WaitGroup and similar types
	"time":    {"AfterFunc"},
	"context": {"AfterFunc"},
}}

func TestGoroutinesHaveOwners(t *testing.T) {
	pkgs, fset := load(t)
	for dir, p := range sorted(pkgs) {
		if slices.Contains(starters.holders, dir) || dir == "tools/rivals" || strings.HasPrefix(dir, "examples/") || strings.HasSuffix(dir, "test") {
			continue
		}
		for _, f := range sorted(p.files) {
			for _, n := range append(starters.uses(f), goStatements(f)...) {
				t.Errorf("%v: %s starts goroutines: only %v may", fset.Position(n.Pos()), dir, starters.holders)
			}
		}
	}
}

func goStatements(f *ast.File) (found []ast.Node) {
	ast.Inspect(f, func(n ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok {
			found = append(found, g)
		}
		return true
	})
	return found
}

// These tests check that the checks above detect violations.
func TestPrivilegesAreSeen(t *testing.T) {
	for body, want := range map[string]string{
		`net.Dial("tcp", "a:1")`:                       "make requests",
		`d := net.Dialer{}; _ = d`:                     "make requests",
		`http.DefaultClient.Do(nil)`:                   "make requests",
		`f := web.Get; _ = f`:                          "make requests",
		`net.LookupHost("a")`:                          "look up names",
		`net.DefaultResolver.LookupNetIP(nil, "", "")`: "look up names",
		`var r net.Resolver; _ = r`:                    "look up names",
		`f.Post(nil, p, nil)`:                          "submit forms",
		`x := politeness.Login; _ = x`:                 "submit forms",
		`c.Login(nil, u, nil)`:                         "log in",
		`net.Listen("tcp", ":0")`:                      "listen",
		`new(net.ListenConfig).Listen(nil, "", "")`:    "listen",
		`net.ListenUDP("udp", nil)`:                    "listen",
		`http.ListenAndServe(":80", nil)`:              "listen",
		`(&http.Server{}).ListenAndServe()`:            "listen",
		`var wg sync.WaitGroup; wg.Go(f)`:              "start goroutines",
		`time.AfterFunc(1, f)`:                         "start goroutines",
		`context.AfterFunc(nil, f)`:                    "start goroutines",
		`go f()`:                                       "start goroutines",
		`var l net.Listener; l.Close()`:                "",
		`http.NewServeMux()`:                           "",
		`x.Listen()`:                                   "",
	} {
		src := "package p\nimport (\"net\"; \"net/http\"; web \"net/http\"; \"sync\"; \"time\"; \"context\"; \"" + module + "/politeness\")\nfunc g() { " + body + " }"
		f, err := parser.ParseFile(token.NewFileSet(), "p.go", src, 0)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		var got []string
		for _, v := range append(network[:len(network):len(network)], starters) {
			found := v.uses(f)
			if v.what == starters.what {
				found = append(found, goStatements(f)...)
			}
			if len(found) > 0 {
				got = append(got, v.what)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: seen as %q, want %q", body, got, want)
		}
	}
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\nimport . \"net\"", 0)
	if err != nil || len(network[0].uses(f)) == 0 {
		t.Errorf("a dot import is not seen, %v", err)
	}
}

// No program of the module links test code: package testing would add its flags, and simulated webs would add to its size.
func TestProgramsLinkNoTests(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/...", "./examples/...")
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		switch {
		case dep == "testing", strings.HasPrefix(dep, "testing/"), dep == "net/http/httptest", dep == module+"/crawltest",
			strings.HasPrefix(dep, module) && strings.HasSuffix(dep, "test"):
			t.Errorf("a program links %s: go list -deps -f '{{.ImportPath}}: {{.Imports}}' ./cmd/... ./examples/... says by what", dep)
		}
	}
	if !strings.Contains(string(out), module+"/crawler\n") {
		t.Errorf("go list says nothing of the programs: %.200s", out)
	}
}

func TestNothingGlobalChanges(t *testing.T) {
	pkgs, fset := load(t)
	for _, p := range sorted(pkgs) {
		vars := packageVars(p)
		for _, f := range sorted(p.files) {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if n.Name.Name == "init" && n.Recv == nil {
						t.Errorf("%v: init: composition is code that is called", fset.Position(n.Pos()))
					}
				case *ast.AssignStmt:
					if n.Tok == token.DEFINE {
						return true
					}
					for _, l := range n.Lhs {
						reportVar(t, fset, vars, l)
					}
				case *ast.IncDecStmt:
					reportVar(t, fset, vars, n.X)
				}
				return true
			})
		}
	}
}

// packageVars returns the names of the variables that a package declares at package level.
func packageVars(p *pkg) map[string]bool {
	vars := map[string]bool{}
	for _, f := range p.files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				for _, n := range s.(*ast.ValueSpec).Names {
					vars[n.Name] = true
				}
			}
		}
	}
	return vars
}

// reportVar reports an assignment whose target begins with the name of a package-level variable. As only names are compared, a local
// variable must not have the same name as one of these.
func reportVar(t *testing.T, fset *token.FileSet, vars map[string]bool, x ast.Expr) {
	t.Helper()
	for {
		switch e := x.(type) {
		case *ast.IndexExpr:
			x = e.X
			continue
		case *ast.SelectorExpr:
			x = e.X
			continue
		case *ast.Ident:
			if vars[e.Name] && e.Name != "_" {
				t.Errorf("%v: assigns to %s, the name of a package variable", fset.Position(e.Pos()), e.Name)
			}
		}
		return
	}
}

func public(dir string) bool {
	return !strings.HasPrefix(dir, "cmd/") && !strings.HasPrefix(dir, "examples/") && !strings.HasPrefix(dir, "tools/") && !strings.Contains(dir, "internal")
}

func TestExportedNamesAreDocumented(t *testing.T) {
	pkgs, fset := load(t)
	for dir, p := range sorted(pkgs) {
		if !public(dir) {
			continue
		}
		documented := false
		for _, f := range sorted(p.files) {
			documented = documented || f.Doc != nil
			for _, d := range f.Decls {
				checkDoc(t, fset, d)
			}
		}
		if !documented {
			t.Errorf("package %s has no comment", dir)
		}
	}
}

// selfEvident lists methods that need no comment in any package, because their names say everything.
var selfEvident = []string{"Error", "String", "Unwrap"}

func checkDoc(t *testing.T, fset *token.FileSet, d ast.Decl) {
	t.Helper()
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && exportedReceiver(d) && d.Doc == nil && !slices.Contains(selfEvident, d.Name.Name) {
			t.Errorf("%v: %s has no comment", fset.Position(d.Pos()), d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
					t.Errorf("%v: %s has no comment", fset.Position(s.Pos()), s.Name.Name)
				}
			case *ast.ValueSpec:
				if s.Names[0].IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
					t.Errorf("%v: %s has no comment", fset.Position(s.Pos()), s.Names[0].Name)
				}
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	x := d.Recv.List[0].Type
	for {
		switch e := x.(type) {
		case *ast.StarExpr:
			x = e.X
			continue
		case *ast.IndexExpr:
			x = e.X
			continue
		case *ast.Ident:
			return e.IsExported()
		}
		return false
	}
}

// TestAPI compares the exported names with a golden file, so that every change of the API is visible.
func TestAPI(t *testing.T) {
	pkgs, fset := load(t)
	var b strings.Builder
	for dir, p := range sorted(pkgs) {
		if !public(dir) || dir == "." {
			continue
		}
		var lines []string
		for _, f := range sorted(p.files) {
			for _, d := range f.Decls {
				lines = append(lines, exported(fset, d)...)
			}
		}
		slices.Sort(lines)
		fmt.Fprintf(&b, "%s\n", dir)
		for _, l := range lines {
			fmt.Fprintf(&b, "\t%s\n", l)
		}
	}
	golden := filepath.Join("testdata", "api.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the exported API differs from %s:\n%s\nIf that is meant: go test ./tools/arch -update", golden, diff(string(want), b.String()))
	}
}

// exported returns the exported names of a declaration, one per line, with their types.
func exported(fset *token.FileSet, d ast.Decl) []string {
	var lines []string
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && exportedReceiver(d) {
			c := *d
			c.Body, c.Doc = nil, nil
			lines = append(lines, source(fset, &c))
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					lines = append(lines, "type "+s.Name.Name+" "+kindOf(s.Type))
					lines = append(lines, fields(fset, s)...)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() {
						lines = append(lines, d.Tok.String()+" "+n.Name)
					}
				}
			}
		}
	}
	return lines
}

func kindOf(x ast.Expr) string {
	switch x.(type) {
	case *ast.StructType:
		return "struct"
	case *ast.InterfaceType:
		return "interface"
	case *ast.FuncType:
		return "func"
	}
	return "defined"
}

func fields(fset *token.FileSet, s *ast.TypeSpec) []string {
	var list *ast.FieldList
	switch x := s.Type.(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list = x.Methods
	default:
		return nil
	}
	var lines []string
	for _, f := range list.List {
		for _, n := range f.Names {
			if n.IsExported() {
				lines = append(lines, "type "+s.Name.Name+"."+n.Name+" "+source(fset, f.Type))
			}
		}
		if len(f.Names) == 0 {
			lines = append(lines, "type "+s.Name.Name+" embeds "+source(fset, f.Type))
		}
	}
	return lines
}

func source(fset *token.FileSet, n ast.Node) string {
	var b strings.Builder
	if err := format.Node(&b, fset, n); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// diff returns the lines that are only in one of the two texts.
func diff(want, got string) string {
	var b strings.Builder
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, l := range w {
		if !slices.Contains(g, l) {
			fmt.Fprintf(&b, "- %s\n", l)
		}
	}
	for _, l := range g {
		if !slices.Contains(w, l) {
			fmt.Fprintf(&b, "+ %s\n", l)
		}
	}
	return b.String()
}

// Files in a job directory or a temporary folder may be FIFOs or devices, and a setting may name a file without an end. Therefore public
// packages and the command open files with package safefile. The exceptions open files that this process or the kernel has written.
func TestFilesOfOthersAreOpenedSafely(t *testing.T) {
	exceptions := []string{"cmd/amble/cmd_demo.go", "crawltest/", "sink/warc/warctest/", "sink/sinktest/", "job/export/exporttest/", "render/chromium/system_linux.go", "examples/", "tools/"}
	pkgs, fset := load(t)
	for _, p := range sorted(pkgs) {
		for name, f := range sorted(p.files) {
			in := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
			if slices.ContainsFunc(exceptions, in) || in("internal/") {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if x, ok := n.(*ast.SelectorExpr); ok {
					if pkg, ok := x.X.(*ast.Ident); ok && pkg.Name == "os" && (x.Sel.Name == "Open" || x.Sel.Name == "ReadFile") {
						t.Errorf("%v: os.%s: use package internal/safefile", fset.Position(x.Pos()), x.Sel.Name)
					}
				}
				return true
			})
		}
	}
}

// TestModulesAgree checks that each module of the workspace requires the versions that the workspace chooses. If a module is then built
// alone, as the programs in the documents are, it needs no module that the workspace has not downloaded.
func TestModulesAgree(t *testing.T) {
	root := filepath.Join("..", "..")
	cmd := exec.Command("go", "list", "-m", "all")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	chosen := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 2 {
			chosen[f[0]] = f[1]
		}
	}
	for _, dir := range []string{root, filepath.Join(root, "examples"), filepath.Join(root, "tools")} {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
			if len(f) < 2 || !strings.HasPrefix(f[1], "v") {
				continue
			}
			if v := chosen[f[0]]; v != "" && v != f[1] {
				t.Errorf("%s/go.mod requires %s %s, and the workspace uses %s: GOWORK=off go get %s@%s there", dir, f[0], f[1], v, f[0], v)
			}
		}
	}
}
