package shell

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/extract/css"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// textWidth limits the number of characters that are shown of an element's text.
const textWidth = 160

func (p *prompt) page(context.Context, string) error {
	r := p.record
	line := fmt.Sprintf("%s  %d  %s  %s", r.URL, r.Status, cmp.Or(r.Type, "no type"), cli.Bytes(int64(r.Bytes)))
	if r.Charset != "" {
		line += fmt.Sprintf("  %s (%s)", r.Charset, r.CharsetFrom)
	}
	p.print(line)
	for _, f := range [][2]string{
		{"redirected from", strings.Join(r.Hops, " ")}, {"title", r.Title}, {"canonical", r.Canonical},
		{"directives", strings.Join(r.Directives, ", ")}, {"incomplete", r.Truncated},
	} {
		if f[1] != "" {
			p.print(f[0] + ": " + f[1])
		}
	}
	return nil
}

// tree returns the page as a tree of elements, or an error if it has none.
func (p *prompt) tree() (*html.Node, error) {
	tree, err := p.visit.Tree()
	if err == nil && tree == nil {
		err = fmt.Errorf("the page is %s, and selectors need HTML", cmp.Or(p.record.Type, "of no type"))
	}
	return tree, err
}

// find returns the elements that match a selector.
func (p *prompt) find(selector string) ([]*html.Node, error) {
	s, err := css.Compile(selector)
	if err != nil {
		return nil, err
	}
	tree, err := p.tree()
	if err != nil {
		return nil, err
	}
	return css.All(tree, s), nil
}

func (p *prompt) css(_ context.Context, selector string) error {
	found, err := p.find(selector)
	if err != nil {
		return err
	}
	p.print(fmt.Sprintf("%s: %s", selector, cli.Plural(len(found), "element")))
	p.most(len(found), func(i int) {
		p.print(fmt.Sprintf("%3d  %s  %s", i+1, tag(found[i]), oneLine(css.Text(found[i], nil), textWidth)))
	})
	return nil
}

// tag formats an element as a start tag with the attributes that selectors often use.
func tag(n *html.Node) string {
	var b strings.Builder
	b.WriteString(n.Data)
	for _, a := range n.Attr {
		switch a.Key {
		case "id":
			b.WriteString("#" + a.Val)
		case "class":
			for _, c := range strings.Fields(a.Val) {
				b.WriteString("." + c)
			}
		case "href", "src", "itemprop", "name", "property", "rel", "content":
			fmt.Fprintf(&b, "[%s=%q]", a.Key, a.Val)
		}
	}
	return oneLine(b.String(), textWidth)
}

func (p *prompt) text(_ context.Context, selector string) error {
	found, err := p.find(cmp.Or(selector, "body"))
	if err != nil {
		return err
	}
	if selector != "" && len(found) == 0 {
		return fmt.Errorf("text: %s finds nothing", selector)
	}
	p.most(len(found), func(i int) { p.print(css.Text(found[i], nil)) })
	return nil
}

func (p *prompt) attr(_ context.Context, rest string) error {
	name, selector, ok := strings.Cut(rest, " ")
	if !ok {
		return fmt.Errorf("attr: wants NAME SELECTOR, as in: attr href a")
	}
	found, err := p.find(selector)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("attr: %s finds nothing", selector)
	}
	p.most(len(found), func(i int) { p.print(css.Attr(found[i], nil, strings.ToLower(name))) })
	return nil
}

func (p *prompt) html(_ context.Context, selector string) error {
	source, err := p.visit.Page.Text()
	if selector != "" && err == nil {
		var found []*html.Node
		if found, err = p.find(selector); err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("html: %s finds nothing", selector)
		}
		var b bytes.Buffer
		err = html.Render(&b, found[0])
		source = b.Bytes()
	}
	for line := range strings.Lines(string(source)) {
		p.print(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    "))
	}
	return err
}

func (p *prompt) links(_ context.Context, text string) error {
	if p.visit.Doc == nil {
		return fmt.Errorf("links: the page is %s: no links are read from it", cmp.Or(p.record.Type, "of no type"))
	}
	var found []crawler.Link
	for _, l := range p.visit.Links() {
		if strings.Contains(address(&l), text) {
			found = append(found, l)
		}
	}
	p.print(cli.Plural(len(found), "link"))
	p.most(len(found), func(i int) {
		l := &found[i]
		line := fmt.Sprintf("%-12s %-8s %s", l.Fate, l.Kind, address(l))
		if l.Text != "" {
			line += fmt.Sprintf("  %q", oneLine(l.Text, textWidth))
		}
		if l.Rule != "" {
			line += "  (" + l.Rule + ")"
		}
		p.print(line)
	})
	return nil
}

// address returns the URL of a link or, if that is invalid, the reference without a password.
func address(l *crawler.Link) string {
	if l.URL.IsZero() {
		return weburl.Redact(l.Ref)
	}
	return l.URL.String()
}

func (p *prompt) rule(ctx context.Context, text string) error {
	u, err := p.url(text)
	if err != nil {
		return err
	}
	d := p.scope.Decide(u)
	verdict := "out"
	if d.In {
		verdict = "in"
	}
	if d.Rule != "" {
		verdict += " (" + d.Rule + ")"
	}
	p.print(u.String())
	p.print("scope: " + verdict)
	info, err := p.client.Robots(ctx, u)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil || !info.Known:
		p.print(fmt.Sprintf("robots.txt: %s is not recorded, and nothing is requested here: see amble explain --robots", u.RobotsURL()))
	default:
		p.print("robots.txt: " + explain(u, &info))
	}
	return nil
}

// explain describes what a robots.txt says about a URL.
func explain(u weburl.URL, info *politeness.OriginInfo) string {
	policy := info.Statuses.ForStatus(info.Source.Status)
	if policy != robots.Obey || info.Group == nil {
		return robots.Explain(policy.Verdict(), info.Source)
	}
	return robots.Explain(info.Group.Test(u.PathQuery()), info.Source)
}

func (p *prompt) headers(context.Context, string) error {
	p.print(fmt.Sprintf("%s %d", p.visit.Page.Proto, p.visit.Page.Status))
	h := p.visit.Page.Header
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			p.print(name + ": " + v)
		}
	}
	return nil
}

func (p *prompt) json(context.Context, string) error {
	if p.failed == nil {
		p.failed = cli.PrintJSON(p.Out, p.record)
	}
	return nil
}
