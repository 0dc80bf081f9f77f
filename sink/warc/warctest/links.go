package warctest

import (
	"errors"
	"slices"
)

// checkLinks checks the references between records.
func checkLinks(all []*Record) error {
	byID := map[string]*Record{}
	partner := map[string]int{} // number of requests that refer to each response
	var errs []error
	for _, r := range all {
		if byID[r.ID()] != nil {
			errs = append(errs, r.errorf("%s is not unique", r.ID()))
		}
		byID[r.ID()] = r
	}
	for _, r := range all {
		errs = append(errs, checkConcurrent(r, byID), checkRefersTo(r, byID))
		if r.Type() == "request" {
			partner[r.Get("WARC-Concurrent-To")]++
		}
	}
	for _, r := range all {
		if n := partner[r.ID()]; r.IsAnswer() && r.Get("WARC-Concurrent-To") != "" && n != 1 {
			errs = append(errs, r.errorf("%d requests for it", n))
		}
	}
	return errors.Join(errs...)
}

// checkConcurrent checks that the records of one capture have the same URI and time.
func checkConcurrent(r *Record, byID map[string]*Record) error {
	var errs []error
	for _, f := range r.Fields {
		if f.Name != "WARC-Concurrent-To" {
			continue
		}
		o := byID[f.Value]
		if o == nil {
			return r.errorf("concurrent to %s, which is not there", f.Value)
		}
		if r.Type() == "resource" {
			if (o.Type() != "response" && o.Type() != "revisit") || r.Get("WARC-Target-URI") != "urn:view:"+o.Get("WARC-Target-URI") || r.Get("WARC-Date") != o.Get("WARC-Date") {
				errs = append(errs, r.errorf("a picture of %s, concurrent to a %s of %s", r.Get("WARC-Target-URI"), o.Type(), o.Get("WARC-Target-URI")))
			}
			continue
		}
		for _, name := range []string{"WARC-Target-URI", "WARC-Date", "WARC-IP-Address", "WARC-Protocol"} {
			if r.Get(name) != o.Get(name) {
				errs = append(errs, r.errorf("%s is %q, of what it is concurrent to %q", name, r.Get(name), o.Get(name)))
			}
		}
		want := map[string][]string{"request": {"response", "revisit"}, "response": {"request"}, "revisit": {"request"}, "metadata": {"response", "revisit", "request"}}
		if back := o.Get("WARC-Concurrent-To"); r.Type() != "metadata" && back != r.ID() {
			errs = append(errs, r.errorf("concurrent to a record that names %q", back))
		}
		if !slices.Contains(want[r.Type()], o.Type()) {
			errs = append(errs, r.errorf("concurrent to a %s record", o.Type()))
		}
	}
	return errors.Join(errs...)
}

// checkRefersTo checks that a revisit has the same payload digest as the response to which it refers.
func checkRefersTo(r *Record, byID map[string]*Record) error {
	id := r.Get("WARC-Refers-To")
	if id == "" {
		return nil
	}
	o := byID[id]
	if o == nil {
		return r.errorf("refers to %s, which is not there", id)
	}
	if r.Type() == "conversion" && (o.Type() != "response" && o.Type() != "revisit" || o.Get("WARC-Target-URI") != r.Get("WARC-Target-URI") || o.Get("WARC-Date") != r.Get("WARC-Date")) {
		return r.errorf("converted from a %s of %s", o.Type(), o.Get("WARC-Target-URI"))
	}
	if r.Type() != "revisit" {
		return nil
	}
	if o.Type() != "response" || o.Get("WARC-Truncated") != "" || o.Get("WARC-Payload-Digest") != r.Get("WARC-Payload-Digest") ||
		o.Get("WARC-Target-URI") != r.Get("WARC-Refers-To-Target-URI") || o.Get("WARC-Date") != r.Get("WARC-Refers-To-Date") {
		return r.errorf("refers to a %s of %s at %s with %s", o.Type(), o.Get("WARC-Target-URI"), o.Get("WARC-Date"), o.Get("WARC-Payload-Digest"))
	}
	return nil
}
