package crawler

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
)

// same compares the body with those before, and reports whether too many had it.
//
// Many URLs of one host that answer 200 with one and the same HTML page are most often an error page
// whose status lies, or what a script says to any parameter at all. Nothing is asked for to find out.
// What is lost where they are not (pages that are nearly empty, applications whose pages are made by
// scripts) is little: the body is the one the first of them had.
func (r *run) same(v *Visit) bool {
	if len(v.Page.Body) == 0 || v.Page.Status != http.StatusOK {
		return false
	}
	v.SHA256 = sha256.Sum256(v.Page.Body)
	var times int
	v.SameAs, times = r.contents.meet(v.URL.String(), v.SHA256)
	switch {
	case r.cfg.Duplicates.Same > 0 && times > r.cfg.Duplicates.Same:
		v.Outcome, v.Reason = Duplicate, ReasonSame
	case v.SameAs != "" && r.cfg.Duplicates.Soft > 0 && v.Page.IsHTML() && v.Page.Truncated == "" &&
		r.crowds.same(v.URL.Host(), v.SHA256, max(1, r.cfg.Duplicates.Soft-1)):
		v.Outcome, v.Reason = Duplicate, ReasonSoft404
	default:
		return false
	}
	return true
}

// unsame takes back what same counted of a visit whose URL is fetched again.
func (r *run) unsame(v *Visit) {
	if v.SameAs == "" {
		return
	}
	r.contents.unmeet(v.SHA256)
	if v.Outcome != Duplicate {
		r.crowds.unsame(v.URL.Host(), v.SHA256)
	}
}

// outOfType reports whether the scope leaves answers of the page's type out, and makes v the visit of
// one.
func (r *run) outOfType(v *Visit) bool {
	j, ok := r.scope.(TypeJudge)
	if !ok {
		return false
	}
	d := j.JudgeType(v.URL, v.Page.ContentType)
	if d.In {
		return false
	}
	v.Outcome, v.Reason, v.Rule = OutOfScope, ReasonType, d.Rule
	return true
}

// hash is the SHA-256 of the visit's body for its record; "" with a body that was not sent again and
// whose hash nobody knows.
func (v *Visit) hash() string {
	sum := v.SHA256
	if sum == ([sha256.Size]byte{}) {
		if v.Outcome == NotModified {
			return ""
		}
		sum = sha256.Sum256(v.Page.Body)
	}
	return hex.EncodeToString(sum[:])
}

// wanted is which types' bodies are read to their end, given what the Config says: those that somebody
// looks at and the scope does not leave out whatever their URLs are.
func (r *run) wanted(want func(mediaType string) bool) func(mediaType string) bool {
	if want == nil && r.cfg.Handler == nil && !r.keepsBodies() {
		want = r.cfg.parses
	}
	j, ok := r.scope.(TypeJudge)
	if !ok {
		return want
	}
	return func(mediaType string) bool {
		return j.WantsType(mediaType) && (want == nil || want(mediaType))
	}
}
