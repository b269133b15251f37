package crontab

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// builder collects what a line of curl or wget asks for, and what runs that.
type builder struct {
	program string

	urls     []string
	method   string // as it was given
	head     bool
	glob     bool // curl makes several URLs of one
	headers  map[string]string
	data     []string
	hasData  bool
	isJSON   bool
	timeout  time.Duration
	limit    time.Duration // of a program that runs this one
	alone    bool
	warnings []string
}

func (b *builder) warn(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
}

// request reads the arguments of the program.
func (b *builder) request(args []string) (Request, []string, error) {
	b.headers, b.glob = map[string]string{}, b.program == "curl"
	if err := b.read(programs[b.program], args); err != nil {
		return Request{}, nil, err
	}
	switch len(b.urls) {
	case 1:
	case 0:
		return Request{}, nil, fmt.Errorf("%s has no URL: %s", b.program, takes)
	default:
		return Request{}, nil, fmt.Errorf("%s is a second URL: write a line for each", quote(b.urls[1]))
	}
	address := b.urls[0]
	if err := checkURL(address); err != nil {
		return Request{}, nil, err
	}
	if b.glob && globs(address) {
		return Request{}, nil, errors.New("curl makes several URLs of one with {} or []: write a line for each, or encode them: %7B %7D %5B %5D, each % as \\%")
	}
	b.contentType()
	glue := "&"
	if b.isJSON {
		glue = ""
	}
	return Request{
		Method: b.verb(), URL: address, Headers: b.headers, Body: strings.Join(b.data, glue), Timeout: shorter(b.timeout, b.limit), Alone: b.alone,
	}, b.warnings, nil
}

// globs reports whether curl would make something of a URL: the brackets of an
// address are none of its.
func globs(address string) bool {
	_, rest, _ := strings.Cut(address, "://")
	if strings.HasPrefix(rest, "[") {
		_, rest, _ = strings.Cut(rest, "]")
	}
	return strings.ContainsAny(rest, "{}[]")
}

// verb returns the method that the program would use.
func (b *builder) verb() string {
	switch {
	case b.method != "":
		return b.method
	case b.head:
		return http.MethodHead
	case b.hasData:
		return http.MethodPost
	}
	return http.MethodGet
}

// contentType gives a body the type that the program would.
func (b *builder) contentType() {
	switch {
	case !b.hasData || b.given("Content-Type"):
	case b.isJSON:
		b.headers["Content-Type"] = "application/json"
	default:
		b.headers["Content-Type"] = "application/x-www-form-urlencoded"
	}
	if b.isJSON && !b.given("Accept") {
		b.headers["Accept"] = "application/json"
	}
}

func (b *builder) given(header string) bool {
	for name := range b.headers {
		if strings.EqualFold(name, header) {
			return true
		}
	}
	return false
}

func (b *builder) addHeader(line string) error {
	name, value, ok := strings.Cut(line, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case strings.HasPrefix(line, "@"):
		return noFileOf(line)
	case !ok || name == "" || value == "":
		word, rest := cutField(line)
		if rest != "" {
			word += " …" // what a colon is missing before
		}
		return fmt.Errorf("%s is no header: write 'Name: value'", quote(word))
	}
	return b.setHeader(name, value)
}

func (b *builder) setHeader(name, value string) error {
	if b.given(name) {
		return fmt.Errorf("the header %s is given twice", quote(name))
	}
	b.headers[name] = value
	return nil
}

// addData takes in a piece of the body.
func (b *builder) addData(value string) error {
	b.data, b.hasData = append(b.data, value), true
	return nil
}

// addDataOrFile takes in a piece of the body, and refuses a file.
func (b *builder) addDataOrFile(value string) error {
	if strings.HasPrefix(value, "@") {
		return noFileOf(value)
	}
	return b.addData(value)
}

func noFileOf(value string) error {
	return fmt.Errorf("%s is a file of this machine, and the server reads none when the time comes: write what it holds", quote(value))
}

// setTimeout reads seconds; 0 is no limit, and so says nothing.
func (b *builder) setTimeout(value string) error {
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(seconds) || seconds < 0 || seconds > 1e6 {
		return fmt.Errorf("%s is no number of seconds, such as 30 or 2.5", quote(value))
	}
	b.timeout = time.Duration(math.Round(seconds*1e3)) * time.Millisecond
	return nil
}
