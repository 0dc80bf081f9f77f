package report

import (
	"flag"
	"log"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/amble-crawler/amble/internal/quicktmp"
)

// shared is a directory for what several tests read.
var shared string

func TestMain(m *testing.M) {
	quicktmp.Use()
	flag.Parse()
	if at := flag.Lookup("test.parallel"); at.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = at.Value.Set("8") // what these tests wait for are crawls with pauses, not processors
	}
	dir, err := os.MkdirTemp("", "report")
	if err != nil {
		log.Fatal(err)
	}
	shared = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}
