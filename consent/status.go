package consent

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// status adds the meaning of a response's status: 402 asks for a payment, and 401 with a challenge of the scheme License asks for a
// licence. Both forbid the page for every purpose, because a crawl neither pays nor has a licence.
func (r *Record) status(p Page) {
	switch p.Status {
	case http.StatusPaymentRequired:
		s := Statement{Place: Status, Name: "402", Text: http.StatusText(p.Status), Condition: "a payment", effects: effects(Unmet, Purposes()...)}
		if c, ok := price(p.Header.Get("Crawler-Price")); ok {
			c.Per = "request"
			r.Costs = append(r.Costs, c)
			s.Name, s.Text = "crawler-price", p.Header.Get("Crawler-Price")
		} else if costs := x402(p.Body); len(costs) > 0 {
			r.Costs = append(r.Costs, costs...)
			s.Name, s.Text = "x402", costs[0].Amount+" "+costs[0].Currency
		} else if e := p.Header.Get("Crawler-Error"); e != "" {
			s.Name, s.Text = "crawler-error", e
		}
		r.add(s)
	case http.StatusUnauthorized:
		for _, v := range p.Header.Values("WWW-Authenticate") {
			if scheme, _, _ := strings.Cut(strings.TrimSpace(v), " "); strings.EqualFold(scheme, "License") {
				r.add(Statement{Place: Status, Name: "WWW-Authenticate", Text: v, Condition: "a licence", effects: effects(Unmet, Purposes()...)})
			}
		}
	}
}

// price parses a price in Cloudflare's formats: "USD 0.01", or with the amount first.
func price(s string) (Cost, bool) {
	words := strings.Fields(s)
	if len(words) != 2 {
		return Cost{}, false
	}
	currency, amount := words[0], words[1]
	if !isAmount(amount) {
		currency, amount = amount, currency
	}
	if !isAmount(amount) || !isCurrency(currency) {
		return Cost{}, false
	}
	return Cost{Amount: amount, Currency: strings.ToUpper(currency)}, true
}

// x402 parses the offers in the body of a 402 response of the x402 protocol. Amounts are in the smallest unit of the asset.
func x402(body []byte) (costs []Cost) {
	if len(body) > MaxDocument {
		return nil
	}
	var offer struct {
		Version int `json:"x402Version"`
		Accepts []struct {
			Max     string `json:"maxAmountRequired"`
			Amount  string `json:"amount"`
			Asset   string `json:"asset"`
			Network string `json:"network"`
		} `json:"accepts"`
	}
	if json.Unmarshal(body, &offer) != nil || offer.Version == 0 {
		return nil
	}
	for _, a := range offer.Accepts[:min(len(offer.Accepts), maxLicenses)] {
		amount := a.Max
		if amount == "" {
			amount = a.Amount
		}
		if !isAmount(amount) || len(a.Asset)+len(a.Network) > 128 {
			continue
		}
		costs = append(costs, Cost{amount, strings.TrimSpace(a.Asset + " " + a.Network), "request"})
	}
	return costs
}

// isAmount reports whether s is an amount of money: digits with at most one point, without exponent or sign.
func isAmount(s string) bool {
	if s == "" || len(s) > 32 || strings.Trim(s, "0123456789.") != "" {
		return false
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// isCurrency reports whether s has the form of a currency code of ISO 4217.
func isCurrency(s string) bool {
	return len(s) == 3 && strings.Trim(strings.ToUpper(s), "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
