package identity

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/dunglas/httpsfv"
)

// Message holds the parts of a request or response that signatures can cover, because RFC 9421 defines components for them, as they were
// sent. No function modifies it.
type Message struct {
	Method    string // method of a request, such as "GET"
	Scheme    string // "https" or "http"
	Authority string // host, and the port unless it is the scheme's default: the Host header
	Target    string // path and query as in the request line, such as "/a?b"
	Header    http.Header

	Request *Message // the request, if this message is a response
}

// RequestMessage returns the Message of a request that a server has received. The scheme is https if the connection uses TLS. Behind a
// proxy that terminates TLS, set Scheme and Authority to the values that the client used.
func RequestMessage(r *http.Request) Message {
	m := Message{Method: r.Method, Scheme: "http", Authority: r.Host, Target: r.RequestURI, Header: r.Header}
	if r.TLS != nil {
		m.Scheme = "https"
	}
	return m
}

// signatureBase returns the text that is signed (RFC 9421 section 2.5).
func signatureBase(l httpsfv.InnerList, m *Message) (string, error) {
	var b strings.Builder
	seen := map[string]bool{}
	for _, it := range l.Items {
		id, err := marshal(it)
		if err != nil {
			return "", err
		}
		if seen[id] {
			return "", fmt.Errorf("component %s is covered twice", id)
		}
		seen[id] = true
		v, err := m.component(it)
		if err != nil {
			return "", fmt.Errorf("component %s: %w", id, err)
		}
		if strings.ContainsFunc(v, func(r rune) bool { return r == '\n' || r == '\r' || r > 0x7e }) {
			return "", fmt.Errorf("component %s: the value is not ASCII on one line", id)
		}
		b.WriteString(id + ": " + v + "\n")
	}
	params, err := marshal(l)
	if err != nil {
		return "", err
	}
	b.WriteString(`"@signature-params": ` + params)
	return b.String(), nil
}

// component returns the value of a covered component (RFC 9421 sections 2.1 and 2.2).
func (m *Message) component(it httpsfv.Item) (string, error) {
	name, ok := it.Value.(string)
	if !ok {
		return "", errors.New("the name is not a string")
	}
	key, keyed, err := stringParam(it.Params, "key")
	if err != nil {
		return "", err
	}
	for _, p := range it.Params.Names() {
		switch v, _ := it.Params.Get(p); {
		case p == "key":
		case p != "req" || v != true:
			return "", fmt.Errorf("parameter %q is not supported", p)
		case m.Request == nil:
			return "", errors.New("there is no request that this answers")
		default:
			m = m.Request
		}
	}
	switch {
	case !strings.HasPrefix(name, "@"):
		return m.field(name, key, keyed)
	case keyed:
		return "", errors.New("a derived component has no key")
	}
	return m.derived(name)
}

// derived returns the value of a derived component (RFC 9421 section 2.2).
func (m *Message) derived(name string) (string, error) {
	if m.Method == "" {
		return "", errors.New("not a component of a response")
	}
	target := m.Target
	if !strings.HasPrefix(target, "/") {
		target = "/" + target // an empty path counts as one slash (section 2.2.6)
	}
	path, query, _ := strings.Cut(target, "?")
	switch name {
	case "@method":
		return m.Method, nil
	case "@scheme":
		return strings.ToLower(m.Scheme), nil
	case "@authority":
		return m.authority(), nil
	case "@path":
		return path, nil
	case "@query":
		return "?" + query, nil
	case "@target-uri":
		return strings.ToLower(m.Scheme) + "://" + m.authority() + target, nil
	}
	return "", errors.New("not a supported component")
}

// authority returns the component of RFC 9421 section 2.2.3: in lower case, without the scheme's default port.
func (m *Message) authority() string {
	a := strings.ToLower(m.Authority)
	if strings.EqualFold(m.Scheme, "https") {
		return strings.TrimSuffix(a, ":443")
	}
	return strings.TrimSuffix(a, ":80")
}

// field returns the component of RFC 9421 section 2.1: all lines of a field, trimmed. If keyed is set, it is one member of a dictionary.
func (m *Message) field(name, key string, keyed bool) (string, error) {
	if name != strings.ToLower(name) {
		return "", errors.New("the name of a field is in lower case")
	}
	lines := m.Header.Values(name)
	if len(lines) == 0 {
		return "", errors.New("the message has no such field")
	}
	if !keyed {
		trimmed := make([]string, len(lines))
		for i, l := range lines {
			trimmed[i] = strings.Trim(l, " \t")
		}
		return strings.Join(trimmed, ", "), nil
	}
	d, err := dictionary(lines)
	if err != nil {
		return "", err
	}
	member, ok := d.Get(key)
	if !ok {
		return "", fmt.Errorf("the field has no member %q", printable(key))
	}
	return marshal(member)
}
