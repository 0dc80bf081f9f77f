package identity

import (
	"errors"
	"fmt"

	"github.com/dunglas/httpsfv"
)

// Limits on structured fields, which come from servers and clients.
const (
	maxFieldBytes = 8 << 10
	maxMembers    = 16 // maximum number of members of a dictionary
	maxComponents = 32 // maximum number of components of one signature
)

// dictionary parses a field that is a dictionary (RFC 9651 section 3.2) from all its lines.
func dictionary(lines []string) (*httpsfv.Dictionary, error) {
	size := 0
	for _, l := range lines {
		size += len(l) + 2
	}
	if size > maxFieldBytes {
		return nil, fmt.Errorf("longer than %d bytes", maxFieldBytes)
	}
	d, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		return nil, errors.New("not a dictionary (RFC 9651 section 3.2)")
	}
	if len(d.Names()) > maxMembers {
		return nil, fmt.Errorf("more than %d members", maxMembers)
	}
	return d, nil
}

// innerList returns the member with a name, which must be an inner list of limited length.
func innerList(d *httpsfv.Dictionary, name string) (httpsfv.InnerList, error) {
	m, ok := d.Get(name)
	if !ok {
		return httpsfv.InnerList{}, fmt.Errorf("no member %q", name)
	}
	l, ok := m.(httpsfv.InnerList)
	if !ok {
		return httpsfv.InnerList{}, fmt.Errorf("member %q is not an inner list", name)
	}
	if len(l.Items) > maxComponents {
		return httpsfv.InnerList{}, fmt.Errorf("member %q covers more than %d components", name, maxComponents)
	}
	return l, nil
}

// stringItem returns the member with a name, which must be a string, and whether it has parameters.
func stringItem(d *httpsfv.Dictionary, name string) (value string, params bool, err error) {
	m, ok := d.Get(name)
	if !ok {
		return "", false, fmt.Errorf("no member %q", name)
	}
	it, ok := m.(httpsfv.Item)
	if !ok {
		return "", false, fmt.Errorf("member %q is not a string", name)
	}
	s, ok := it.Value.(string)
	if !ok {
		return "", false, fmt.Errorf("member %q is not a string", name)
	}
	return s, len(it.Params.Names()) > 0, nil
}

// bytesItem returns the member with a name, which must be a byte sequence.
func bytesItem(d *httpsfv.Dictionary, name string) ([]byte, error) {
	m, ok := d.Get(name)
	if !ok {
		return nil, fmt.Errorf("no member %q", name)
	}
	it, ok := m.(httpsfv.Item)
	if !ok {
		return nil, fmt.Errorf("member %q is not a byte sequence", name)
	}
	b, ok := it.Value.([]byte)
	if !ok {
		return nil, fmt.Errorf("member %q is not a byte sequence", name)
	}
	return b, nil
}

// stringParam returns a parameter, which must be a string if it is present.
func stringParam(p *httpsfv.Params, name string) (string, bool, error) {
	v, ok := p.Get(name)
	if !ok {
		return "", false, nil
	}
	s, ok := v.(string)
	if !ok {
		return "", false, fmt.Errorf("parameter %q is not a string", name)
	}
	return s, true, nil
}

// component returns a covered component. params has names and values of its parameters, alternately.
func component(name string, params ...any) httpsfv.Item {
	it := httpsfv.NewItem(name)
	for i := 0; i+1 < len(params); i += 2 {
		it.Params.Add(params[i].(string), params[i+1])
	}
	return it
}

// marshal returns the value of a structured field in its only canonical form (RFC 9651 section 4.1).
func marshal(v httpsfv.StructuredFieldValue) (string, error) {
	s, err := httpsfv.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("cannot be written as a structured field: %w", err)
	}
	return s, nil
}
