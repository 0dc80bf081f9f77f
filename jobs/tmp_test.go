package jobs

import (
	"os"
	"testing"

	"github.com/amble-crawler/amble/internal/quicktmp"
)

// helperDir and helperSeed name the environment variables with the directory and the site for the process that a test kills.
const helperDir, helperSeed = "AMBLE_JOBS_DIR", "AMBLE_JOBS_SEED"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		runJobs(dir, os.Getenv(helperSeed))
		return
	}
	quicktmp.Use()
	m.Run()
}
