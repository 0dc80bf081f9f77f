package docs_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/amble-crawler/amble/internal/demo"
	"github.com/amble-crawler/amble/internal/terminal"
	"github.com/amble-crawler/amble/internal/terminal/vt"
)

const (
	pictureFile    = "terminal.svg"
	pictureColumns = 88
)

// watched runs a crawl of the bookshop on a terminal, and calls see after every write.
func watched(t *testing.T, see func(*vt.Terminal)) {
	t.Helper()
	port := 0
	if *update {
		port = 8808
	}
	web, err := demo.Shop(port)
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	pty, tty, err := vt.Open(pictureColumns, 24)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	defer pty.Close()
	cmd := exec.Command(program(t, "cmd/amble"), "crawl", "-w", "100ms", web.Hosts[0].Base)
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{"TERM=xterm"}, tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	screen, buf := vt.New(pictureColumns, 24), make([]byte, 4096)
	for {
		n, err := pty.Read(buf)
		_, _ = screen.Write(bytes.ReplaceAll(buf[:n], []byte(authority(web.Hosts[0].Base)), []byte(authority(shopURL))))
		see(screen)
		if err != nil { // EIO: the last writer has gone
			break
		}
	}
	if err := cmd.Wait(); err != nil || len(screen.Odd) > 0 {
		t.Errorf("%v, odd controls %v\n%s", err, screen.Odd, screen)
	}
}

var (
	pictureText = regexp.MustCompile(`<[^>]*>`)
	statusText  = regexp.MustCompile(`^[0-9]+ pages  [0-9.]+/s  [0-9]+ queued  eta [0-9a-z]+  hosts `)
)

// TestTerminalPicture compares terminal.svg with a crawl on a terminal: its lines of pages, up to the place where it was
// taken, and a status below them. Like the reference it is written by
//
//	go test ./docs -run 'Reference|TerminalPicture' -update
func TestTerminalPicture(t *testing.T) {
	var during [][]vt.Cell
	var end string
	watched(t, func(s *vt.Terminal) {
		end = s.String()
		lines := strings.Split(end, "\n")
		if during == nil && strings.Contains(end, "/shelf/2") && statusText.MatchString(lines[len(lines)-1]) {
			for _, l := range s.Lines() {
				during = append(during, slices.Clone(l))
			}
		}
	})
	if *update {
		prompt := append(vt.Cells("$ ", terminal.Dim), vt.Cells("amble crawl -w 100ms "+shopURL, terminal.Bold)...)
		write(t, pictureFile, vt.SVG("amble crawl on a terminal", pictureColumns, append([][]vt.Cell{prompt}, during...)))
	}
	picture, err := os.ReadFile(pictureFile)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(picture), "<text ")
	text = strings.NewReplacer("&#34;", `"`, "&gt;", ">", "&lt;", "<", "&amp;", "&").Replace(pictureText.ReplaceAllString("<text "+text, ""))
	shown := strings.Split(strings.TrimSpace(text), "\n")
	if n := len(shown); n < 10 || !statusText.MatchString(shown[n-1]) {
		t.Fatalf("the picture has no lines, or no status:\n%s", text)
	}
	want := strings.Split(end, "\n")
	for i, line := range shown[1 : len(shown)-1] {
		if got := strings.TrimRight(line, " "); got != want[i] {
			t.Errorf("line %d of the picture is\n%s, on the terminal\n%s", i+1, got, want[i])
		}
	}
}

// authority returns host and port of a URL that ends with them and a slash.
func authority(base string) string {
	return strings.TrimSuffix(strings.TrimPrefix(base, "http://"), "/")
}
