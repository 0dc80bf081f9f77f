package machine_test

import (
	"testing"

	"github.com/amble-crawler/amble/internal/quicktmp"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/internal/sharingtest"
	"github.com/amble-crawler/amble/politeness/machine"
)

func TestMain(m *testing.M) {
	quicktmp.Use()
	m.Run()
}

// open opens a state directory as a new process does.
func open(t *testing.T, dir string) *machine.Hosts {
	t.Helper()
	m := machine.Open(dir, politeness.NewHosts(politeness.HostsLimits{}))
	if err := m.NotShared(); err != nil {
		t.Error(err)
	}
	t.Cleanup(func() {
		if err := m.NotShared(); err != nil {
			t.Error(err)
		}
		m.Kill()
	})
	return m
}

func TestProcessesKeepTheContractOfSharing(t *testing.T) {
	sharingtest.Run(t, func(t *testing.T, n int) []politeness.Sharing {
		dir, all := t.TempDir(), make([]politeness.Sharing, n)
		for i := range all {
			all[i] = open(t, dir)
		}
		return all
	})
}

// The crawls of this process and those of others take turns in a single order.
func TestCrawlsOfProcessesKeepTheContractOfSharing(t *testing.T) {
	sharingtest.Run(t, func(t *testing.T, n int) []politeness.Sharing {
		dir := t.TempDir()
		processes, all := []politeness.Sharing{open(t, dir), open(t, dir), open(t, dir)}, make([]politeness.Sharing, n)
		for i := range all {
			all[i] = processes[i%3]
		}
		return all
	})
}
