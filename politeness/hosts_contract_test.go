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
