// Package render is the contract between a crawler and a browser that has no network.
//
// A page whose content exists only after its scripts have run is rendered in rounds. A round is a pure
// function: from a document, the answers that are known, a clock and a seed it makes either the rendered
// document or the list of the answers that are missing. It makes no request. What is missing is a
// prerequisite of the page, as robots.txt is one: the crawler requests it with a permit, or is refused, and
// the next round knows more.
//
//   - [Task], [Want], [Decision] and [Result] are one round as a renderer sees it. Package render/chromium has
//     a renderer that drives Chromium, package render/rendertest a scripted one for tests.
//   - [Policy] says which pages are rendered and which of their requests are refused without asking anybody.
//   - [Rendering] is the rendering of one page from its first round to its last, kept between them as a few
//     hundred bytes of state.
//   - [Store] keeps answers, so that what many pages load is requested once.
//
// Nothing here starts a process or a goroutine, and nothing knows the crawler.
//
// Reading order: render.go (one round), kind.go, policy.go, auto.go and gain.go (which pages), rendering.go (one page),
// store.go, answer.go, fresh.go; shelf.go and folder.go (where answers are).
package render
