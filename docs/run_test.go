package docs_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shopURL is the address of the bookshop in documents, where amble demo --serve serves it.
const shopURL = "http://127.0.0.1:8808/"

// sites matches the sites in the documents' examples. When the examples run, a bookshop on loopback replaces them.
var sites = regexp.MustCompile(`https://(?:[a-z]+\.)?site\.to\.crawl/|` + regexp.QuoteMeta(shopURL))

// notRun lists the beginnings of commands that no test runs, with the reasons. An asterisk stands for any document.
var notRun = []struct{ document, command, reason string }{
	{"*", "go install ", "installs the published version, from the network"},
	{"*", "go get ", "adds the published version, from the network: the test has a module that requires this one"},
	{"*", "go mod init ", "as above"},
	{"*", "go test ", "these are the tests, and benchmarks that take minutes"},
	{"*", "go tool pprof ", "reads what a benchmark wrote"},
	{"*", "amble demo --serve", "serves until Ctrl-C: TestDemoServes of the command"},
	{"*", "wget ", "another program"},
	{"*", "httrack ", "another program"},
	{"*", "scrapy ", "another program"},
	{"docs/crawl-a-documentation-tree.md", "", "needs nginx and a tree of files: its walk says when it was last done, and with what result"},
	{"docs/deploy.md", "docker ", "builds and starts containers: TestImage of tools/release, where there is Docker; TestComposeFiles checks what they run"},
	{"docs/deploy.md", "cd ", "as above"},
	{"docs/services.md", "amble serve ", "serves until Ctrl-C: TestServeEndsNormallyAndResumes of the command"},
	{"examples/README.md", "go run ./examples/service", "serves until Ctrl-C: TestClientsStartAndFollowJobs of the example"},
	{"docs/agents.md", "amble mcp ", "serves until Ctrl-C: TestAgentsAreServedByHTTP of the command"},
	{"docs/cluster.md", "amble cluster serve ", "serves until Ctrl-C: newShell starts one"},
	{"docs/cluster.md", "amble crawl --job shops --config ", "needs three machines: TestClusterOfProcesses of the command has them on loopback"},
	{"docs/cluster.md", "amble cluster job collect --job shops ", "as above"},
	{"docs/cluster.md", "amble cluster work --job shops ", "as above; TestClusterPages of the command has the page"},
	{"docs/cluster.md", "amble cluster job pause ", "the job needs three machines: TestClusterOrders of the command gives orders to one on loopback"},
	{"docs/cluster.md", "amble cluster job slower ", "as above"},
	{"docs/cluster.md", "amble cluster job set ", "as above"},
	{"docs/cluster.md", "amble cluster job drain ", "as above; TestClusterGrows has what follows"},
	{"docs/cluster.md", "amble cluster job grow ", "as above"},
	{"docs/cluster.md", "amble cluster job resume ", "as above"},
	{"docs/watch.md", "amble watch job --budget 2000/day --for 30d", "takes 30 days: TestWatchCommand of the command"},
	{"docs/measuring.md", "go run ./tools/bench/report ", "benchmarks that take minutes"},
	{"changelog/README.md", "go run ./tools/changelog ", "at a release, in a checkout: TestFold of that package"},
	{"docs/research-crawls.md", "amble estimate ", "the bookshop lists no pages in a sitemap: the script sample of the command"},
	{"docs/research-crawls.md", "npm ", "installs a reader of archives from the network"},
}

// shellCommand is a command line of a document, with the output shown below it.
type shellCommand struct {
	line   int
	text   string
	output []string // nil if the document shows none
}

// programs are the words that begin a command line of a document if no prompt marks it.
var programs = []string{"amble", "go", "jq", "wget", "httrack", "scrapy", "docker", "npm", ".ci/run", "mkdir", "cd"}

// variables matches variables that are set for one command.
var variables = regexp.MustCompile(`^(?:[A-Z_]+=(?:'[^']*'|\S*) )+`)

func isCommand(line string) bool {
	line = variables.ReplaceAllString(line, "")
	first, _, _ := strings.Cut(line, " ")
	return slices.Contains(programs, first) && line != first
}

// commands returns the command lines of a document: every line with a prompt in a console block, and lines in other blocks and in indented
// code that begin with a known program.
func (d document) commands() []shellCommand {
	var all []shellCommand
	for _, b := range d.blocks {
		switch b.lang {
		case "console":
			all = append(all, session(b)...)
		case "", "sh":
			if strings.HasPrefix(b.code, "#!") { // a script, run by TestCookbook
				continue
			}
			for i, line := range strings.Split(strings.ReplaceAll(b.code, "\\\n", ""), "\n") {
				if isCommand(line) {
					all = append(all, shellCommand{b.line + i, line, nil})
				}
			}
		}
	}
	for i, line := range strings.Split(d.text, "\n") {
		if code, ok := strings.CutPrefix(line, "    "); ok && isCommand(code) {
			all = append(all, shellCommand{i + 1, code, nil})
		}
	}
	slices.SortStableFunc(all, func(a, b shellCommand) int { return a.line - b.line })
	return all
}

// session returns the commands of a console block.
func session(b block) (all []shellCommand) {
	for i, line := range strings.Split(strings.TrimSuffix(b.code, "\n"), "\n") {
		if text, ok := strings.CutPrefix(line, "$ "); ok {
			all = append(all, shellCommand{line: b.line + i, text: text})
			continue
		}
		last := &all[len(all)-1]
		last.output = append(last.output, line)
	}
	return all
}

// reason returns why a command is not run, or "" if it is.
func reason(path, command string) string {
	for i, n := range notRun {
		if (n.document == "*" || n.document == path) && strings.HasPrefix(command, n.command) {
			excused[i] = true
			return n.reason
		}
	}
	return ""
}

// lacks reports whether a command needs jq but jq is not installed.
func lacks(command string) bool {
	_, err := exec.LookPath("jq")
	return err != nil && strings.Contains(command, "jq ")
}

// excused has the entries of notRun that were used.
var excused = map[int]bool{}

// TestCommandsRun runs every command line of every document, in order, in a directory for each document or example, with a bookshop on
// loopback instead of the sites. It compares the output with the document: "..." stands for any text, and durations, times and sizes may
// differ.
func TestCommandsRun(t *testing.T) {
	t.Parallel()
	program(t, "cmd/amble")
	n := 0
	for _, d := range documents(t) {
		var todo []shellCommand
		for _, c := range d.commands() {
			if reason(d.path, c.text) == "" && !lacks(c.text) {
				todo = append(todo, c)
			}
		}
		n += len(todo)
		for i, part := range d.apart(todo) {
			t.Run(fmt.Sprintf("%s/%d", d.path, i), func(t *testing.T) {
				t.Parallel()
				newShell(t, d).runAll(part)
			})
		}
	}
	if n < 40 {
		t.Errorf("only %d commands found", n)
	}
	for i, c := range notRun {
		if !excused[i] {
			t.Errorf("no document has a command %q any more", c.command)
		}
	}
}

// apart divides the commands of a document into parts that can run at the same time. The examples pause for a second after each request, so
// each of their blocks is a part.
func (d document) apart(todo []shellCommand) (parts [][]shellCommand) {
	for i, c := range todo {
		if i == 0 || strings.HasPrefix(d.path, "examples/") && c.line > todo[i-1].line+1 {
			parts = append(parts, nil)
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], c)
	}
	return parts
}

// shell runs the commands of one document.
type shell struct {
	t    *testing.T
	doc  document
	dir  string
	base string // origin of the site
	env  []string
}

// engine starts a server for cluster jobs, and returns its address.
func engine(t *testing.T) string {
	t.Helper()
	return serving(t, `nats://[0-9.:]+`, "cluster", "serve", "--name", "s1", "--dir", t.TempDir(), "--listen", "127.0.0.1:0", "--insecure")
}

// shop starts the bookshop of the documents, and returns its address.
func shop(t *testing.T) string {
	t.Helper()
	return serving(t, `http://127[0-9.:]+/`, "demo", "--serve", "--port", "0")
}

// serving runs a command that serves until the test ends, and returns the address that it prints first.
func serving(t *testing.T, address string, args ...string) string {
	t.Helper()
	return servingWith(t, nil, address, args...)
}

// servingWith is like serving, with environment variables.
func servingWith(t *testing.T, env []string, address string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program(t, "cmd/amble"), args...)
	cmd.Env = append(os.Environ(), env...)
	says, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	url := regexp.MustCompile(address)
	for lines := bufio.NewScanner(says); lines.Scan(); {
		if found := url.FindString(lines.Text()); found != "" {
			go func() { _, _ = io.Copy(io.Discard, says) }()
			return found
		}
	}
	t.Fatalf("amble %s does not say where it listens", strings.Join(args, " "))
	return ""
}

// newShell prepares what commands of documents refer to: a site, a crawl of it from yesterday, a list of seeds and, for a document with a
// program, the program's module.
func newShell(t *testing.T, d document) *shell {
	t.Helper()
	s := &shell{t: t, doc: d, base: small(t)}
	if !strings.HasPrefix(d.path, "examples/") { // examples pause for a second after each request
		s.base = shop(t)
	}
	s.dir = fixtures(t, s.base)
	if d.path == "docs/cluster.md" {
		s.env = []string{"AMBLE_CLUSTER=" + engine(t)}
	}
	if d.path == "docs/text.md" {
		s.run("amble crawl -q --archive -o monday " + s.base)
		s.run("amble crawl -q --archive -o tuesday " + s.base)
	}
	for _, b := range d.blocks {
		if d.path == "docs/tutorial.md" && b.lang == "go" {
			writeModule(t, s.dir)
			write(t, filepath.Join(s.dir, "main.go"), strings.ReplaceAll(b.code, shopURL, s.base))
		}
	}
	return s
}

// fixtures returns a directory with the files that commands of documents refer to.
func fixtures(t *testing.T, base string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"seeds.txt": base + "\n", "hosts.txt": strings.TrimSuffix(base, "/") + "\n", "key.txt": "secret\n",
		"job.yaml":    "agent: labbot/1.0\ncontact: https://lab.university.edu/crawl\ndelay: 0\n",
		"cookies.txt": "# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\tabc\n",
	} {
		write(t, filepath.Join(dir, name), text)
		if err := os.Chmod(filepath.Join(dir, name), 0o600); err != nil { // files with secrets need these permissions
			t.Fatal(err)
		}
	}
	return dir
}

// small serves a site of two pages and a feed, for programs that pause for a second after each request.
func small(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<title>Solar panels</title><link rel=alternate type=application/rss+xml href=/feed><p>the exact words of other works on a solar panel<a href=/two>two</a>")
	})
	mux.HandleFunc("GET /two", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<title>Two</title><a href=/>one</a>") })
	mux.HandleFunc("GET /feed", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/rss+xml")
		fmt.Fprint(w, "<rss version='2.0'><channel><item><link>/two</link></item></channel></rss>")
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL + "/"
}

func (s *shell) runAll(todo []shellCommand) {
	for i, c := range todo {
		if recipes := s.doc.path == "docs/cookbook.md"; recipes && i > 0 && c.line > todo[i-1].line+1 {
			s.dir = fixtures(s.t, s.base) // each recipe is independent
		}
		out, err := s.run(c.text)
		if broken := new(exec.ExitError); strings.HasPrefix(c.text, "amble check ") && errors.As(err, &broken) && broken.ExitCode() == 1 {
			err = nil // the shop has a broken link
		}
		if err != nil {
			s.t.Errorf("%s:%d: %s: %v\n%s", s.doc.path, c.line, c.text, err, out)
		} else if want := strings.Join(c.output, "\n"); c.output != nil && !like(out, want) {
			s.t.Errorf("%s:%d: %s prints\n%s\nthe document shows\n%s", s.doc.path, c.line, c.text, out, want)
		}
	}
}

// anyURL matches the origin of a URL. A command may name only the test site, the origin of the contact page, and the origin for which
// the cookbook sets a header.
var anyURL = regexp.MustCompile(`https?://[^/ '"]+`)

var goRun = regexp.MustCompile(`go run \./(?:cmd|examples)/`)

// run runs a command line and returns its output as the document would show it. Requests have no pauses unless the command sets one.
func (s *shell) run(line string) (string, error) {
	site, err := url.Parse(s.base)
	if err != nil {
		return "", err
	}
	line = goRun.ReplaceAllString(line, programsDir+"/")
	line = strings.ReplaceAll(sites.ReplaceAllString(line, s.base), "--host site.to.crawl", "--host "+site.Host)
	for _, u := range anyURL.FindAllString(line, -1) {
		if !slices.Contains([]string{strings.TrimSuffix(s.base, "/"), "https://lab.university.edu", "https://api.site.to.crawl"}, u) {
			return "", fmt.Errorf("it would request %s", u)
		}
	}
	cmd := exec.CommandContext(s.t.Context(), "sh", "-c", line)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "TMPDIR="+s.t.TempDir(), "PATH="+programsDir+string(os.PathListSeparator)+os.Getenv("PATH"), "AMBLE_DELAY=0",
		"GOFLAGS=-mod=mod -ldflags=-s", "GOPROXY=off", "GOWORK=off")
	cmd.Env = append(cmd.Env, s.env...)
	out, err := cmd.CombinedOutput()
	return strings.ReplaceAll(strings.ReplaceAll(string(out), s.base, shopURL), site.Host, "127.0.0.1:8808"), err
}

// varying matches parts of outputs that differ from run to run, with the blanks that align them, because the length of a port varies.
var varying = regexp.MustCompile(` +|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z|([0-9.]+(h|m|s|ms|µs))+\b|[0-9.]+ [KM]iB`)

// steady returns an output with placeholders for the varying parts.
func steady(s string) string {
	return varying.ReplaceAllStringFunc(strings.TrimRight(s, "\n"), func(m string) string {
		if m[0] == ' ' {
			return " "
		}
		return "~"
	})
}

// like reports whether an output matches what a document shows.
func like(got, want string) bool {
	pattern := regexp.QuoteMeta(steady(want))
	pattern = regexp.MustCompile(`(?m)^\\\.\\\.\\\.\n?`).ReplaceAllString(pattern, `(?:.*\n)*?`)
	pattern = strings.ReplaceAll(pattern, `\.\.\.`, `.*`)
	return regexp.MustCompile(`^` + pattern + `\n*$`).MatchString(steady(got) + "\n")
}

func TestLike(t *testing.T) {
	for _, c := range []struct {
		got, want string
		like      bool
	}{
		{"19 pages in 2.2s: done\n", "19 pages in 40ms: done", true},
		{"19 pages in 2.2s: done\n", "18 pages in 2.2s: done", false},
		{"a\nb\nc\n", "a\n...", true}, {"a\nb\nc\n", "a\n...\nc", true}, {"a\nb\nc\n", "a\n...\nd", false}, {"a\nb\n", "a", false},
		{"host  200ms  least 6m40.2s\n", "host  ...  least ...", true}, {"1.9 KiB\n", "200 KiB", true}, {"2026-11-22T15:33:38.12Z\n", "2026-11-21T00:00:00Z", true},
	} {
		if like(c.got, c.want) != c.like {
			t.Errorf("%q like %q: %v", c.got, c.want, !c.like)
		}
	}
}

// TestNoCommandIsHidden checks that a block without a language shows no prompt: only console blocks are compared.
func TestNoCommandIsHidden(t *testing.T) {
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if b.lang != "console" && strings.HasPrefix(b.code, "$ ") {
				t.Errorf("%s:%d: a block with a prompt is not a console block", d.path, b.line)
			}
		}
	}
}
