package audit_test

import (
	"fmt"
	"strings"

	"github.com/amble-crawler/amble/politeness/audit"
)

// A ledger of two requests: robots.txt, and a page half a second after it.
func ExampleCheck() {
	const agent = `"agent":"examplebot/1.0 (+https://lab.university.edu)"`
	ledger := `{"event":"start","run":"r","id":1,"url":"https://site.test/robots.txt","for":"https://site.test/a","host":"site.test:443","addr":"192.0.2.1","purpose":"robots",` + agent + `,"allowed":"2026-01-05T10:00:00Z","written":"2026-01-05T10:00:00Z"}
{"event":"end","run":"r","id":1,"ended":"2026-01-05T10:00:00.2Z","status":404}
{"event":"start","run":"r","id":2,"url":"https://site.test/a","host":"site.test:443","addr":"192.0.2.1","purpose":"page",` + agent + `,"allowed":"2026-01-05T10:00:00.7Z","written":"2026-01-05T10:00:00.7Z"}
{"event":"end","run":"r","id":2,"ended":"2026-01-05T10:00:01Z","status":200}
`
	report, err := audit.Check(strings.NewReader(ledger), audit.Config{
		Product: "examplebot", UserAgent: "examplebot/1.0 (+https://lab.university.edu)", Contact: "https://lab.university.edu", Delay: 1,
	}, func(sha256 string) ([]byte, error) { return nil, fmt.Errorf("no body %s", sha256) })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Requests, "requests to", report.Hosts[0].Host)
	for _, v := range report.Violations {
		fmt.Println(v)
	}
	// Output:
	// 2 requests to site.test:443
	// P4 site.test:443: 500ms after the end of the request before, 1s is due (ledger lines [3 1])
}
