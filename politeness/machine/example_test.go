package machine_test

import (
	"fmt"
	"os"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/machine"
)

// The crawls of this program take turns with crawls of other processes that use the same directory. To use the default directory of the
// user, call [crawler.Config.ShareMachine] instead.
func Example() {
	dir, err := os.MkdirTemp("", "state")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	shared := machine.Open(dir, politeness.NewHosts(politeness.HostsLimits{Concurrency: 8}))
	var config crawler.Config
	config.Politeness.Shared = shared
	fmt.Println("not shared:", shared.NotShared())
	// Output: not shared: <nil>
}
