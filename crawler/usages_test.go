package crawler

import (
	"fmt"
	"testing"
	"time"

	"github.com/amble-crawler/amble/robots"
)

func TestUsageIsCountedForABoundedNumberOfHostsAndContinues(t *testing.T) {
	var n usages
	said := robots.Usage{Statements: []robots.Statement{{Use: "x", Signal: robots.Allowed}, {Use: robots.UseTDM, Signal: robots.Disallowed}}}
	for i := range maxUsageHosts + 7 {
		if !n.count(fmt.Sprint(i), said) || n.count("none", robots.Usage{}) {
			t.Fatal(i)
		}
	}
	all, hosts, more := n.report()
	if all["other allow"] != maxUsageHosts+7 || all["tdm disallow"] != maxUsageHosts+7 || len(hosts) != maxUsageHosts || more != 7 || len(hosts["5"]) != 2 {
		t.Errorf("%v, %d hosts, %d more", all, len(hosts), more)
	}
	k := checkpoint{tally: newTally(time.Now())}
	k.tally.keeps()
	c := hostCount{pages: 300, retries: 2, usage: *n.hosts["5"]}
	k.recallHost("5", c.encode())
	k.recallHost("6", (&hostCount{pages: 1}).encode())
	k.recallHost("7", []byte{9}) // format of an earlier version
	_, hosts, _ = k.tally.usage.report()
	if k.tally.settled["5"] != 300 || k.tally.retried["5"] != 2 || k.tally.settled["7"] != 9 || len(hosts) != 1 || hosts["5"]["tdm disallow"] != 1 {
		t.Errorf("%v %v", k.tally.settled, hosts)
	}
}
