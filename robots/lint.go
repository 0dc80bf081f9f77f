package robots

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// Severity ranks lints.
type Severity uint8

// The severities of lints.
const (
	Info    Severity = iota // worth knowing
	Warning                 // the author probably means something else, or other crawlers read the line differently
	Error                   // the line has no effect, or not the intended effect
)

// String returns "info", "warning" or "error".
func (s Severity) String() string {
	switch s {
	case Info:
		return "info"
	case Warning:
		return "warning"
	}
	return "error"
}

// LintCode names a kind of lint. Codes are stable across versions:
//
//	truncated             the file is longer than MaxSize
//	html                  the body is an HTML page
//	binary                the body is not text
//	no_rules              text without any rule
//	missing_colon         accepted
//	misspelt_field        accepted
//	unknown_field         ignored
//	no_field              neither field nor comment: ignored
//	control_octet         a control byte in the line
//	rule_before_group     ignored
//	blank_line_in_group   ends a record in the older standards
//	agent_empty           names nobody
//	agent_extra           only the first word names a robot
//	agent_repeated        several groups name it; they are merged
//	several_paths         split at spaces, for Disallow
//	no_leading_slash      read with it, for Disallow; else ignored
//	absolute_url          read as its path, for Disallow of this host; else ignored
//	dollar_inside         literal: it is special only at the end
//	bad_escape            a percent sign without two hex digits
//	bad_number            a value of Crawl-delay, Request-rate or Visit-time: ignored
//	delay_between_agents  does not end the list of robots (RFC 9309 section 2.2.4)
//	bad_usage             a Content-Usage or Content-Signal that cannot be read
//	empty_value           a field without a value that needs one
//	forbidden             the status is 401 or 403
//	too_many_requests     the status is 429
//	too_many              more than 1,000 remarks; the rest is left out
type LintCode string

// The codes of [LintCode].
const (
	lintTruncated       LintCode = "truncated"
	lintHTML            LintCode = "html"
	lintBinary          LintCode = "binary"
	lintNoRules         LintCode = "no_rules"
	lintMissingColon    LintCode = "missing_colon"
	lintMisspelt        LintCode = "misspelt_field"
	lintUnknownField    LintCode = "unknown_field"
	lintNoField         LintCode = "no_field"
	lintControl         LintCode = "control_octet"
	lintRuleBeforeGroup LintCode = "rule_before_group"
	lintBlankInGroup    LintCode = "blank_line_in_group"
	lintAgentEmpty      LintCode = "agent_empty"
	lintAgentExtra      LintCode = "agent_extra"
	lintAgentRepeated   LintCode = "agent_repeated"
	lintSeveralPaths    LintCode = "several_paths"
	lintNoSlash         LintCode = "no_leading_slash"
	lintAbsoluteURL     LintCode = "absolute_url"
	lintDollar          LintCode = "dollar_inside"
	lintBadEscape       LintCode = "bad_escape"
	lintBadNumber       LintCode = "bad_number"
	lintDelayInAgents   LintCode = "delay_between_agents"
	lintBadUsage        LintCode = "bad_usage"
	lintEmptyValue      LintCode = "empty_value"
	lintForbidden       LintCode = "forbidden"
	lintTooManyRequests LintCode = "too_many_requests"
	lintTooMany         LintCode = "too_many"
)

// maxLints limits the lints of a file. If it is reached, the last lint is lintTooMany.
const maxLints = 1000

// Lint is a remark about a line of a file.
type Lint struct {
	Line     int // 1-based; 0: the file as a whole
	Code     LintCode
	Severity Severity
	Text     string // one sentence for a person
}

// String returns "line 3: warning: text (code)".
func (l Lint) String() string {
	where := "file"
	if l.Line > 0 {
		where = "line " + strconv.Itoa(l.Line)
	}
	return where + ": " + l.Severity.String() + ": " + l.Text + " (" + string(l.Code) + ")"
}

// Lints returns remarks about everything that does not conform to RFC 9309 or that crawlers read differently, ordered by line. They are
// computed at every call, in time that is linear in the size of the file.
func (r *Rules) Lints() []Lint {
	l := &linter{rules: r, agents: map[string]int{}}
	l.file()
	l.eachLine()
	if !l.anyRule && len(l.out) == 0 && strings.TrimSpace(r.body) != "" {
		l.add(0, lintNoRules, Info, "the file has no Allow or Disallow rule: everything is allowed")
	}
	slices.SortStableFunc(l.out, func(a, b Lint) int { return a.Line - b.Line })
	return l.out
}

// linter reads a file again and collects its lints.
type linter struct {
	rules   *Rules
	out     []Lint
	agents  map[string]int // line number at which each robot is named first
	inGroup bool
	closed  bool // the group has rules, so the next User-agent line begins another group
	delay   int  // line of a Crawl-delay or the like between User-agent lines, or 0
	blank   bool
	anyRule bool
}

func (l *linter) add(line int, code LintCode, s Severity, text string) {
	switch {
	case len(l.out) < maxLints-1:
		l.out = append(l.out, Lint{line, code, s, text})
	case len(l.out) == maxLints-1:
		l.out = append(l.out, Lint{line, lintTooMany, Info, "there are more remarks than are listed"})
	}
}

// file checks the whole body.
func (l *linter) file() {
	head := []byte(l.rules.body[:min(len(l.rules.body), 1024)])
	switch {
	case looksBinary(head):
		l.add(0, lintBinary, Error, "the body is no text: it is read as if it were, and probably has no rules")
	case LooksLikeHTML(head):
		l.add(0, lintHTML, Error, "the body looks like an HTML page: it is read as text, and probably has no rules")
	}
	if l.rules.cut {
		l.add(0, lintTruncated, Warning, "the file is longer than "+strconv.Itoa(MaxSize)+" bytes: the rest, and a line that was cut, are ignored")
	}
}

func (l *linter) eachLine() {
	r := newLineReader(l.rules.body)
	for {
		start, end, ok := r.next()
		if !ok {
			return
		}
		ln, what := readLine(l.rules.body, start, end)
		ln.num = r.num
		l.line(ln, what, l.rules.body[start:end])
	}
}

// line checks one line and records the state of its group.
func (l *linter) line(ln line, what content, raw string) {
	if what == isBlank {
		l.blank = true
		return
	}
	if what != isComment && strings.ContainsFunc(raw, isControl) {
		l.add(int(ln.num), lintControl, Warning, "the line has a control byte")
	}
	switch what {
	case isUnknown:
		l.add(int(ln.num), lintUnknownField, Info, "the field is not known and has no effect"+suggest(raw))
	case isText:
		l.add(int(ln.num), lintNoField, Warning, "the line is neither a field with its value nor a comment")
	case isField:
		l.field(ln)
	}
	if what != isComment {
		l.blank = false
	}
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// suggest returns a hint at Allow if a line looks like a misspelling of it, because misspellings of Allow are not accepted.
func suggest(raw string) string {
	name, _, _ := strings.Cut(raw, ":")
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "alow", "allows", "allowed", "alllow", "aloow", "allo", "alloww":
		return "; Allow may be meant"
	}
	return ""
}

// field checks a line with a known field.
func (l *linter) field(ln line) {
	if ln.has(noColon) {
		l.add(int(ln.num), lintMissingColon, Warning, "the colon is missing; the line is read as if it were there")
	}
	if ln.has(misspelt) {
		l.add(int(ln.num), lintMisspelt, Warning, "the field's name is misspelt; it is read as "+ln.kind.String())
	}
	if ln.kind == userAgent {
		l.agent(ln)
		return
	}
	if ln.kind.grouped() {
		l.member(ln)
	}
	value := l.rules.value(ln)
	switch ln.kind {
	case allow, disallow:
		l.rule(ln, value)
	case crawlDelay, requestRate, visitTime:
		l.number(ln, value)
	case contentUsage, contentSignal:
		if _, _, ok := parsePreferences(ln.kind, value); !ok {
			l.add(int(ln.num), lintBadUsage, Error, "the usage preferences cannot be read and have no effect")
		}
	default:
		if value == "" {
			l.add(int(ln.num), lintEmptyValue, Warning, "the line has no value")
		}
	}
}

// agent checks a User-agent line.
func (l *linter) agent(ln line) {
	value, num := l.rules.value(ln), int(ln.num)
	tok := token(value)
	_, star := matchToken(value, "")
	switch {
	case star && value != "*", tok != "" && len(tok) < len(value):
		l.add(num, lintAgentExtra, Warning, "only "+quote(firstOf(star, "*", tok))+" is the robot's name; the rest is ignored")
	case !star && tok == "":
		l.add(num, lintAgentEmpty, Error, "the line names no robot")
	}
	fresh := !l.inGroup || l.closed
	if fresh {
		l.inGroup, l.closed, l.delay = true, false, 0
	}
	if l.delay > 0 {
		l.add(l.delay, lintDelayInAgents, Warning, "a line like this does not end the list of robots: it holds for those above it, and the rules below hold for all of them")
		l.delay = 0
	}
	if !fresh && l.blank {
		l.add(num, lintBlankInGroup, Warning, "a blank line does not end a group: the robots above it share the rules below, except in the older standards")
	}
	l.named(firstOf(star, "*", strings.ToLower(tok)), num)
}

func firstOf(cond bool, a, b string) string {
	if cond {
		return a
	}
	return b
}

// named records a robot that a User-agent line names.
func (l *linter) named(name string, line int) {
	if name == "" {
		return
	}
	if at, ok := l.agents[name]; ok {
		l.add(line, lintAgentRepeated, Info, quote(name)+" is named in line "+strconv.Itoa(at)+" already: the groups are one")
		return
	}
	l.agents[name] = line
}

// member checks the position of a line that belongs to a group.
func (l *linter) member(ln line) {
	num := int(ln.num)
	isRule := ln.kind == allow || ln.kind == disallow
	switch {
	case !l.inGroup && ln.kind != contentSignal:
		l.add(num, lintRuleBeforeGroup, Error, "the line stands before any User-agent line and has no effect")
	case l.inGroup && l.blank:
		l.add(num, lintBlankInGroup, Warning, "a blank line does not end a group: the line still belongs to it, except in the older standards")
	}
	if isRule {
		l.closed = l.closed || l.inGroup
		l.anyRule = l.anyRule || l.inGroup
	} else if l.inGroup && !l.closed && (ln.kind == crawlDelay || ln.kind == requestRate) {
		l.delay = num
	}
}

// rule checks the value of an Allow or Disallow line.
func (l *linter) rule(ln line, value string) {
	num := int(ln.num)
	if value == "" {
		return
	}
	paths := strings.Fields(value)
	if len(paths) > 1 {
		l.add(num, lintSeveralPaths, Warning, severalText(ln.kind == disallow))
	}
	if ln.kind == allow {
		paths = paths[:1]
	}
	for _, p := range paths {
		l.path(num, p, ln.kind == disallow)
	}
}

func severalText(split bool) string {
	if split {
		return "several paths on one line are each disallowed; other crawlers may take them for one"
	}
	return "a blank cannot stand in a path: the rule matches only URLs with an escaped blank"
}

// path checks one path of a rule.
func (l *linter) path(num int, p string, split bool) {
	_, _, absolute := splitAbsolute(p)
	switch {
	case absolute && !split:
		l.add(num, lintAbsoluteURL, Error, "a rule is a path, not a URL: it has no effect")
	case absolute:
		l.add(num, lintAbsoluteURL, Warning, "a rule is a path, not a URL: only the path is read, when the host is this one")
	case p[0] != '/' && p[0] != '*' && split:
		l.add(num, lintNoSlash, Warning, "the path lacks its leading slash and is read with it")
	case p[0] != '/' && p[0] != '*':
		l.add(num, lintNoSlash, Error, "the path lacks its leading slash: the rule has no effect")
	}
	if strings.Contains(strings.TrimSuffix(p, "$"), "$") {
		l.add(num, lintDollar, Info, "a $ that is not at the end is an ordinary character")
	}
	if hasBadEscape(p) {
		l.add(num, lintBadEscape, Info, "a percent sign is not followed by two hexadecimal digits")
	}
}

func hasBadEscape(s string) bool {
	for i := range len(s) {
		if s[i] == '%' {
			if _, ok := unhex(s[i:]); !ok {
				return true
			}
		}
	}
	return false
}

// number adds a lint if the value is not a valid number.
func (l *linter) number(ln line, value string) {
	var p pace
	if p.read(ln.kind, value) {
		return
	}
	want := "a number of seconds, without sign and unit"
	switch ln.kind {
	case requestRate:
		want = "pages/seconds"
	case visitTime:
		want = "hhmm-hhmm"
	}
	l.add(int(ln.num), lintBadNumber, Error, quote(value)+" is not "+want+": the line has no effect")
}

var kindNames = [...]string{
	"", "User-agent", "Allow", "Disallow", "Crawl-delay", "Request-rate", "Visit-time",
	"Content-Usage", "Content-Signal", "Sitemap", "License", "Clean-param", "Host",
}

// String returns the field's name as it is usually written.
func (k kind) String() string { return kindNames[k] }

// LooksLikeHTML reports whether a body begins like an HTML or XML document, such as the error pages that some sites send for
// /robots.txt with status 200.
func LooksLikeHTML(body []byte) bool {
	s := strings.TrimLeft(strings.TrimPrefix(string(body[:min(len(body), 512)]), "\ufeff"), " \t\r\n\f")
	for _, start := range [...]string{"<!doctype", "<html", "<head", "<body", "<?xml", "<!--", "<script", "<meta", "<title", "<div", "<svg"} {
		if len(s) >= len(start) && foldEqual(s[:len(start)], start) {
			return true
		}
	}
	return false
}

// looksBinary reports whether a body is not text in an encoding compatible with ASCII: it is compressed, an image, UTF-16 or the like,
// with many control bytes at its beginning.
func looksBinary(body []byte) bool {
	for _, magic := range [...]string{"\x1f\x8b", "PK\x03\x04", "\x89PNG", "GIF8", "\xff\xd8\xff", "%PDF", "\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(body, []byte(magic)) {
			return true
		}
	}
	head := body[:min(len(body), 1024)]
	odd := 0
	for _, c := range head {
		if c < ' ' && c != '\t' && c != '\r' && c != '\n' && c != '\f' {
			odd++
		}
	}
	return odd*10 > len(head)
}
