package crontab

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/cron"
)

// Config says how a crontab is read.
type Config struct {
	System bool   // a user stands before each command
	Prefix string // of all names
}

// Table is what a crontab says.
type Table struct {
	Entries  []Entry
	Errors   []Note // lines that cannot be taken, in their order
	Warnings []Note // what means something else here, or nothing
}

// Entry is a line that calls a URL.
type Entry struct {
	Line int
	Name string // unique in the table: from a comment, or made of the URL's host and path
	When string // an expression that package cron takes
	Zone string // of CRON_TZ= or TZ=, known to package cron; "": the crontab does not say

	Request Request
}

// Request is what is sent. What it does not say is for the caller to choose.
type Request struct {
	Method  string // "" of a URL that stands alone
	URL     string // begins with http:// or https:// and a host
	Headers map[string]string
	Body    string
	Timeout time.Duration // 0: not said
	Alone   bool          // not while a call of the line is unfinished; false: not said
}

// Note says something about a line to its author.
type Note struct {
	Line int // from 1
	Text string
}

// String returns the note as it is printed.
func (n Note) String() string { return fmt.Sprintf("line %d: %s", n.Line, n.Text) }

// maxLine bounds a line. Crons take a thousand bytes.
const maxLine = 64 << 10

// Parse reads a crontab. It costs microseconds for each line, however wrong it is.
func Parse(text string, c Config) Table {
	p := parser{config: c}
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
		p.warn("the name %s belongs to no line: what it names follows it", quote(p.name))
	}
	nameAll(p.table.Entries, c.Prefix)
	p.unique()
	slices.SortStableFunc(p.table.Errors, func(a, b Note) int { return a.Line - b.Line })
	return p.table
}

// parser carries what a line says of those below it.
type parser struct {
	config Config
	table  Table

	line     int
	name     string // of the next entry
	nameLine int
	zone     string // in force
	cronTZ   bool   // it is that of CRON_TZ=
	badZone  int    // the line whose zone would be in force, were it known; 0: none
}

func (p *parser) wrong(format string, args ...any) {
	p.table.Errors = append(p.table.Errors, Note{p.line, fmt.Sprintf(format, args...)})
}

func (p *parser) warn(format string, args ...any) {
	p.table.Warnings = append(p.table.Warnings, Note{p.line, fmt.Sprintf(format, args...)})
}

var (
	nameComment = regexp.MustCompile(`(?i)^#+[ \t]*name[ \t]*:[ \t]*(.*)$`)
	assignment  = regexp.MustCompile(`^(?:"([^"]*)"|'([^']*)'|([A-Za-z_][A-Za-z0-9_]*))[ \t]*=[ \t]*(.*)$`)
)

// read takes in a line.
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
		p.assign(m[1]+m[2]+m[3], unquoted(m[4]))
		return
	}
	name := p.name
	p.name = ""
	entry, err := p.entry(line)
	if err != nil {
		p.wrong("%s", err)
		return
	}
	entry.Name = name
	p.table.Entries = append(p.table.Entries, entry)
}

// unquoted takes off the quotes around a value.
func unquoted(value string) string {
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}

// assign takes in NAME=VALUE.
func (p *parser) assign(name, value string) {
	switch {
	case name == "MAILTO" && value != "":
		p.warn("%s gets no mail from here: --on-dead URL calls one when a task gives up", quote(value))
		return
	case name != "CRON_TZ" && name != "TZ":
		p.warn("%s is set for programs, and none is run: it changes nothing here", quote(name))
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
		p.warn("TZ=%s is taken for the time zone of the lines below; most crons take CRON_TZ alone for it, and call in the machine's", value)
	}
	p.zone = value
}

// entry reads a line with a time and a command.
func (p *parser) entry(line string) (Entry, error) {
	when, command := cutWhen(line)
	expr, err := cron.Parse(when)
	if err != nil {
		return Entry{}, err
	}
	_, every := expr.Every()
	if p.badZone != 0 && !every {
		return Entry{}, fmt.Errorf("its time zone is that of line %d, which is not known", p.badZone)
	}
	if p.config.System {
		user, rest := cutField(command)
		if isURL(user) || program(user) != "" || wraps(user) {
			return Entry{}, fmt.Errorf("%s stands where a system's crontab has a user: is it a user's? Leave out --system", quote(user))
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

// cutWhen takes the time off a line.
func cutWhen(line string) (when, rest string) {
	fields := 5
	if line[0] == '@' {
		fields = 1
		if word, _ := cutField(line); strings.EqualFold(word, "@every") {
			fields = 2
		}
	}
	rest = line
	var words []string
	for range fields {
		word, after := cutField(rest)
		if word == "" {
			break
		}
		words, rest = append(words, word), after
	}
	return strings.Join(words, " "), rest
}

// cutField takes the first word off a line.
func cutField(line string) (word, rest string) {
	end := strings.IndexAny(line, " \t")
	if end < 0 {
		return line, ""
	}
	return line[:end], strings.TrimLeft(line[end:], " \t")
}

// longestQuote bounds what is repeated of a line.
const longestQuote = 60

// quote returns a piece of a line as notes have it.
func quote(s string) string {
	if len(s) > longestQuote {
		s = strings.ToValidUTF8(s[:longestQuote], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}
