package politeness_test

import (
	"testing"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/internal/sharingtest"
)

func TestHostsKeepTheContractOfSharing(t *testing.T) {
	sharingtest.Run(t, func(_ *testing.T, n int) []politeness.Sharing {
		hosts, all := politeness.NewHosts(politeness.HostsLimits{}), make([]politeness.Sharing, n)
		for i := range all {
			all[i] = hosts
		}
		return all
	})
}

// Crawls that share only an engine, or only a machine, take turns.
func TestBothKeepsTheContractOfSharing(t *testing.T) {
	for name, shared := range map[string]func(common, alone politeness.Sharing) politeness.Sharing{
		"first":  func(common, alone politeness.Sharing) politeness.Sharing { return politeness.Both(common, alone) },
		"second": func(common, alone politeness.Sharing) politeness.Sharing { return politeness.Both(alone, common) },
	} {
		t.Run(name, func(t *testing.T) {
			sharingtest.Run(t, func(_ *testing.T, n int) []politeness.Sharing {
				hosts, all := politeness.NewHosts(politeness.HostsLimits{}), make([]politeness.Sharing, n)
				for i := range all {
					all[i] = shared(hosts, politeness.NewHosts(politeness.HostsLimits{}))
				}
				return all
			})
		})
	}
}
