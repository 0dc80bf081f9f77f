package article

import (
	"strings"
	"sync"
)

// classes is a set of meanings that the names of classes and ids have.
type classes uint32

const (
	saysContent classes = 1 << iota
	saysComment
	saysRelated
	saysShare
	saysPromo
	saysCaption
	saysByline
	saysNav
	saysSidebar
	saysFooter
	saysHeader
	saysPopup
	saysTags
	saysTitle
	saysAuthor
	saysList
	saysLegal
)

// classWords maps parts of class names and ids to their meaning. They are parts that page templates commonly use. "=" means that the part
// must be a whole word of the name.
var classWords = []struct {
	means classes
	words []string
}{
	{saysContent, []string{"articlebody", "article-body", "article_body", "article-content", "article__body", "article__content", "article-text", "entry-content", "entry-body",
		"post-content", "post-body", "post_content", "postcontent", "story-body", "storybody", "story-content", "story-text", "body-copy", "bodycopy", "body-text", "rich-text", "richtext",
		"article-copy", "content-body", "content__body", "main-content", "maincontent", "page-content", "blog-content", "wysiwyg", "field-name-body", "field--name-body", "texte", "artikel", "prose", "markdown", "paragraph"}},
	{saysComment, []string{"comment", "disqus", "respond", "reply", "livefyre", "discuss", "kommentar", "coment"}},
	{saysRelated, []string{"related", "recommend", "=more", "trending", "popular", "outbrain", "taboola", "latest", "recirc", "similar", "=also", "readmore", "read-more", "suggest", "=next", "teaser", "=card", "=cards", "promo-list", "zergnet", "recent"}},
	{saysShare, []string{"share", "sharing", "social", "facebook", "twitter", "follow", "addthis", "=sns", "whatsapp"}},
	{saysPromo, []string{"promo", "advert", "sponsor", "=banner", "newsletter", "subscri", "signup", "sign-up", "=cta", "=ad", "=ads", "adsense", "dfp", "commercial", "paywall", "donat", "=shop", "=product", "inline-embed", "pullquote", "interstitial"}},
	{saysCaption, []string{"caption", "credit", "legend", "=image", "=photo", "gallery", "=media", "figure", "slideshow", "=video", "player"}},
	{saysByline, []string{"byline", "dateline", "timestamp", "=meta", "=date", "published", "=info", "posted", "=time"}},
	{saysNav, []string{"=nav", "navbar", "navigation", "=menu", "breadcrumb", "pagination", "pager", "=toc", "=skip", "=tabs", "toolbar"}},
	{saysSidebar, []string{"sidebar", "side-bar", "=aside", "=rail", "=widget", "right-col", "=secondary", "sidecol"}},
	{saysFooter, []string{"=footer", "=foot", "=bottom", "colophon"}},
	{saysHeader, []string{"=header", "page-header", "masthead", "=head", "=top", "logo"}},
	{saysPopup, []string{"modal", "popup", "overlay", "cookie", "consent", "gdpr", "login", "notice", "lightbox", "tooltip"}},
	{saysTags, []string{"=tag", "=tags", "categor", "topic", "=label", "keyword"}},
	{saysTitle, []string{"=title", "headline", "subtitle", "heading", "kicker", "=deck", "summary", "=lead", "=intro", "standfirst", "excerpt", "=dek"}},
	{saysAuthor, []string{"author", "=bio", "contributor", "writer", "profile", "avatar"}},
	{saysList, []string{"=list", "=item", "=items", "=grid", "feed", "stream", "carousel", "slider"}},
	{saysLegal, []string{"copyright", "disclaimer", "legal", "terms", "privacy", "correction", "footnote", "=print", "=source"}},
}

// wordIndex finds the entries of classWords: whole words by name, and parts by their first byte.
type wordIndex struct {
	whole map[string]classes
	parts [256][]part
	pairs [256][256]bool // pairs of bytes with which an entry of parts begins
}

type part struct {
	word  string
	means classes
}

var classIndex = sync.OnceValue(func() *wordIndex {
	x := &wordIndex{whole: map[string]classes{}}
	for _, c := range classWords {
		for _, w := range c.words {
			if token, whole := strings.CutPrefix(w, "="); whole {
				x.whole[token] |= c.means
			} else {
				x.parts[w[0]] = append(x.parts[w[0]], part{w, c.means})
				x.pairs[w[0]][w[1]] = true
			}
		}
	}
	return x
})

// meaning returns the meaning of the name of a class or id.
func meaning(name string) (m classes) {
	x := classIndex()
	name = strings.ToLower(name)
	for token := range strings.FieldsFuncSeq(name, func(r rune) bool { return r < '0' || r > '9' && r < 'a' || r > 'z' && r < 128 }) {
		m |= x.whole[token]
	}
	for i := range max(len(name), 1) - 1 {
		if !x.pairs[name[i]][name[i+1]] {
			continue
		}
		for _, p := range x.parts[name[i]] {
			if strings.HasPrefix(name[i:], p.word) {
				m |= p.means
			}
		}
	}
	return m
}
