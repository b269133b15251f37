package crontab

import (
	"fmt"
	"regexp"
	"slices"
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
	Zone string // a valid zone from CRON_TZ= or TZ=; "" if the crontab sets none

	Request Request
}

// Request is the request of a line. The caller chooses the values that are not
// set.
type Request struct {
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

// maxLine is the longest line that is parsed. Cron programs accept about a
// thousand bytes.
const maxLine = 64 << 10

// Parse parses a crontab.
func Parse(text string, c Config) Table {
	p := parser{config: c, named: map[string]int{}}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		number++
		p.line = number
		if len(line) > maxLine {
			p.wrong("the line is longer than %d bytes", maxLine)
			continue
		}
		p.read(strings.TrimRight(line, "\r\n"))
	}
	if p.name != "" {
		p.line = p.nameLine
		p.warn("the name %s belongs to no line: a name must be above its line", quote(p.name))
	}
	nameAll(p.table.Entries, c.Prefix)
	return p.table
}

// parser holds the state that a line sets for the lines below it.
type parser struct {
	config Config
	table  Table

	line     int
	name     string // for the next entry
	nameLine int
	named    map[string]int // the lines of the entries with a name
	zone     string         // the present time zone
	cronTZ   bool           // the zone was set by CRON_TZ=
	badZone  int            // the line that set an unknown zone; 0 if the present zone is known
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
	assignment     = regexp.MustCompile(`^(?:"([^"]*)"|'([^']*)'|([A-Za-z_][A-Za-z0-9_]*))[ \t]*=[ \t]*(?:"(.*)"|'(.*)'|(.*))$`)
)

// read parses a line.
func (p *parser) read(line string) {
	line = strings.Trim(line, " \t\f\v")
	if m := nameComment.FindStringSubmatch(line); m != nil {
		p.name, p.nameLine = strings.TrimSpace(m[1]), p.line
		return
	}
	if line == "" || line[0] == '#' {
		return
	}
	if m := assignment.FindStringSubmatch(line); m != nil {
		p.assign(m[1]+m[2]+m[3], m[4]+m[5]+m[6])
		return
	}
	name := p.name
	p.name = ""
	entry, err := p.entry(line)
	if err != nil {
		p.wrong("%s", err)
		return
	}
	if name != "" {
		if line, twice := p.named[name]; twice {
			p.wrong("the name %s is already used in line %d: choose another name", quote(p.config.Prefix+name), line)
			return
		}
		p.named[name] = p.line
	}
	entry.Name = name
	p.table.Entries = append(p.table.Entries, entry)
}

// assign handles NAME=VALUE.
func (p *parser) assign(name, value string) {
	switch {
	case name == "MAILTO" && value != "":
		p.warn("Foliot sends no mail to %s: pass --on-dead URL to call a URL when a task dies", quote(value))
		return
	case name != "CRON_TZ" && name != "TZ":
		p.warn("%s is ignored: it is meant for programs, and Foliot runs none", quote(name))
		return
	case name == "TZ" && p.cronTZ:
		return
	}
	p.badZone, p.cronTZ = 0, name == "CRON_TZ" && value != ""
	if value != "" {
		if _, err := cron.LoadZone(value); err != nil {
			p.wrong("%s=: %s", name, err)
			p.badZone = p.line
			return
		}
	}
	if name == "TZ" && value != "" {
		p.warn("TZ=%s is used as the time zone of the lines below; most crons use only CRON_TZ for it, and otherwise the zone of the machine", value)
	}
	p.zone = value
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
	_, every := expr.Every()
	if p.badZone != 0 && !every {
		return Entry{}, fmt.Errorf("its time zone is set in line %d, and is unknown: correct that line", p.badZone)
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
	if every {
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
