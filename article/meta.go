package article

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/amble-crawler/amble/schema"
)

// articleTypes are the types of schema.org whose properties describe the page's main text.
var articleTypes = []string{
	"Article", "NewsArticle", "BlogPosting", "ReportageNewsArticle", "AnalysisNewsArticle", "OpinionNewsArticle", "ReviewNewsArticle",
	"BackgroundNewsArticle", "TechArticle", "ScholarlyArticle", "SocialMediaPosting", "LiveBlogPosting", "Report", "Recipe", "HowTo", "Review", "WebPage",
}

// describe reads what the page states about its text. It must be called before the tree is cut.
func (a *Article) describe(tree *html.Node, p *page) {
	items := a.Data.Find(articleTypes...)
	slices.SortStableFunc(items, func(x, y *schema.Item) int { return cmp.Compare(kindOf(x), kindOf(y)) })
	stated := func(names ...string) string {
		for _, it := range items {
			for _, name := range names {
				if s := it.Text(name); s != "" {
					return clean(s)
				}
			}
		}
		return ""
	}
	m := readMarks(tree)
	a.Site = clean(cmp.Or(a.Data.Property("og:site_name"), stated("publisher"), m.metas["application-name"]))
	heading := ""
	if p.head >= 0 {
		heading = clean(p.blocks[p.head].content())
	}
	a.Title = a.withoutSite(clean(cmp.Or(a.Data.Property("og:title"), stated("headline"), heading, titleElement(tree), a.Data.Property("dc.title", "dcterms.title"), stated("name"))))
	a.Byline = clean(cmp.Or(authors(items), m.metas["author"], name(a.Data.Property("article:author")), a.Data.Property("dc.creator", "dcterms.creator"), m.byline))
	a.Published = firstDate(stated("datePublished"), a.Data.Property("article:published_time", "og:published_time", "dcterms.issued", "dc.date.issued", "dc.date", "dcterms.created", "dc.date.created"),
		m.metas["date"], m.metas["pubdate"], m.metas["publishdate"], m.metas["parsely-pub-date"], stated("dateCreated", "uploadDate"), m.time)
	a.Modified = firstDate(stated("dateModified"), a.Data.Property("article:modified_time", "og:updated_time", "dcterms.modified", "dc.date.modified"), m.metas["last-modified"])
	a.Licence = licence(m.licences, stated("license"), a.Data.Property("dcterms.license", "dc.rights.license", "dcterms.rights", "dc.rights"))
	a.Language = cmp.Or(m.language, m.metas["content-language"], stated("inLanguage"), a.Data.Property("dc.language", "dcterms.language"), strings.ReplaceAll(a.Data.Property("og:locale"), "_", "-"))
}

// kindOf returns a number for sorting: items about the text come before items about the page.
func kindOf(it *schema.Item) int {
	if it.Is("WebPage") {
		return 1
	}
	return 0
}

// maxMeta limits the length of a metadata value, in bytes.
const maxMeta = 1 << 10

// clean collapses white space. It returns "" for text that is too long for metadata.
func clean(s string) string {
	if len(s) > maxMeta {
		return ""
	}
	return strings.Join(strings.Fields(html.UnescapeString(s)), " ")
}

// withoutSite removes the name of the site from the end of a title, such as "Herons | Birds of the week".
func (a *Article) withoutSite(title string) string {
	for _, mark := range []string{" | ", " - ", " – ", " — ", " :: ", " · ", " « ", " » "} {
		if i := strings.LastIndex(title, mark); i > 0 && a.Site != "" && strings.EqualFold(title[i+len(mark):], a.Site) {
			return title[:i]
		}
	}
	return title
}

// authors returns the names of the authors that the items state.
func authors(items []*schema.Item) string {
	for _, it := range items {
		var names []string
		for _, property := range []string{"author", "creator"} {
			for _, v := range it.Properties[property] {
				s, _ := v.(string)
				if sub, ok := v.(*schema.Item); ok {
					s = sub.Text("name")
				}
				if s = name(clean(s)); s != "" && !slices.Contains(names, s) && len(names) < 20 {
					names = append(names, s)
				}
			}
		}
		if len(names) > 0 {
			return strings.Join(names, ", ")
		}
	}
	return ""
}

// name returns s unless it is a URL.
func name(s string) string {
	if strings.Contains(s, "://") || strings.HasPrefix(s, "#") {
		return ""
	}
	return s
}

// marks holds metadata found in elements and attributes.
type marks struct {
	metas    map[string]string // contents of the first META element with each name
	language string
	time     string   // first publication time in the body
	byline   string   // first name that is marked as an author
	licences []string // URLs and texts of links with rel=license
}

// readMarks collects the metadata in a tree.
func readMarks(tree *html.Node) marks {
	m := marks{metas: map[string]string{}}
	for n := range tree.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.DataAtom {
		case atom.Html:
			m.language = cmp.Or(m.language, strings.TrimSpace(attr(n, "lang")))
		case atom.Meta:
			if key := strings.ToLower(cmp.Or(attr(n, "name"), attr(n, "http-equiv"))); key != "" && m.metas[key] == "" && len(m.metas) < 1000 {
				m.metas[key] = strings.TrimSpace(attr(n, "content"))
			}
		case atom.Time:
			m.time = cmp.Or(m.time, attr(n, "datetime"))
		case atom.A, atom.Link, atom.Area:
			rel := strings.Fields(strings.ToLower(attr(n, "rel")))
			if slices.Contains(rel, "license") && len(m.licences) < 10 {
				m.licences = append(m.licences, cmp.Or(attr(n, "href"), nearText(n)))
			}
			if slices.Contains(rel, "author") && n.DataAtom == atom.A && m.byline == "" {
				m.byline = nearText(n)
			}
		}
		if m.byline == "" && isByline(n) {
			m.byline = nearText(n)
		}
	}
	return m
}

func isByline(n *html.Node) bool {
	if n.DataAtom == atom.Body || n.DataAtom == atom.Html {
		return false
	}
	if strings.EqualFold(attr(n, "itemprop"), "author") {
		return true
	}
	for _, c := range strings.Fields(strings.ToLower(attr(n, "class"))) {
		if c == "byline" || c == "author" || c == "author-name" || c == "byline-name" || c == "p-author" {
			return true
		}
	}
	return false
}

// nearText returns the text in an element if it is short enough for a name.
func nearText(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && !silent(d.Parent.DataAtom) {
			b.WriteString(d.Data)
		}
		if b.Len() > 200 {
			return ""
		}
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	for _, by := range []string{"By ", "by ", "BY ", "Von ", "von ", "Par ", "par ", "Por ", "por "} {
		text = strings.TrimPrefix(text, by)
	}
	if len(text) > 100 {
		return ""
	}
	return text
}

// titleElement returns the text of the first TITLE element.
func titleElement(tree *html.Node) string {
	for n := range tree.Descendants() {
		if n.DataAtom == atom.Title && n.Namespace == "" && n.FirstChild != nil {
			return n.FirstChild.Data
		}
	}
	return ""
}
