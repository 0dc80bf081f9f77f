package weburl

// Key identifies a URL in a seen set: 128 bits of the normal form's hash (XXH3). Two URLs with equal
// Keys are taken for one. At n URLs the chance of any false match is about n²/2¹²⁹: below 10⁻²⁰ for
// 10⁹ URLs.
//
// That holds for URLs nobody made for the purpose. The hash has no secret, so whoever can publish
// links may be able to construct two with one Key; what comes of it is that the one found later is
// not fetched. So nothing but "seen before" may hang on a Key, and a store that must withstand even
// that keeps a keyed hash of [URL.Normal] instead.
//
// Keys of different profiles, and of different values of [NormalVersion], do not go into one set.
type Key [16]byte

// Key is the 128-bit seen key: the hash of [URL.Normal], the same as Safe.Key(u). The zero URL has
// the zero Key. It does not allocate but for rare URLs (malformed escapes, very long ones).
func (u URL) Key() Key { return Safe.Key(u) }
