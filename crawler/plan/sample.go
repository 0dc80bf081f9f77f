package plan

import (
	"fmt"

	"github.com/amble-crawler/amble/crawler"
)

// sampled notes what the draw of a sample leaves out of a host.
func (p *Plan) sampled(h *Host, of crawler.Sample) {
	switch {
	case of.N == 0:
	case h.listed == 0:
		p.Notes = append(p.Notes, fmt.Sprintf("sample %s: %s names no sitemap that lists pages in scope, so none is drawn", of, h.Host))
	case h.listed > of.N:
		p.Notes = append(p.Notes, fmt.Sprintf("sample %s: of %d pages that the sitemaps of %s list, the %d with the smallest tickets are drawn; %d are left out", of, h.listed, h.Host, of.N, h.listed-of.N))
	}
}
