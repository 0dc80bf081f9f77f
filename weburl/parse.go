package weburl

// Parse parses absolute text as a browser does (WHATWG URL Standard, basic URL parser, section 4.4): surrounding
// blanks, tabs and newlines inside, backslashes and unusual host spellings are accepted as browsers accept them,
// and the fragment is dropped. In text that is not valid UTF-8, each invalid byte counts as U+FFFD.
//
// The error is an *[Error]. Its reasons are checked in this order: [ReasonScheme] for anything with a scheme other
// than http and https, however malformed; [ReasonTooLong] for text longer than [MaxLen] without its blanks and its
// fragment, even if removing dot segments would make it shorter, or with a host longer than 512 bytes;
// [ReasonSyntax]; [ReasonCredentials]; [ReasonTooLong] for the result. Parse takes time linear in the length of the
// text.
func Parse(raw string) (URL, error) { return URL{}.Resolve(raw) }

// Resolve returns the URL that a reference in a document at u points to (WHATWG URL Standard, section 4.4, with u
// as the base URL). On the zero URL it is [Parse]. The error is an *[Error], as for Parse. Resolve allocates
// nothing but the result; [Resolver] saves that too.
func (u URL) Resolve(ref string) (URL, error) { return u.ResolveIn(nil, ref) }

// ResolveIn is like [URL.Resolve], for a reference in a document whose encoding is not UTF-8: browsers encode the
// query in the document's encoding. A nil Encoder stands for UTF-8.
func (u URL) ResolveIn(e Encoder, ref string) (URL, error) {
	var space [512]byte
	var b builder
	text, reason := b.resolve(space[:0], &u, ref, e)
	switch {
	case reason != "":
		return URL{}, fail(reason, ref)
	case b.isBase:
		return u, nil
	}
	return b.url(text), nil
}
