// Package identity makes a crawler recognisable, and lets anybody check that it is the one it says it is.
//
// A [Profile] says who crawls, why, how often and from where. From it come the files that an operator
// publishes, in one static folder ([Init], [Folder.Publish], [Folder.Rotate]): the key directory, the
// Signature Agent Card, the address ranges, and the contact page that the User-Agent leads to. [Check]
// reads them as a site would, and names each defect.
//
// A [Signer] signs requests by HTTP Message Signatures (RFC 9421) in the profile of the IETF web bot auth
// drafts; a [Verifier] checks such requests. A [Policy] decides which requests are signed: by default only
// those to sites that ask for it. [SignHead] signs the head of a ledger with the same key.
//
// The drafts move. What is implemented is
//
//   - draft-ietf-webbotauth-httpsig-protocol-01 (29 October 2026): signing, key directory
//   - draft-meunier-webbotauth-registry-04 (27 October 2026): Signature Agent Card
//   - draft-illyes-webbotauth-jafar-00 (21 April 2026): address ranges
//   - draft-illyes-webbotauth-cbcp-00 (21 April 2026) and -01 (October 2026): the contact page
//
// The package opens no connection: [Check] is given a function that fetches, and resolves names with
// what it is given. It starts no goroutine.
//
// # Reading order
//
// identity.go, profile.go and key.go have what an identity is; publish.go, directory.go, jwk.go, card.go, page.go and text.go
// write its files; message.go, fields.go, sign.go, verify.go and nonces.go are the signatures; policy.go, requests.go and
// challenge.go decide which requests have one; check.go, and a file for each thing that is checked (check*.go), find
// what is wrong; head.go signs a ledger.
package identity
