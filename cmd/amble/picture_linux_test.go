package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/cmd/amble/internal/demo"
	"github.com/amble-crawler/amble/cmd/amble/internal/terminal"
	"github.com/amble-crawler/amble/cmd/amble/internal/terminal/vt"
)

const (
	pictureFile    = "../../docs/terminal.svg"
	pictureColumns = 92
	pictureRows    = 40
	pictureShop    = "http://127.0.0.1:8808/" // the address at which amble demo --serve serves the shop
	pictureTime    = 4800 * time.Millisecond  // accessibility rules require that the reader can stop an animation of more than five seconds
)

// watched runs a crawl of the bookshop on a terminal, and calls see after every output.
func watched(t *testing.T, see func(*vt.Terminal)) {
	t.Helper()
	port := 0
	if *updateGoldens {
		port = 8808
	}
	web, err := demo.Shop(port)
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	pty, tty, err := vt.Open(pictureColumns, pictureRows)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	defer pty.Close()
	cmd := exec.Command("amble", "crawl", "-d", "2", "-w", "200ms", web.Hosts[0].Base)
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{"TERM=xterm"}, tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	screen, buf := vt.New(pictureColumns, pictureRows), make([]byte, 4096)
	for {
		n, err := pty.Read(buf)
		here, there := authority(web.Hosts[0].Base), authority(pictureShop)
		name := strings.NewReplacer(here, there, strings.ReplaceAll(here, ":", "-"), strings.ReplaceAll(there, ":", "-"))
		_, _ = screen.Write([]byte(name.Replace(string(buf[:n]))))
		see(screen)
		if err != nil { // EIO: the last writer has closed the terminal
			break
		}
	}
	if err := cmd.Wait(); err != nil || len(screen.Odd) > 0 {
		t.Errorf("%v, odd controls %v\n%s", err, screen.Odd, screen)
	}
}

var (
	pictureLine = regexp.MustCompile(`<text [^>]*class="(on|now)"[^>]*>(.*)</text>`)
	pictureTag  = regexp.MustCompile(`<[^>]*>`)
	statusText  = regexp.MustCompile(`^[0-9]+ pages?  [0-9.]+/s  [0-9]+ queued  eta [0-9a-z?]+  hosts `)
	sentences   = strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&gt;", ">", "&lt;", "<", "&amp;", "&")
)

// pictured returns the lines of text in an SVG picture that have this class.
func pictured(picture []byte, class string) (lines []string) {
	for _, m := range pictureLine.FindAllStringSubmatch(string(picture), -1) {
		if m[1] == class {
			lines = append(lines, strings.TrimRight(sentences.Replace(pictureTag.ReplaceAllString(m[2], "")), " "))
		}
	}
	return lines
}

// TestTerminalPicture compares terminal.svg, an animation of a crawl on a terminal, with a new crawl. Permanent lines must be the same; in
// the summary only the first word of each line. All other lines must be a status. The file is written by
//
//	go test ./cmd/amble -run TerminalPicture -update
func TestTerminalPicture(t *testing.T) {
	t.Parallel()
	film, end := vt.NewFilm(pictureColumns), ""
	watched(t, func(s *vt.Terminal) {
		film.Add(s)
		end = s.String()
	})
	if *updateGoldens {
		prompt := append(vt.Cells("$ ", terminal.Dim), vt.Cells("amble crawl -d 2 -w 200ms "+pictureShop, terminal.Bold)...)
		picture := film.SVG("A crawl on a terminal: a line for each URL, a status below, and a summary at the end", prompt, pictureTime)
		if err := os.WriteFile(pictureFile, []byte(picture), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	picture, err := os.ReadFile(pictureFile)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, line := range strings.Split(end, "\n") {
		if line != "" {
			want = append(want, line)
		}
	}
	got, named := pictured(picture, "on"), false
	if len(got) != len(want) || len(got) < 20 {
		t.Fatalf("the picture has %d lines that stay, the terminal %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i, line := range got {
		if named = named || strings.Contains(line, " pages in "); named {
			line, want[i] = firstWord(line), firstWord(want[i])
		}
		if line != want[i] {
			t.Errorf("line %d of the picture is\n%s, on the terminal\n%s", i+1, line, want[i])
		}
	}
	during := pictured(picture, "now")
	for _, line := range during {
		if !statusText.MatchString(line) {
			t.Errorf("neither stays, nor is a status: %s", line)
		}
	}
	if len(during) < 5 {
		t.Errorf("the picture shows a status %d times", len(during))
	}
}

func firstWord(line string) string { return strings.Fields(line)[0] }

// authority returns the host and port of a URL that has an empty path or "/".
func authority(base string) string {
	return strings.TrimSuffix(strings.TrimPrefix(base, "http://"), "/")
}
