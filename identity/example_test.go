package identity_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/amble-crawler/amble/identity"
)

// An operator creates an identity, checks it, and uploads the public folder.
func ExampleInit() {
	tmp, err := os.MkdirTemp("", "identity")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	now := time.Now()
	folder, err := identity.Init(filepath.Join(tmp, "labbot"), identity.Profile{
		Product:   "labbot",
		UserAgent: "labbot/1.0 (+https://lab.university.edu/crawl)",
		Page:      "https://lab.university.edu/crawl",
		Operator:  "Web Measurement Lab",
		Contacts:  []string{"crawl@lab.university.edu"},
		Purpose:   "research",
		Why:       "We study how public bodies publish documents.",
		Kept:      "Text and metadata of pages, for two years, on servers of the university.",
		Delay:     2 * time.Second,
		Addresses: []netip.Prefix{netip.MustParsePrefix("198.51.100.16/30")},
	}, now)
	if err != nil {
		log.Fatal(err)
	}
	report, err := folder.Check(context.Background(), nil, nil, now)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("sound:", report.OK(), report.Defects)
	fmt.Println("keys:", len(folder.Show(now).Keys))
	fmt.Println("directory:", folder.Show(now).Directory)
	// Output:
	// sound: true []
	// keys: 1
	// directory: https://lab.university.edu/.well-known/http-message-signatures-directory
}

// A crawler signs a request after a site challenged it, and the site verifies the signature.
func ExamplePolicy() {
	key, err := identity.NewKey()
	if err != nil {
		log.Fatal(err)
	}
	signer, err := identity.NewSigner("https://lab.university.edu/.well-known/http-message-signatures-directory", key)
	if err != nil {
		log.Fatal(err)
	}
	policy := identity.NewPolicy(identity.Challenged, signer)
	site := identity.Verifier{
		Nonces: identity.NewNonces(1000),
		Keys: func(agent, id string) (identity.PublicKey, error) { // a site fetches the keys from agent and caches them
			if id != key.ID() {
				return identity.PublicKey{}, errors.New("not in the directory")
			}
			return identity.PublicKey{ID: id, Key: key.Public()}, nil
		},
	}

	again := false
	for range 2 {
		now := time.Now()
		request := identity.Message{Method: "GET", Scheme: "https", Authority: "site.test", Target: "/page", Header: http.Header{}}
		signed, err := policy.Sign(request, now)
		if err != nil {
			log.Fatal(err)
		}
		signed.Set(request.Header)

		status, header := http.StatusOK, http.Header{}
		if _, err := site.Verify(request, now); err != nil {
			status = http.StatusForbidden
			header.Set("Accept-Signature", `sig1=("@authority" "signature-agent";key="sig1");created;expires;tag="web-bot-auth"`)
		}
		fmt.Println(status, "signed:", signed.KeyID != "")
		again = policy.Answer(identity.Answer{Request: request, Signed: signed, Again: again, Status: status, Header: header, Time: now}).Again
	}
	// Output:
	// 403 signed: false
	// 200 signed: true
}

// A ledger's head is signed, and verified with the public key.
func ExampleSignHead() {
	key, err := identity.NewKey()
	if err != nil {
		log.Fatal(err)
	}
	token, err := identity.SignHead(key, identity.Head{Hash: [32]byte{1}, Lines: 20000, Time: time.Now()})
	if err != nil {
		log.Fatal(err)
	}
	trusted, err := identity.ParseDirectory([]byte(`{"keys":[]}`)) // the directory as fetched
	if err != nil {
		log.Fatal(err)
	}
	trusted = append(trusted, identity.PublicKey{ID: key.ID(), Key: key.Public()})
	head, id, err := identity.VerifyHead(token, identity.Trusted(trusted))
	fmt.Println(head.Lines, id == key.ID(), err)
	// Output: 20000 true <nil>
}
