package extract

// Classes of bytes, for the loops of the scanner.
const (
	space     = 1 << iota // ASCII white space
	endsName              // of a tag
	endsKey               // of an attribute's name
	endsValue             // of an attribute's value without quotes
	encoded               // a value that contains it must be decoded
)

// class has the classes of every byte.
var class = [256]uint8{
	' ': space | endsName | endsKey | endsValue, '\t': space | endsName | endsKey | endsValue,
	'\n': space | endsName | endsKey | endsValue, '\f': space | endsName | endsKey | endsValue,
	'\r': space | endsName | endsKey | endsValue | encoded,
	'/':  endsName | endsKey, '>': endsName | endsKey | endsValue, '=': endsKey,
	'&': encoded, 0: encoded,
}
