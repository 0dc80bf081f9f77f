package document

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"
)

// maxCodes limits the number of codes of a font whose letters or widths are stored.
const maxCodes = 1 << 17

// glyphs maps the codes of a font to letters and widths.
type glyphs struct {
	composite bool // codes have two bytes, unless lengths is set
	utf16     bool // codes are text in UTF-16
	lengths   [5]bool
	letters   map[code]string  // letters by code, from the ToUnicode map
	simple    [256]string      // letters by one-byte code, from the encoding
	widths    map[code]float64 // widths by code, in thousandths of the font size
	width     float64          // width of codes without an entry in widths
}

// code is a code of one to four bytes.
type code struct {
	value  uint32
	length uint8
}

// codeOf returns the code in a string of at most four bytes.
func codeOf(s string) (c code) {
	for i := range len(s) {
		c.value = c.value<<8 | uint32(s[i])
	}
	c.length = uint8(len(s))
	return c
}

var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")

// piece is a drawn string: its text without blanks at both ends, and the positions at which this text begins and ends.
type piece struct {
	text            string
	from, to, width float64
}

// decode returns the text of a string that is drawn with this font size and spacing. If widths are known, it leaves out blanks at both
// ends, and very narrow blanks: some programs write blanks and undo their width, so that only distances show where words end.
func (g *glyphs) decode(s string, size, letter, word float64) (p piece) {
	var out strings.Builder
	measured := len(g.widths) > 0
	for len(s) > 0 {
		n := g.length(s)
		c := codeOf(s[:n])
		t, ok := g.letters[c]
		switch {
		case ok:
		case g.utf16 && n == 2:
			t = string(rune(c.value))
		case !g.composite:
			t = g.simple[s[0]]
		}
		w, ok := g.widths[c]
		if !ok {
			w = g.width
		}
		step := w/1000*size + letter
		if n == 1 && s[0] == ' ' {
			step += word
		}
		p.width += step
		switch {
		case t != " " || !measured:
			out.WriteString(t)
			p.to = p.width
		case out.Len() == 0:
			p.from = p.width
		case step > 0.08*size:
			out.WriteString(t)
		}
		s = s[n:]
	}
	p.text = ligatures.Replace(out.String())
	if measured {
		p.text = strings.TrimRight(p.text, " ")
	}
	return p
}

// length returns the number of bytes of the first code in s.
func (g *glyphs) length(s string) int {
	if !g.composite {
		return 1
	}
	if g.lengths[1] && !g.lengths[2] {
		return 1
	}
	return min(2, len(s))
}

// glyphsOf returns the glyphs of a font. It reads each font only once.
func (f *pdfFile) glyphsOf(o types.Object) *glyphs {
	ref, shared := o.(types.IndirectRef)
	if g := f.fonts[ref]; shared && g != nil {
		return g
	}
	g := f.readFont(f.dict(o))
	if shared && len(f.fonts) < 10_000 {
		f.fonts[ref] = g
	}
	return g
}

func (f *pdfFile) readFont(font types.Dict) *glyphs {
	g := &glyphs{letters: map[code]string{}, widths: map[code]float64{}, width: 500, composite: f.name(font["Subtype"]) == "Type0"}
	if g.composite {
		f.readComposite(g, font)
	} else {
		f.readSimple(g, font)
	}
	if m := f.stream(font["ToUnicode"]); m != nil {
		g.readMap(m)
	}
	return g
}

// readSimple reads the encoding and the widths of a font whose codes are single bytes.
func (f *pdfFile) readSimple(g *glyphs, font types.Dict) {
	descriptor := f.dict(font["FontDescriptor"])
	unit := 1.0
	if a := f.array(font["FontMatrix"]); len(a) == 6 { // a Type 3 font has its own unit
		n, _ := f.number(a[0])
		unit = n * 1000
	}
	if w, ok := f.number(descriptor["MissingWidth"]); ok {
		g.width = w
	}
	first, _ := f.number(font["FirstChar"])
	for i, o := range f.array(font["Widths"]) {
		if c := int(first) + i; c >= 0 && c < 256 {
			if w, ok := f.number(o); ok {
				g.widths[code{uint32(c), 1}] = w * unit
			}
		}
	}
	encoding := f.dict(font["Encoding"])
	base := f.name(font["Encoding"])
	if encoding != nil {
		base = f.name(encoding["BaseEncoding"])
	}
	g.encode(base, f.name(font["Subtype"]) == "TrueType")
	if base == "" {
		for _, m := range builtin.FindAllSubmatch(f.stream(descriptor["FontFile"]), 256) {
			if c, err := strconv.Atoi(string(m[1])); err == nil && c < 256 {
				g.simple[c] = glyph(string(m[2]))
			}
		}
	}
	next := 0
	for _, o := range f.array(encoding["Differences"]) {
		if n, ok := f.number(o); ok {
			next = int(n)
		} else if next >= 0 && next < 256 {
			g.simple[next] = glyph(f.name(o))
			next++
		}
	}
}

// builtin matches entries in the encoding of a Type 1 font program.
var builtin = regexp.MustCompile(`dup\s+(\d{1,3})\s*/([A-Za-z0-9._]+)\s+put`)

// encode sets the letters of a base encoding.
func (g *glyphs) encode(base string, trueType bool) {
	table := charmap.Windows1252
	if base == "MacRomanEncoding" {
		table = charmap.Macintosh
	}
	for c := 32; c < 256; c++ {
		g.simple[c] = string(table.DecodeByte(byte(c)))
	}
	g.simple[0xA0], g.simple[0xAD] = " ", "-"
	if base != "" && base != "StandardEncoding" || trueType {
		return
	}
	g.simple['\''], g.simple['`'] = "’", "‘"
	for i, r := range []rune(standardHigh) { // letters for the codes from 0xA1 on
		if g.simple[0xA1+i] = string(r); r == '_' {
			g.simple[0xA1+i] = ""
		}
	}
}

// standardHigh has the letters of the standard encoding from 0xA1 on (ISO 32000-1, annex D.2); _ means none.
const standardHigh = "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ_–†‡·_¶•‚„”»…‰_¿_`´ˆ˜¯˘˙¨_˚¸_˝˛ˇ—________________Æ_ª____ŁØŒº_____æ___ı__łøœß____"

// readComposite reads the widths of a composite font, and which kind of codes it has.
func (f *pdfFile) readComposite(g *glyphs, font types.Dict) {
	g.width = 1000
	g.utf16 = strings.Contains(f.name(font["Encoding"]), "UCS2") || strings.Contains(f.name(font["Encoding"]), "UTF16")
	below := f.array(font["DescendantFonts"])
	if len(below) == 0 {
		return
	}
	inner := f.dict(below[0])
	if w, ok := f.number(inner["DW"]); ok {
		g.width = w
	}
	list := f.array(inner["W"])
	for i := 0; i+1 < len(list) && len(g.widths) < maxCodes; {
		first, ok := f.number(list[i])
		if !ok || first < 0 {
			return
		}
		if each := f.array(list[i+1]); each != nil {
			for j, o := range each {
				w, _ := f.number(o)
				g.widths[code{uint32(int(first) + j), 2}] = w
			}
			i += 2
			continue
		}
		last, ok := f.number(list[i+1])
		if !ok || i+2 >= len(list) {
			return
		}
		w, _ := f.number(list[i+2])
		for c := int(first); c <= int(last) && len(g.widths) < maxCodes; c++ {
			g.widths[code{uint32(c), 2}] = w
		}
		i += 3
	}
}

// readMap reads a map from codes to Unicode (ISO 32000-1, section 9.10.3).
func (g *glyphs) readMap(m []byte) {
	l := &lexer{data: m}
	var args []any
	for {
		t := l.next(0)
		op, ok := t.(pdfOp)
		switch {
		case t == nil:
			return
		case !ok:
			if len(args) < maxCodes {
				args = append(args, t)
			}
			continue
		case op == "endcodespacerange":
			for _, a := range args {
				if s, ok := a.(pdfString); ok && len(s) > 0 && len(s) <= 4 {
					g.lengths[len(s)] = true
				}
			}
		case op == "endbfchar":
			for i := 0; i+1 < len(args); i += 2 {
				from, _ := args[i].(pdfString)
				to, _ := args[i+1].(pdfString)
				g.means(from, 0, string(to))
			}
		case op == "endbfrange":
			for i := 0; i+2 < len(args); i += 3 {
				g.meansRange(args[i], args[i+1], args[i+2])
			}
		}
		args = args[:0]
	}
}

// means records that a code stands for the text to, which is in UTF-16. The code is the number in from, plus by.
func (g *glyphs) means(from pdfString, by uint32, to string) {
	if len(from) == 0 || len(from) > 4 || len(g.letters) >= maxCodes {
		return
	}
	c := codeOf(string(from))
	c.value += by
	g.letters[c] = strings.Trim(decodeUTF16(to), "\x00")
}

func (g *glyphs) meansRange(low, high, to any) {
	from, ok := low.(pdfString)
	last, ok2 := high.(pdfString)
	if !ok || !ok2 || len(from) == 0 || len(from) > 4 || len(last) != len(from) {
		return
	}
	n := min(codeOf(string(last)).value-codeOf(string(from)).value, 0xFFFF)
	switch to := to.(type) {
	case []any:
		for i := range min(int(n)+1, len(to)) {
			s, _ := to[i].(pdfString)
			g.means(from, uint32(i), string(s))
		}
	case pdfString:
		if len(to) < 2 {
			return
		}
		for i := uint32(0); i <= n && len(g.letters) < maxCodes; i++ {
			end := (uint32(to[len(to)-2])<<8 | uint32(to[len(to)-1])) + i
			g.means(from, i, string(to[:len(to)-2])+string([]byte{byte(end >> 8), byte(end)}))
		}
	}
}

// decodeUTF16 converts big-endian UTF-16 to UTF-8.
func decodeUTF16(s string) string {
	var out strings.Builder
	for i := 0; i+1 < len(s); i += 2 {
		r := rune(s[i])<<8 | rune(s[i+1])
		if r >= 0xD800 && r < 0xDC00 && i+3 < len(s) {
			r = (r-0xD800)<<10 + (rune(s[i+2])<<8 | rune(s[i+3])) - 0xDC00 + 0x10000
			i += 2
		}
		out.WriteRune(r)
	}
	return out.String()
}

// glyph returns the letters for the name of a glyph, by the Adobe Glyph List for Latin, Greek and Cyrillic. It also supports names of the
// forms uniXXXX and uXXXXX, and ignores a suffix after a dot.
func glyph(name string) string {
	name, _, _ = strings.Cut(name, ".")
	if strings.Contains(name, "_") { // a ligature such as f_i
		var all strings.Builder
		for _, part := range strings.SplitN(name, "_", 8) {
			all.WriteString(glyph(part))
		}
		return all.String()
	}
	if s, ok := glyphNames[name]; ok {
		return s
	}
	if len(name) == 1 {
		return name
	}
	for _, prefix := range []string{"uni", "u"} {
		if digits, ok := strings.CutPrefix(name, prefix); ok && len(digits) >= 4 && len(digits) <= 6 {
			if r, err := strconv.ParseUint(digits, 16, 21); err == nil {
				return string(rune(r))
			}
		}
	}
	if digits, ok := strings.CutPrefix(name, "afii"); ok {
		return cyrillic(digits)
	}
	for accent, mark := range accents { // an accented letter: Eacute, ccedilla
		if letter, ok := strings.CutSuffix(name, accent); ok && len(letter) == 1 {
			return norm.NFC.String(letter + mark)
		}
	}
	return ""
}

// cyrillic returns the letter for the digits of a name such as afii10017.
func cyrillic(digits string) string {
	n, err := strconv.Atoi(digits)
	switch {
	case err != nil:
		return ""
	case n == 10023:
		return "Ё"
	case n == 10071:
		return "ё"
	case n >= 10017 && n <= 10049:
		return string(rune(0x0410 + n - 10017 - after(n, 10023)))
	case n >= 10065 && n <= 10097:
		return string(rune(0x0430 + n - 10065 - after(n, 10071)))
	}
	return ""
}

// after returns 1 if n is greater than limit, otherwise 0.
func after(n, limit int) int {
	if n > limit {
		return 1
	}
	return 0
}

var accents = map[string]string{
	"grave": "\u0300", "acute": "\u0301", "circumflex": "\u0302", "tilde": "\u0303", "macron": "\u0304", "breve": "\u0306", "dotaccent": "\u0307",
	"dieresis": "\u0308", "ring": "\u030A", "hungarumlaut": "\u030B", "caron": "\u030C", "cedilla": "\u0327", "ogonek": "\u0328", "commaaccent": "\u0327",
}

// glyphNames maps names of glyphs to letters.
var glyphNames = func() map[string]string {
	all := map[string]string{"space": " ", "nbspace": " ", "nonbreakingspace": " ", "ff": "ff", "fi": "fi", "fl": "fl", "ffi": "ffi", "ffl": "ffl"}
	fields := strings.Fields(`exclam ! quotedbl " numbersign # dollar $ percent % ampersand & quotesingle ' parenleft ( parenright ) asterisk * plus +
		comma , hyphen - period . slash / zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9 colon : semicolon ; less <
		equal = greater > question ? at @ bracketleft [ backslash \ bracketright ] asciicircum ^ underscore _ grave ` + "`" + ` braceleft { bar | braceright }
		asciitilde ~ exclamdown ¡ cent ¢ sterling £ currency ¤ yen ¥ brokenbar ¦ section § dieresis ¨ copyright © ordfeminine ª guillemotleft «
		logicalnot ¬ sfthyphen - registered ® macron ¯ degree ° plusminus ± twosuperior ² threesuperior ³ acute ´ mu µ paragraph ¶ periodcentered ·
		cedilla ¸ onesuperior ¹ ordmasculine º guillemotright » onequarter ¼ onehalf ½ threequarters ¾ questiondown ¿ AE Æ Eth Ð Oslash Ø Thorn Þ
		germandbls ß ae æ eth ð divide ÷ multiply × oslash ø thorn þ dotlessi ı dotlessj ȷ Lslash Ł lslash ł OE Œ oe œ Dcroat Đ dcroat đ Hbar Ħ hbar ħ
		florin ƒ circumflex ˆ caron ˇ breve ˘ dotaccent ˙ ring ˚ ogonek ˛ tilde ˜ hungarumlaut ˝ endash – emdash — quoteleft ‘ quoteright ’
		quotesinglbase ‚ quotedblleft “ quotedblright ” quotedblbase „ dagger † daggerdbl ‡ bullet • ellipsis … perthousand ‰ guilsinglleft ‹
		guilsinglright › fraction ⁄ Euro € trademark ™ minus − infinity ∞ lessequal ≤ greaterequal ≥ notequal ≠ approxequal ≈ summation ∑ product ∏
		radical √ integral ∫ partialdiff ∂ lozenge ◊ arrowright → arrowleft ← element ∈
		Alpha Α Beta Β Gamma Γ Delta Δ Epsilon Ε Zeta Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ Nu Ν Xi Ξ Omicron Ο Pi Π Rho Ρ Sigma Σ Tau Τ
		Upsilon Υ Phi Φ Chi Χ Psi Ψ Omega Ω alpha α beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ nu ν xi ξ
		omicron ο pi π rho ρ sigma σ sigma1 ς tau τ upsilon υ phi φ chi χ psi ψ omega ω`)
	for i := 0; i+1 < len(fields); i += 2 {
		all[fields[i]] = fields[i+1]
	}
	return all
}()
