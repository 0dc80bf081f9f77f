package report

import (
	"log"
	"os"
	"testing"

	"github.com/amble-crawler/amble/internal/quicktmp"
)

// shared is a directory that several tests use.
var shared string

func TestMain(m *testing.M) {
	quicktmp.Use()
	quicktmp.Waiting()
	dir, err := os.MkdirTemp("", "report")
	if err != nil {
		log.Fatal(err)
	}
	shared = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}
