package article

import (
	"slices"
	"strings"
)

// classes is a set of meanings of classes and ids.
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

// classWords maps parts of classes and ids to what they mean. They were collected from the names that page templates
// commonly use. "=" says that it is a whole word of the name.
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

// meaning returns what a class or id says.
func meaning(name string) (m classes) {
	name = strings.ToLower(name)
	tokens := strings.FieldsFunc(name, func(r rune) bool { return r < '0' || r > '9' && r < 'a' || r > 'z' && r < 128 })
	for _, c := range classWords {
		for _, w := range c.words {
			if token, whole := strings.CutPrefix(w, "="); whole && slices.Contains(tokens, token) || !whole && strings.Contains(name, w) {
				m |= c.means
				break
			}
		}
	}
	return m
}
