package identity

import (
	"encoding/json"
	"strings"
)

const (
	registry     = "registry-04 section "
	maxCardBytes = 64 << 10
)

// card reads and checks the Signature Agent Card.
func (k *checking) card(f *found) {
	if f.cardURL == "" && k.Profile != nil {
		f.cardURL = k.Profile.CardURL()
	}
	if f.cardURL == "" {
		k.should(f.contact, registry+"4", "Publish a card, and link it from the page with rel=\"describedby\".", "no Signature Agent Card is named")
		return
	}
	r := k.fetch("the agent card", f.cardURL, registry+"3.1.1")
	if r == nil {
		return
	}
	if t := mediaType(r); t != cardType && !strings.HasSuffix(t, "+json") {
		k.should(f.cardURL, registry+"4.1", "Serve it as application/json.", "the agent card is served as %q", printable(t))
	}
	var card map[string]json.RawMessage
	if len(r.Body) > maxCardBytes {
		k.must(f.cardURL, registry+"3", "", "the agent card is longer than %d bytes", maxCardBytes)
		return
	}
	if err := json.Unmarshal(r.Body, &card); err != nil {
		k.must(f.cardURL, registry+"3", "Publish it again.", "the agent card is not a JSON object: %s", jsonFault(err))
		return
	}
	k.cardNames(f, card)
	k.cardKeys(f, card)
	k.cardRobot(f, card)
}

// cardNames checks the identity that the card states.
func (k *checking) cardNames(f *found, card map[string]json.RawMessage) {
	if id := jsonString(card["client_id"]); id != f.cardURL {
		k.must(f.cardURL, registry+"3.1.1", "Publish the card at the address that it names.", "\"client_id\" is %q, and not the card's own address", printable(id))
	}
	if jsonString(card["client_name"]) == "" {
		k.should(f.cardURL, registry+"3.1", "", "\"client_name\" is missing")
	}
	var contacts []string
	if json.Unmarshal(card["contacts"], &contacts) != nil || len(contacts) == 0 {
		k.should(f.cardURL, registry+"3.1", "", "\"contacts\" names nobody")
	}
	for _, c := range contacts {
		if !strings.Contains(c, ":") {
			k.should(f.cardURL, registry+"3.1", "Write mail addresses as mailto: URIs.", "contact %q is not a URI", printable(c))
		}
	}
}

// cardKeys checks the card's statement about the location of the keys.
func (k *checking) cardKeys(f *found, card map[string]json.RawMessage) {
	uri, named := card["jwks_uri"]
	_, inline := card["jwks"]
	switch {
	case named && inline:
		k.must(f.cardURL, registry+"3.1.2", "Leave one of them out.", "the card has both \"jwks\" and \"jwks_uri\"")
	case inline:
		k.note("the card holds its keys itself; only a key directory is checked")
	case !named:
		k.must(f.cardURL, registry+"3.1.2", "", "the card names no keys: \"jwks_uri\" is missing")
	}
	if named {
		f.jwksURL = jsonString(uri)
		if !strings.HasPrefix(f.jwksURL, "https://") {
			k.must(f.cardURL, registry+"3.1.2", "", "\"jwks_uri\" is %q, and not an https URL", printable(f.jwksURL))
			f.jwksURL = ""
		}
	}
}

// cardRobot checks the card's statements about the crawler.
func (k *checking) cardRobot(f *found, card map[string]json.RawMessage) {
	var bot map[string]json.RawMessage
	if json.Unmarshal(card["web_bot_auth"], &bot) != nil || bot == nil {
		k.should(f.cardURL, registry+"3.2", "", "\"web_bot_auth\" is missing: nothing is said of the crawler")
		return
	}
	var obeys bool
	if raw, ok := bot["rfc9309-compliance"]; ok && json.Unmarshal(raw, &obeys) != nil {
		k.must(f.cardURL, registry+"3.2.3", "Write true or false.", "\"rfc9309-compliance\" is not a boolean")
	} else if !obeys {
		k.should(f.cardURL, registry+"3.2.3", "", "\"rfc9309-compliance\" is false: sites cannot assume that robots.txt is followed")
	}
	if t := jsonString(bot["trigger"]); t != "" && t != "crawler" && t != "fetcher" {
		k.must(f.cardURL, registry+"3.2.4", "", "\"trigger\" is %q, not crawler or fetcher", printable(t))
	}
	if uri := jsonString(bot["ips_uri"]); uri != "" {
		k.cardRanges(f, uri)
	}
	if p := k.Profile; p != nil {
		if ua := jsonString(bot["expected-user-agent"]); ua != p.UserAgent {
			k.must(f.cardURL, registry+"3.2.1", "Publish the card again.", "\"expected-user-agent\" is %q, and %q is sent", printable(ua), p.UserAgent)
		}
		if token := jsonString(bot["rfc9309-product-token"]); !strings.EqualFold(token, p.Product) {
			k.must(f.cardURL, registry+"3.2.2", "Publish the card again.", "\"rfc9309-product-token\" is %q, and robots.txt is read for %q", printable(token), p.Product)
		}
	}
}

func (k *checking) cardRanges(f *found, uri string) {
	switch {
	case !strings.HasPrefix(uri, "https://"):
		k.must(f.cardURL, registry+"3.2.10", "", "\"ips_uri\" is %q, and not an https URL", printable(uri))
	case f.rangesURL == "":
		f.rangesURL, f.rangesFrom = uri, f.cardURL
		if f.pageRead {
			k.must(f.contact, cbcp+"2.5", "Add <link rel=\"client-ranges\" href=\""+printable(uri)+"\">.", "the page does not link the address ranges that the card names")
		}
	case f.rangesURL != uri:
		k.must(f.cardURL, registry+"3.2.10", "", "\"ips_uri\" is %q, and the page names %q", printable(uri), printable(f.rangesURL))
	}
}
