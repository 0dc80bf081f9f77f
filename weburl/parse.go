package weburl

// Parse makes a URL of absolute text, as a browser does (WHATWG URL Standard, basic URL parser,
// section 4.4): surrounding blanks, tabs and newlines inside, backslashes and odd host spellings
// are taken as browsers take them, and the fragment is dropped. Text that is not UTF-8 counts as
// U+FFFD for each octet that does not belong.
//
// The error is an *[Error]. Its reasons are looked for in this order: [ReasonScheme] for anything
// with a scheme other than http and https, however malformed; [ReasonTooLong] for text that is
// longer than [MaxLen] without its blanks and its fragment, also where dot segments would have
// made it shorter, or has a host longer than [MaxHostLen]; [ReasonSyntax]; [ReasonCredentials];
// [ReasonTooLong] for the result. It takes time linear in the length of the text.
func Parse(raw string) (URL, error) { return URL{}.Resolve(raw) }

// Resolve makes the URL that a reference found in a document at u points to (WHATWG URL Standard,
// section 4.4, with u as the base URL). On the zero URL it is [Parse]. The error is an *[Error], as
// for Parse. It allocates nothing but the result; [Resolver] saves that too.
func (u URL) Resolve(ref string) (URL, error) { return u.ResolveIn(nil, ref) }

// ResolveIn is [URL.Resolve] of a reference in a document of another encoding than UTF-8, in which browsers
// send the query. A nil Encoder stands for UTF-8.
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
