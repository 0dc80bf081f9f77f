//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// trial is a task for a crawler.
type trial struct {
	seeds string        // name of the file with seeds
	hosts []string      // hosts whose pages belong to the crawl
	delay time.Duration // delay between requests to a host; 0: none
	dir   string        // working directory of the crawler, initially empty
	keep  bool          // whether to keep the queue on disk
	again bool          // whether to continue a killed crawl in dir
}

// seconds returns the delay as a decimal number.
func (t *trial) seconds() string { return fmt.Sprintf("%g", t.delay.Seconds()) }

// domains returns the hosts, separated by commas.
func (t *trial) domains() string { return strings.Join(t.hosts, ",") }

// rival is a crawler to compare. Its commands run in trial.dir.
type rival struct {
	name    string
	note    string                                                            // what limits the comparison
	resumes bool                                                              // whether the crawler can continue after a kill
	ready   func(ctx context.Context, dir string) (version string, err error) // builds the crawler in a directory, or finds it
	command func(t *trial) []string
}

// rivals returns all crawlers, with the settings in their documentation. Programs that must be built are built in bin.
func rivals(root, bin string) []rival {
	debian := func(name string, version ...string) func(context.Context, string) (string, error) {
		return func(ctx context.Context, _ string) (string, error) {
			if _, err := exec.LookPath(name); err != nil {
				return "", fmt.Errorf("%s is not installed", name)
			}
			return output(ctx, "", append([]string{name}, version...)...)
		}
	}
	return []rival{
		{
			name: "amble", resumes: true,
			ready: func(ctx context.Context, dir string) (string, error) {
				if _, err := output(ctx, root, "go", "build", "-o", filepath.Join(dir, "amble"), "./cmd/amble"); err != nil {
					return "", err
				}
				return output(ctx, root, filepath.Join(dir, "amble"), "--version")
			},
			command: func(t *trial) []string {
				if t.again {
					return []string{bin + "/amble", "resume", "-q", "job"}
				}
				c := []string{bin + "/amble", "crawl", "-q", "-i", t.seeds, "-d", "none", "--max-pages", "100000000", "--scope", "any"}
				if t.delay > 0 {
					c = append(c, "-w", t.delay.String(), "--delay-factor", "0")
				} else {
					c = append(c, "-w", "0", "-c", "64", "--own-hosts", t.seeds, "--per-host", "16") // pauses below 100 ms are only allowed for own hosts
				}
				if t.keep {
					c = append(c, "-o", "job")
				}
				return c
			},
		},
		{
			name: "colly v2", note: "a library: one rule of its limits for each host, as its documentation says; keeps no queue on disk by itself",
			ready: func(ctx context.Context, dir string) (string, error) {
				if _, err := output(ctx, filepath.Join(root, "tools", "rivals", "colly"), "env", "GOWORK=off", "go", "build", "-o", filepath.Join(dir, "colly"), "."); err != nil {
					return "", err
				}
				version, err := output(ctx, root, "go", "version", "-m", filepath.Join(dir, "colly"))
				return "colly " + wordAfter(version, "github.com/gocolly/colly/v2"), err
			},
			command: func(t *trial) []string { return []string{bin + "/colly", "-delay", t.delay.String(), t.seeds} },
		},
		{
			name: "katana", note: "for security tests; robots.txt is a source of addresses to it; its pause is a rate over all hosts",
			ready: func(ctx context.Context, dir string) (string, error) {
				_, err := output(ctx, dir, "env", "GOWORK=off", "GOFLAGS=", "GOBIN="+dir, "go", "install", "github.com/projectdiscovery/katana/cmd/katana@"+katana)
				return "katana " + katana, err
			},
			command: func(t *trial) []string {
				c := []string{"env", "HOME=" + t.dir, bin + "/katana", "-list", t.seeds, "-d", "60", "-s", "breadth-first", "-ns", "-cs", "^http://(127|localhost)", "-duf", "-duc", "-silent", "-or", "-ob", "-o", "out"}
				if t.delay > 0 {
					return append(c, "-c", "1", "-p", "1", "-rl", fmt.Sprint(int(time.Second/t.delay)))
				}
				return append(c, "-c", "16", "-p", "16", "-rl", "1000000")
			},
		},
		{
			name: "Crawlee", resumes: true, note: "the last version of npm; its queue is one file for each request",
			ready: func(ctx context.Context, dir string) (string, error) {
				if _, err := output(ctx, dir, "npm", "install", "--silent", "--no-save", "--no-audit", "--no-fund", "--prefix", dir, "@crawlee/cheerio"); err != nil {
					return "", err
				}
				if err := os.CopyFS(filepath.Join(dir, "crawlee"), os.DirFS(filepath.Join(root, "tools", "rivals"))); err != nil {
					return "", err
				}
				version, err := output(ctx, dir, "node", "-p", "require('@crawlee/cheerio/package.json').version")
				return "Crawlee " + version, err
			},
			command: func(t *trial) []string {
				again := "AGAIN=0"
				if t.again {
					again = "AGAIN=1"
				}
				return []string{"env", "SEEDS=" + t.seeds, "DELAY=" + t.seconds(), again, "CRAWLEE_STORAGE_DIR=" + t.dir + "/storage", "node", bin + "/crawlee/crawl.mjs"}
			},
		},
		{
			name: "Scrapy", resumes: true, note: "Debian's version, years old; resumes after a clean stop, it says",
			ready: debian("scrapy", "version"),
			command: func(t *trial) []string {
				c := []string{"env", "SEEDS=" + t.seeds, "DELAY=" + t.seconds(), "scrapy", "runspider", filepath.Join(root, "tools", "rivals", "spider.py")}
				if t.keep {
					c = append(c, "-s", "JOBDIR=job")
				}
				return c
			},
		},
		{
			name: "wget2", resumes: true, note: "writes files; goes on with -nc, from the files that it finds",
			ready: debian("wget2", "--version"),
			command: func(t *trial) []string {
				c := []string{"wget2", "-q", "-r", "-l", "inf", "-H", "--domains=" + t.domains(), "-i", t.seeds, "--no-config", "--tries=1", "--max-threads=16"}
				if t.delay > 0 {
					c = append(c, "--wait="+t.seconds(), "--max-threads=8")
				}
				if t.keep {
					c = append(c, "-nc")
				}
				return c
			},
		},
		{
			name: "wget", resumes: true, note: "one request at a time, for all hosts; writes files; goes on with -nc",
			ready: debian("wget", "--version"),
			command: func(t *trial) []string {
				c := []string{"wget", "-q", "-r", "-l", "inf", "-H", "--domains=" + t.domains(), "-i", t.seeds, "--no-config", "--tries=1"}
				if t.delay > 0 {
					c = append(c, "--wait="+t.seconds())
				}
				if t.keep {
					c = append(c, "-nc")
				}
				return c
			},
		},
		{
			name: "HTTrack", resumes: true, note: "its pause is a rate over all hosts; writes files",
			ready: debian("httrack", "--version"),
			command: func(t *trial) []string {
				c := []string{"httrack", "-O", t.dir + "/site", "-%L", t.seeds, "-q", "-%v0", "-r60", "-s2", "-p1", "-I0", "-R0", "-%!", "+127.*", "+localhost*"}
				if t.again {
					c = append(c, "--continue")
				}
				if t.delay > 0 {
					return append(c, "-c1", fmt.Sprintf("-%%c%g", 1/t.delay.Seconds()))
				}
				return append(c, "-c64", "-%c0", "-A0")
			},
		},
	}
}

// katana is the version of katana that is measured.
const katana = "v1.2.2"

// output runs a command and returns the first line of its output.
func output(ctx context.Context, dir string, argv ...string) (string, error) {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, out)
	}
	if argv[0] == "go" && argv[1] == "version" {
		return string(out), nil
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line, nil
}

// wordAfter returns the word that follows another one in a text.
func wordAfter(text, word string) string {
	words := strings.Fields(text)
	for i, w := range words[:max(0, len(words)-1)] {
		if w == word {
			return words[i+1]
		}
	}
	return ""
}
