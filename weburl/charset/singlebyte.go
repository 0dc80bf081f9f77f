package charset

import (
	"sync"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// singleBytes are the encodings with one byte per character, by name (Encoding Standard, section 9, and section
// 14.5 for x-user-defined).
var singleBytes = sync.OnceValue(func() map[string]codes {
	all := map[string]codes{}
	for _, name := range []string{
		"ibm866", "iso-8859-2", "iso-8859-3", "iso-8859-4", "iso-8859-5", "iso-8859-6", "iso-8859-7", "iso-8859-8",
		"iso-8859-8-i", "iso-8859-10", "iso-8859-13", "iso-8859-14", "iso-8859-15", "iso-8859-16", "koi8-r", "koi8-u",
		"macintosh", "windows-874", "windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254",
		"windows-1255", "windows-1256", "windows-1257", "windows-1258", "x-mac-cyrillic", "x-user-defined",
	} {
		if e, err := htmlindex.Get(name); err == nil {
			all[name] = singleByte(e)
		}
	}
	return all
})

// singleByte returns the codes of one encoding. Bytes from 0x80 to 0x9F that x/text maps to no character are the
// control characters with that number.
func singleByte(e encoding.Encoding) codes {
	c := codes{}
	c.add(e, upper)
	used := map[uint16]bool{}
	for _, code := range c {
		used[code] = true
	}
	for b := uint16(0x80); b <= 0x9f; b++ {
		if !used[b] {
			c[rune(b)] = b
		}
	}
	return c
}
