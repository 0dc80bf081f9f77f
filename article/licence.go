package article

import (
	"regexp"
	"strings"
)

// licence returns the SPDX identifier of the first licence that has one; if none has, the first licence as stated.
func licence(links []string, others ...string) string {
	first := ""
	for _, s := range append(links, others...) {
		s = clean(s)
		if id := spdx(s); id != "" {
			return id
		}
		if first == "" {
			first = s
		}
	}
	return first
}

var (
	ccAddress = regexp.MustCompile(`(?i)^(?:https?:)?//(?:www\.)?creativecommons\.org/licen[cs]es/(by(?:-nc)?(?:-nd|-sa)?)/([1-4]\.[05])(?:/(?:(?:deed|legalcode)[^/]*)?)?$`)
	ccName    = regexp.MustCompile(`(?i)^CC[ -](BY(?:-NC)?(?:-ND|-SA)?)[ -]([1-4]\.[05])$`)
	spdxPage  = regexp.MustCompile(`(?i)^https?://spdx\.org/licenses/([A-Za-z0-9.+-]+?)(?:\.html)?$`)
)

// licenceAddresses maps URLs of more licences for texts, without scheme and "www.", to SPDX identifiers.
var licenceAddresses = map[string]string{
	"creativecommons.org/publicdomain/zero/1.0": "CC0-1.0", "creativecommons.org/publicdomain/mark/1.0": "CC-PDM-1.0",
	"opensource.org/licenses/mit": "MIT", "opensource.org/license/mit": "MIT", "apache.org/licenses/license-2.0": "Apache-2.0", "apache.org/licenses/license-2.0.html": "Apache-2.0",
	"gnu.org/licenses/fdl-1.3.html": "GFDL-1.3-only", "gnu.org/licenses/fdl.html": "GFDL-1.3-or-later", "gnu.org/licenses/gpl-3.0.html": "GPL-3.0-only", "gnu.org/licenses/gpl-2.0.html": "GPL-2.0-only",
	"opendatacommons.org/licenses/odbl/1-0": "ODbL-1.0", "opendatacommons.org/licenses/by/1-0": "ODC-By-1.0", "opendatacommons.org/licenses/pddl/1-0": "PDDL-1.0",
	"nationalarchives.gov.uk/doc/open-government-licence/version/3": "OGL-UK-3.0",
}

// spdx returns the SPDX identifier of a licence, given its URL or short name. It returns "" for licences of single jurisdictions: only some
// of these have an identifier.
func spdx(s string) string {
	if m := ccAddress.FindStringSubmatch(s); m != nil {
		return "CC-" + strings.ToUpper(m[1]) + "-" + m[2]
	}
	if m := ccName.FindStringSubmatch(s); m != nil {
		return "CC-" + strings.ToUpper(m[1]) + "-" + m[2]
	}
	if m := spdxPage.FindStringSubmatch(s); m != nil {
		return m[1]
	}
	_, rest, _ := strings.Cut(s, "//")
	return licenceAddresses[strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(rest), "www."), "/")]
}
