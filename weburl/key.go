package weburl

// Key identifies a URL in a seen set: 128 bits of the hash of its normal form (XXH3). Two URLs with equal Keys are
// taken for the same. Among n URLs the chance of any false match is about n²/2¹²⁹: below 10⁻²⁰ for 10⁹ URLs.
//
// This holds for URLs that nobody constructed for the purpose. The hash has no secret, so whoever publishes links
// may be able to construct two with the same Key; the one found later is then not fetched. Therefore a Key may
// decide nothing but "seen before", and a store that must withstand even that uses a keyed hash of [URL.Normal]
// instead.
//
// Do not mix Keys of different profiles, or of different values of [NormalVersion], in one set.
type Key [16]byte

// Key returns the 128-bit seen key: the hash of [URL.Normal], the same as Safe.Key(u). The zero URL has the zero
// Key. Key allocates only for rare URLs (malformed escapes, very long ones).
func (u URL) Key() Key { return Safe.Key(u) }
