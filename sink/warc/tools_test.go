package warc

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestToolsOfOthers checks the files with the gzip and zstd programs, if installed.
func TestToolsOfOthers(t *testing.T) {
	for tool, c := range map[string]Compression{"gzip": Gzip, "zstd": Zstd} {
		t.Run(tool, func(t *testing.T) {
			program, err := exec.LookPath(tool)
			if err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			w := open(t, dir, Options{Compression: c, MaxSize: 20_000})
			for i := range 30 {
				add(t, w, page(fmt.Sprintf("http://x.test/%d", i), strings.Repeat(fmt.Sprint("text ", i), 10*i)))
			}
			w.Close(t.Context())
			files, _ := filepath.Glob(filepath.Join(dir, "*"+c.ext()))
			if len(files) < 2 {
				t.Fatal(files)
			}
			for _, f := range files {
				if out, err := exec.Command(program, "-t", f).CombinedOutput(); err != nil {
					t.Errorf("%s -t: %v: %s", tool, err, out)
				}
			}
		})
	}
}
