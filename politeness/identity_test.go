package politeness_test

import (
	"strings"
	"testing"

	"github.com/amble-crawler/amble/politeness"
)

func TestUserAgentNamesPageOfPromises(t *testing.T) {
	for _, c := range []struct {
		id   politeness.Identity
		want string
	}{
		{politeness.Identity{Product: "bot", Contact: "me@uni.edu"}, "bot (+mailto:me@uni.edu)"},
		{politeness.Identity{Product: "bot", Contact: "me@uni.edu", Promises: "https://uni.edu/p#now"}, "bot (+mailto:me@uni.edu; promises: https://uni.edu/p#now)"},
		{politeness.Identity{Product: "bot", Version: "1", Promises: "https://uni.edu/p"}, "bot/1"}, // no contact address
	} {
		if err := c.id.Validate(true); err != nil {
			t.Errorf("%+v: %v", c.id, err)
		}
		if got := c.id.UserAgent(); got != c.want {
			t.Errorf("User-Agent %q, want %q", got, c.want)
		}
	}
}

func TestPromisesPageCannotInjectIntoUserAgent(t *testing.T) {
	for _, page := range []string{"https://uni.edu/) evil (", "https://uni.edu/a b", "https://uni.edu/\r\nX: y", "uni.edu", "javascript:alert(1)", "https://uni.edu/" + strings.Repeat("p", 200)} {
		if err := (politeness.Identity{Product: "bot", Promises: page}).Validate(true); err == nil {
			t.Errorf("promises page %q is accepted", page)
		}
	}
	if err := (politeness.Identity{Product: "bot", Promises: politeness.PromisesPage}).Validate(true); err != nil {
		t.Error(err)
	}
}
