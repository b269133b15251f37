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

// builder collects the request of a curl or wget command, and the settings of its
// wrappers.
type builder struct {
	program string

	urls     []string
	method   string // as given
	head     bool
	glob     bool // curl would expand {} and [] in the URL
	headers  map[string]string
	data     []string
	hasData  bool
	isJSON   bool
	timeout  time.Duration
	limit    time.Duration // the time limit of a wrapper
	alone    bool
	warnings []string
}

func (b *builder) warn(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
}

// request parses the arguments of the program, and returns the request and the
// warnings.
func (b *builder) request(args []string) (Request, []string, error) {
	b.headers, b.glob = map[string]string{}, b.program == "curl"
	if err := b.read(programs[b.program], args); err != nil {
		return Request{}, nil, err
	}
	switch len(b.urls) {
	case 1:
	case 0:
		return Request{}, nil, fmt.Errorf("%s has no URL: %s", b.program, commandForm)
	default:
		return Request{}, nil, fmt.Errorf("%s is a second URL: write a line for each", quote(b.urls[1]))
	}
	address := b.urls[0]
	if err := checkURL(address); err != nil {
		return Request{}, nil, err
	}
	if b.glob && globs(address) {
		return Request{}, nil, errors.New("curl expands {} and [] to several URLs: write a line for each URL, or encode them as %7B %7D %5B %5D, with each % as \\%")
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

// globs reports whether curl would expand a URL. It ignores the brackets around an
// IPv6 address.
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

// contentType sets the header that the program would set for a body.
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
			word += " …" // the rest may contain a secret
		}
		return fmt.Errorf("%s is not a header: write 'Name: value'", quote(word))
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

// addData adds a part of the body.
func (b *builder) addData(value string) error {
	b.data, b.hasData = append(b.data, value), true
	return nil
}

// addDataOrFile adds a part of the body, and refuses a file.
func (b *builder) addDataOrFile(value string) error {
	if strings.HasPrefix(value, "@") {
		return noFileOf(value)
	}
	return b.addData(value)
}

func noFileOf(value string) error {
	return fmt.Errorf("%s is a file of this machine, which the server cannot read: write its content", quote(value))
}

// setTimeout parses a number of seconds. 0 means no limit, as if it was not set.
func (b *builder) setTimeout(value string) error {
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(seconds) || seconds < 0 || seconds > 1e6 {
		return fmt.Errorf("%s is not a number of seconds, such as 30 or 2.5", quote(value))
	}
	b.timeout = time.Duration(math.Round(seconds*1e3)) * time.Millisecond
	return nil
}
