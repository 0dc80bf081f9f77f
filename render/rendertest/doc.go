// Package rendertest is for tests of what renders pages.
//
// [Fake] is a renderer without a browser, for simulations in virtual time. [Browser] is a real one, where there is
// one. [Open] shows a page of a handler in it, with no socket between them. [Finish] takes a rendering from its first
// round to its last.
package rendertest
