package live

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestTokenOfTheOperator checks that a token that the operator has set opens the page, that the previous token does not, and that no
// printed address contains the operator's token.
func TestTokenOfTheOperator(t *testing.T) {
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4000}
	g := newGuard("127.0.0.1:4000", addr)
	before := g.token
	for _, bad := range []string{"", strings.Repeat("a", minToken-1), strings.Repeat("a", 40) + ";", strings.Repeat("a", 40) + "\n", strings.Repeat("ä", 40)} {
		if g.setToken(bad) == nil || g.token != before {
			t.Errorf("%q is accepted", bad)
		}
	}
	own := strings.Repeat("0aZ-_", 8)
	if err := g.setToken(own); err != nil {
		t.Fatal(err)
	}
	if got := g.urlOf(addr); got != "http://127.0.0.1:4000/" {
		t.Error(got)
	}
	h := g.wrap(http.NotFoundHandler(), nil)
	for token, want := range map[string]int{own: http.StatusNotFound, before: http.StatusUnauthorized, "": http.StatusUnauthorized} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:4000/metrics", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%q: %d, want %d", token, w.Code, want)
		}
	}
}
