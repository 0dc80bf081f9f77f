package challenge

import "slices"

// Row is the signature of one wall: any of its header fields, or all parts of any of its pages.
type Row struct {
	Name   string // name of the bot wall
	Source string // where the signature is documented, or where such pages were found
	Date   string // when the source was read

	fields []field
	hint   string // a text that occurs in each of the pages: bodies without it are not parsed
	pages  []page
}

// field is a header field with its whole value.
type field struct{ name, value string }

// page is the markup of a challenge, with all its parts.
type page []part

// part is an attribute whose value contains a text, or the beginning of a script if attr is empty.
type part struct{ tag, attr, value string }

// Rows returns the table.
func Rows() []Row { return slices.Clone(rows) }

// rows lacks signatures that ordinary pages have, too: `X-DataDome: protected`, the cookie `_abck`, `_pxAppId` without an element
// px-captcha, Imperva's script without its frame, and the script that sites include for AWS WAF.
var rows = []Row{
	{
		Name: "Anubis", Date: "2026-11-25",
		Source: "https://github.com/TecharoHQ/anubis, web/index.templ; https://github.com/microlinkhq/is-antibot, providers/providers.json",
		hint:   "anubis_",
		pages: []page{
			{{"script", "id", "anubis_challenge"}},
			{{"script", "id", "anubis_version"}, {"script", "src", "/x/cmd/anubis/static/js/main.mjs"}},
		},
	},
	{
		Name: "Cloudflare", Date: "2026-11-25",
		Source: "https://developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response; " +
			"pages in public repositories that contain window._cf_chl_opt",
		fields: []field{{"Cf-Mitigated", "challenge"}},
		hint:   "_cf_chl_opt",
		pages: []page{
			{{"script", "", "(function(){window._cf_chl_opt="}},
			{{"script", "", "window._cf_chl_opt="}},
		},
	},
	{
		Name: "AWS WAF", Date: "2026-11-25",
		Source: "https://docs.aws.amazon.com/waf/latest/developerguide/waf-captcha-and-challenge-actions.html; " +
			"pages in public repositories that contain window.gokuProps",
		fields: []field{{"X-Amzn-Waf-Action", "challenge"}, {"X-Amzn-Waf-Action", "captcha"}},
		hint:   "gokuProps",
		pages: []page{
			{{"script", "", "window.awsWafCookieDomainList=[];window.gokuProps="}, {"script", "src", ".token.awswaf.com/"}},
			{{"script", "", "window.gokuProps="}, {"script", "src", ".token.awswaf.com/"}},
		},
	},
	{
		Name: "DataDome", Date: "2026-11-25",
		Source: "pages in public repositories that contain captcha-delivery.com/c.js",
		hint:   "captcha-delivery.com",
		pages: []page{
			{{"script", "", "vardd="}, {"script", "src", "captcha-delivery.com/"}},
			{{"script", "", "vardd="}, {"iframe", "src", "captcha-delivery.com/"}},
		},
	},
	{
		Name: "HUMAN", Date: "2026-11-25",
		Source: "https://github.com/microlinkhq/is-antibot, providers/providers.json; pages in public repositories that contain id=\"px-captcha\"",
		hint:   "px-captcha",
		pages: []page{
			{{"script", "", "window._px"}, {"div", "id", "px-captcha"}},
		},
	},
	{
		Name: "Akamai", Date: "2026-11-25",
		Source: "pages in public repositories that contain sec-if-cpt-container",
		hint:   "sec-if-cpt-container",
		pages: []page{
			{{"div", "id", "sec-if-cpt-container"}},
		},
	},
	{
		Name: "Imperva", Date: "2026-11-25",
		Source: "pages in public repositories that contain _Incapsula_Resource?SWUDNSAI",
		hint:   "_Incapsula_Resource",
		pages: []page{
			{{"iframe", "id", "main-iframe"}, {"iframe", "src", "/_Incapsula_Resource?"}},
		},
	},
}
