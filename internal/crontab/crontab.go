// Package crontab parses crontabs, and returns the URLs that their lines call, and
// the times. The package is pure: it runs no program, and reads no file except the
// time zone database.
//
// A line has five fields of time, or a word such as @daily (see package cron), and
// a command: a URL, or curl or wget with one. A system crontab has a user between
// them. The comment "# name: nightly" names the schedule of the next line, and
// CRON_TZ=Europe/Berlin sets the time zone of the lines below it.
//
// Each line that means something else in Foliot, or nothing, gets an error or a
// warning. A character that a shell interprets is an error, because the request must
// be the one that the line says.
package crontab

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/cron"
)

// Config sets how a crontab is parsed.
type Config struct {
	System bool   // a system crontab, with a user before each command
	Prefix string // begins all names
}

// Table is a parsed crontab.
type Table struct {
	Entries  []Entry
	Errors   []Note // lines that cannot be used, in their order
	Warnings []Note // parts that are ignored, or mean something else in Foliot
}

// Entry is a line that calls a URL.
type Entry struct {
	Line int
	Name string // unique in the table: from a comment, or from the host and path of the URL
	When string // an expression of package cron
	Zone string // of CRON_TZ=, and perhaps unknown; "" if the crontab sets none, or When needs none

	Request request
}

// request is the request of a line, where the caller chooses the values that are not
// set.
type request struct {
	Method  string // "" if the command is only a URL
	URL     string // begins with http:// or https:// and a host
	Headers map[string]string
	Body    string
	Timeout time.Duration // 0 if not set
}

// Note is an error or a warning about a line.
type Note struct {
	Line int // from 1
	Text string
}

// Parse parses a crontab.
func Parse(text string, c Config) Table {
	p := parser{config: c, named: map[string]int{}}
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		p.line++
		p.read(strings.Trim(line, " \t\f\v\r\n"))
	}
	nameAll(p.table.Entries, c.Prefix)
	return p.table
}

// parser holds the state that a line sets for the lines below it.
type parser struct {
	config Config
	table  Table

	line  int
	name  string         // for the next entry
	named map[string]int // the lines of the entries with a name
	zone  string         // the present time zone
}

func (p *parser) wrong(format string, args ...any) {
	p.table.Errors = append(p.table.Errors, Note{p.line, fmt.Sprintf(format, args...)})
}

func (p *parser) warn(format string, args ...any) {
	p.table.Warnings = append(p.table.Warnings, Note{p.line, fmt.Sprintf(format, args...)})
}

var (
	nameComment = regexp.MustCompile(`(?i)^#+[ \t]*name[ \t]*:[ \t]*(.*)$`)
	// whenAndCommand matches a time, which may lack fields, and the rest of its line.
	whenAndCommand = regexp.MustCompile(`^((?i:@every)[ \t]+[^ \t]+|@[^ \t]+|[^ \t]+(?:[ \t]+[^ \t]+){0,4})[ \t]*(.*)$`)
	assignment     = regexp.MustCompile(`^["']?([A-Za-z_][A-Za-z0-9_]*)["']?[ \t]*=[ \t]*(.*)$`)
)

func (p *parser) read(line string) {
	if m := nameComment.FindStringSubmatch(line); m != nil {
		p.name = strings.TrimSpace(m[1])
		return
	}
	if line == "" || line[0] == '#' {
		return
	}
	if m := assignment.FindStringSubmatch(line); m != nil {
		p.assign(m[1], strings.Trim(m[2], `"'`))
		return
	}
	entry, err := p.entry(line)
	entry.Name, p.name = p.name, ""
	if err != nil {
		p.wrong("%s", err)
		return
	}
	if first, twice := p.named[entry.Name]; twice && entry.Name != "" {
		p.wrong("the name %s is already used in line %d: choose another name", quote(p.config.Prefix+entry.Name), first)
		return
	}
	p.named[entry.Name] = p.line
	p.table.Entries = append(p.table.Entries, entry)
}

func (p *parser) assign(name, value string) {
	switch {
	case name == "CRON_TZ":
		p.zone = value
	case name == "TZ" && value != "":
		p.warn("TZ= is ignored, as by most crons: to set the time zone of the lines below, write CRON_TZ=%s", value)
	case name == "MAILTO" && value != "":
		p.warn("Foliot sends no mail to %s: pass --on-dead URL to call a URL when a task dies", quote(value))
	default:
		p.warn("%s is ignored: it is meant for programs, and Foliot runs none", quote(name))
	}
}

// entry parses a line with a time and a command.
func (p *parser) entry(line string) (Entry, error) {
	m := whenAndCommand.FindStringSubmatch(line)
	words, command := strings.Fields(m[1]), m[2]
	if n := slices.IndexFunc(words, calls); n > 0 && line[0] != '@' {
		return Entry{}, fmt.Errorf("the line has only %d fields of time before its command, and needs five", n)
	}
	expr, err := cron.Parse(strings.Join(words, " "))
	if err != nil {
		return Entry{}, err
	}
	if p.config.System {
		user, rest := cutField(command)
		if calls(user) {
			return Entry{}, fmt.Errorf("%s is in the place of the user in a system crontab: for the crontab of a user, omit --system", quote(user))
		}
		command = rest
	}
	r, warnings, err := parseCommand(command)
	if err != nil {
		return Entry{}, err
	}
	for _, w := range warnings {
		p.warn("%s", w)
	}
	e := Entry{Line: p.line, When: expr.String(), Zone: p.zone, Request: r}
	if _, every := expr.Every(); every {
		e.Zone = ""
	}
	return e, nil
}

// cutField splits a line into the first word and the rest.
func cutField(line string) (word, rest string) {
	end := strings.IndexAny(line, " \t")
	if end < 0 {
		return line, ""
	}
	return line[:end], strings.TrimLeft(line[end:], " \t")
}

// longestQuote bounds the part of a line that is quoted in a note.
const longestQuote = 60

// quote returns a part of a line in quotes, for notes.
func quote(s string) string {
	if len(s) > longestQuote {
		s = strings.ToValidUTF8(s[:longestQuote], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}

// nameAll gives each entry its full name, which is the same each time the same
// crontab is parsed.
func nameAll(entries []Entry, prefix string) {
	taken := make(map[string]bool, len(entries))
	for _, e := range entries {
		taken[e.Name] = true
	}
	for i := range entries {
		e := &entries[i]
		made := nameOf(e.Request.URL)
		for n, name := 2, made; e.Name == ""; n, name = n+1, made+"-"+strconv.Itoa(n) {
			if !taken[name] {
				taken[name], e.Name = true, name
			}
		}
		e.Name = prefix + e.Name
	}
}

// longestMade bounds a name that is made from a URL.
const longestMade = 100

// notName matches the characters that a name may not have.
var notName = regexp.MustCompile(`[^0-9A-Za-z._]+`)

// nameOf returns a name for a URL, made from its host and path.
func nameOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "schedule"
	}
	name := notName.ReplaceAllString(u.Host+"/"+u.Path, "-")
	name = strings.TrimRight(name[:min(len(name), longestMade)], "-")
	return cmp.Or(strings.TrimLeft(name, "._-"), "schedule")
}
