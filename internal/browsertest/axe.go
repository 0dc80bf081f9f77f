package browsertest

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// axeVariable names the variable with the path of axe.min.js from the npm package axe-core, which checks the accessibility of pages.
const axeVariable = "TEST_AXE"

// Axe returns the serious and critical issues that axe-core finds on the page, one entry for each rule. axe-core is not part of this
// repository: the environment variable TEST_AXE contains the path of its file. If it is not set, the page is not checked, and the test
// logs this.
func (p *Page) Axe() (serious []string) {
	p.b.t.Helper()
	path := os.Getenv(axeVariable)
	if path == "" {
		p.b.t.Logf("not checked for accessibility: %s does not name axe.min.js of the npm package axe-core", axeVariable)
		return nil
	}
	script, err := os.ReadFile(path)
	if err != nil {
		p.b.t.Fatal(err)
	}
	p.Eval(string(script)+"; 0", nil)
	var found []struct {
		ID, Impact, Help string
		Nodes            []struct{ Target []any }
	}
	p.Eval(`axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v => ({id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.map(n => ({target: n.target}))})))`, &found)
	for _, v := range found {
		if slices.Contains([]string{"serious", "critical"}, v.Impact) {
			var at []string
			for _, n := range v.Nodes[:min(3, len(v.Nodes))] {
				at = append(at, fmt.Sprint(n.Target...))
			}
			serious = append(serious, fmt.Sprintf("%s (%s): %s: %s", v.ID, v.Impact, v.Help, strings.Join(at, ", ")))
		}
	}
	return serious
}
