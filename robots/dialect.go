package robots

import (
	"fmt"
	"strings"
)

// Dialect selects the standard for reading a robots.txt.
type Dialect uint8

// The dialects. All of them divide a file into lines in the same way. In all of them an empty Disallow is not a rule, and /robots.txt
// itself may be fetched.
const (
	// RFC9309 is the current standard: blank lines mean nothing; groups that name the same robot are merged; a robot's own group takes
	// precedence over that of "*"; names are compared as a whole, without regard to case; of the rules that match, the longest decides,
	// and Allow if two are equally long; "*" stands for any bytes, and "$" at the end of a rule for the end of the URL.
	RFC9309 Dialect = iota
	// Original1994 is the Standard for Robot Exclusion of 30 June 1994: a blank line ends a record; a record applies if the name in it,
	// without version, occurs in the robot's name; any Disallow that is a prefix of the URL forbids it; there is no Allow, and no
	// character is special.
	Original1994
	// Draft1997 is the Internet-Draft that followed: a blank line ends a record; the first record whose name occurs in the robot's name
	// applies, otherwise the first one for "*"; of the Allow and Disallow lines that are prefixes of the URL, the first one decides;
	// every escape except %2F is decoded before comparing.
	Draft1997
	// Revisited1996 is the Robot Exclusion Standard Revisited of Kollar, Leavitt and Mauldin. It is like Original1994, but a User-agent
	// line may have several names and a Disallow line several paths, separated by spaces.
	Revisited1996
	// Strictest refuses a URL if any of the other dialects refuses it, and uses the longest delay that any of them reads.
	Strictest
)

var dialectNames = [...]string{"RFC9309", "Original1994", "Draft1997", "Revisited1996", "Strictest"}

// Dialects returns all dialects, the default first.
func Dialects() []Dialect {
	return []Dialect{RFC9309, Original1994, Draft1997, Revisited1996, Strictest}
}

// String returns the name of the dialect's constant.
func (d Dialect) String() string {
	if int(d) < len(dialectNames) {
		return dialectNames[d]
	}
	return fmt.Sprintf("Dialect(%d)", uint8(d))
}

// ParseDialect returns the dialect with that name. Case is ignored, and the year or number alone suffices: "9309", "1994", "1997",
// "1996". The error lists the names.
func ParseDialect(name string) (Dialect, error) {
	for i, n := range dialectNames {
		digits := strings.TrimLeft(n, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
		if strings.EqualFold(name, n) || (digits != "" && name == digits) {
			return Dialect(i), nil
		}
	}
	return 0, fmt.Errorf("robots: no dialect %q (one of %s)", name, strings.Join(dialectNames[:], ", "))
}

// MarshalText returns the dialect's name.
func (d Dialect) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a name as [ParseDialect] does.
func (d *Dialect) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDialect(string(text))
	return err
}

// blankEnds reports whether a blank line ends a record.
func (d Dialect) blankEnds() bool { return d != RFC9309 }

// knowsAllow reports whether Allow lines are rules.
func (d Dialect) knowsAllow() bool { return d == RFC9309 || d == Draft1997 }

// merges reports whether all records for a robot apply, not only the first.
func (d Dialect) merges() bool { return d != Draft1997 }

// firstWins reports whether the first matching rule decides, not the longest.
func (d Dialect) firstWins() bool { return d == Draft1997 }

// wild reports whether "*" and "$" are special in rules.
func (d Dialect) wild() bool { return d == RFC9309 }

// splitsPaths reports whether a Disallow line may hold several paths.
func (d Dialect) splitsPaths() bool { return d == RFC9309 || d == Revisited1996 }

// splitsAgents reports whether a User-agent line may hold several names.
func (d Dialect) splitsAgents() bool { return d == Revisited1996 }

// Disagree lists the dialects whose decision about a path differs from that of r's dialect, in the order of [Dialects]. It
// shows how much depends on the reading of the file.
func (r *Rules) Disagree(agent, pathQuery string) (out []Dialect) {
	mine := r.For(agent).Test(pathQuery).Allowed
	for _, d := range Dialects() {
		if r.In(d).For(agent).Test(pathQuery).Allowed != mine {
			out = append(out, d)
		}
	}
	return out
}
