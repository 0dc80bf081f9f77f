package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/audit"
)

// promised is the file that says what the crawl was told to keep to. "amble verify" reads it, too.
const promised = "politeness.json"

// promise writes what the ledger can be held to.
func (o options) promise(dir string) error {
	name, version, _ := strings.Cut(o.agent, "/")
	id := politeness.Identity{Product: name, Version: version, Contact: o.contact}
	b, err := json.MarshalIndent(audit.Config{
		Product: name, UserAgent: id.UserAgent(), Contact: o.contact, Delay: o.delay.Seconds(),
		DelayFactor: politeness.DefaultDelayFactor, MaxDelay: politeness.DefaultMaxDelay.Seconds(),
		MaxRetryAfter: politeness.DefaultMaxRetryAfter.Seconds(), MaxBackoff: politeness.DefaultMaxBackoff.Seconds(),
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, promised), append(b, '\n'), 0o644)
}

// violations is what the ledger of an archive shows of requests that should not have been made, or not
// then. The check shares no code with what admitted them.
func violations(dir string) (list []string, err error) {
	b, err := os.ReadFile(filepath.Join(dir, promised))
	if err != nil {
		return nil, err
	}
	var c audit.Config
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", promised, err)
	}
	ledger, err := os.Open(filepath.Join(dir, ledgerName))
	if err != nil {
		return nil, err
	}
	defer ledger.Close() //nolint:errcheck // it is only read
	rep, err := audit.Check(ledger, c, func(sha256 string) ([]byte, error) {
		if strings.Trim(sha256, "0123456789abcdef") != "" {
			return nil, errors.New("no hash")
		}
		return os.ReadFile(filepath.Join(dir, robotsName, sha256+".txt"))
	})
	if err != nil {
		return nil, err
	}
	for _, v := range rep.Violations {
		list = append(list, fmt.Sprintf("impolite: %s", v))
	}
	return list, nil
}
