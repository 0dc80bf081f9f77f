package identity

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dunglas/httpsfv"
)

const (
	tagRequest   = "web-bot-auth"
	tagDirectory = "http-message-signatures-directory"
	algorithm    = "ed25519"

	defaultLabel = "sig1"
	maxLabel     = 64
	maxNonce     = 256
)

// Challenge holds a site's requirements on a signature, from its Accept-Signature field (RFC 9421 section 5). The zero Challenge has no
// requirements.
type Challenge struct {
	Label string   // label of the signature; "": "sig1"
	Nonce string   // nonce to sign; "": the signer chooses
	KeyID string   // ID of the required key; "": the signer chooses
	Cover []string // components in addition to those that are always covered
}

// covered lists the components of every signature, besides signature-agent. httpsig-protocol-01 section 5.2 requires @authority, and
// recommends the others for signatures that fit a single request.
var covered = []string{"@method", "@authority", "@path"}

// coverable lists other components that a site may request: those that every request has.
var coverable = []string{"@scheme", "@target-uri", "@query", "user-agent", "accept"}

// errNoChallenge is returned for a response without an Accept-Signature field.
var errNoChallenge = errors.New("identity: no Accept-Signature field")

// parseChallenge parses the lines of an Accept-Signature field. It returns the first requested signature that a [Signer] can make: crawlers
// support only one tag, one algorithm and some components. The error says why the last requested signature is not supported.
//
// The field comes from a server, so it is limited to 8 KiB.
func parseChallenge(lines []string) (Challenge, error) {
	if len(lines) == 0 {
		return Challenge{}, errNoChallenge
	}
	d, err := dictionary(lines)
	if err != nil {
		return Challenge{}, fmt.Errorf("identity: Accept-Signature: %w", err)
	}
	err = errors.New("it is empty")
	for _, label := range d.Names() {
		c, cerr := member(d, label)
		if cerr == nil {
			return c, nil
		}
		err = fmt.Errorf("member %q: %w", printable(label), cerr)
	}
	return Challenge{}, fmt.Errorf("identity: Accept-Signature: %w", err)
}

func member(d *httpsfv.Dictionary, label string) (Challenge, error) {
	if len(label) > maxLabel {
		return Challenge{}, fmt.Errorf("the label is longer than %d bytes", maxLabel)
	}
	l, err := innerList(d, label)
	if err != nil {
		return Challenge{}, err
	}
	c := Challenge{Label: label}
	if err := c.params(l.Params); err != nil {
		return Challenge{}, err
	}
	for _, it := range l.Items {
		if err := c.cover(it); err != nil {
			return Challenge{}, err
		}
	}
	return c, nil
}

// params adds the parameters of a requested signature (RFC 9421 section 5.1). If one of them cannot be fulfilled, the requested signature
// is refused (section 5.2).
func (c *Challenge) params(p *httpsfv.Params) error {
	for _, name := range p.Names() {
		v, _ := p.Get(name)
		s, text := v.(string)
		switch {
		case name == "created", name == "expires": // ignored, because every signature has its own values
		case name == "tag" && s == tagRequest:
		case name == "alg" && s == algorithm:
		case name == "keyid" && text:
			c.KeyID = s
		case name == "nonce" && text && s != "" && len(s) <= maxNonce:
			c.Nonce = s
		default:
			return fmt.Errorf("%s=%s cannot be fulfilled", name, printable(fmt.Sprint(v)))
		}
	}
	return nil
}

// cover adds a requested component.
func (c *Challenge) cover(it httpsfv.Item) error {
	name, ok := it.Value.(string)
	if !ok {
		return errors.New("a component's name is not a string")
	}
	key, keyed, err := stringParam(it.Params, "key")
	if err != nil {
		return err
	}
	params := len(it.Params.Names())
	switch {
	case name == "signature-agent" && keyed && params == 1 && key == c.Label: // every signature covers this component anyway
	case params > 0:
		return fmt.Errorf("component %q with parameters cannot be covered", printable(name))
	case slices.Contains(covered, name):
	case !slices.Contains(coverable, name):
		return fmt.Errorf("component %q cannot be covered", printable(name))
	case !slices.Contains(c.Cover, name):
		c.Cover = append(c.Cover, name)
	}
	return nil
}
