package live

import "github.com/amble-crawler/amble/internal/cli"

// shownOwner is a process that worked on a shared crawl, as shown.
type shownOwner struct{ Name, Requests, Last, Until string }

// owners returns the first of the processes that share the crawl, and the number of those not included.
func (v *view) owners() (shown []shownOwner, more int) {
	all := v.facts.Owners
	for i := range all[:min(maxRows, len(all))] {
		o := &all[i]
		x := shownOwner{Name: cli.Printable(o.Name), Requests: num(o.Requests)}
		if x.Name == "" {
			x.Name = "process " + cli.Printable(o.Run)
		}
		if !o.Last.IsZero() {
			x.Last = span(v.now.Sub(o.Last)) + " before"
		}
		if !o.Until.IsZero() {
			x.Until = o.Until.UTC().Format("2006-01-02 15:04:05 UTC")
		}
		shown = append(shown, x)
	}
	return shown, len(all) - len(shown)
}
