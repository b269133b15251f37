package crontab

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// builder collects the request of a curl or wget command.
type builder struct {
	program  string
	request  request
	urls     []string
	head     bool
	parts    []string // of the body; nil if there is none
	isJSON   bool
	warnings []string
}

// build parses the arguments of the program.
func (b *builder) build(args []string) error {
	b.request.Headers = map[string]string{}
	if err := b.read(args); err != nil {
		return err
	}
	switch {
	case len(b.urls) != 1:
		return fmt.Errorf("%s needs exactly one URL, and has %d: write a line for each URL, and quote values with spaces", b.program, len(b.urls))
	case b.head && b.parts != nil:
		return errors.New("HEAD has no body: omit the data, or the option for HEAD")
	case altered.MatchString(b.urls[0]):
		return errors.New(`curl expands {} and [] to several URLs: write a line for each URL that is called, with a space as \%20 and {}[] as \%7B \%7D \%5B \%5D`)
	}
	b.request.URL = b.urls[0]
	method := http.MethodGet
	if b.head {
		method = http.MethodHead
	}
	if b.isJSON { // a header that the command sets stays
		_, _ = b.setHeader("Content-Type", "application/json"), b.setHeader("Accept", "application/json")
	}
	if b.parts != nil {
		method = http.MethodPost
		b.request.Body = strings.Join(b.parts, "&")
		_ = b.setHeader("Content-Type", "application/x-www-form-urlencoded")
	}
	b.request.Method = cmp.Or(b.request.Method, method)
	return checkURL(b.request.URL)
}

// altered matches URLs that curl would change: lists of URLs and spaces, but not
// the brackets of an IPv6 address.
var altered = regexp.MustCompile(`://[^/?#]*[/?#].*[{}\[\]\s\\]`)

// read parses the options and URLs. As in curl and wget, options of one letter can
// be written together, and the value of the last one can follow in the same word.
func (b *builder) read(args []string) error {
	letters := "" // the options of one letter that are left in a word
	for letters != "" || len(args) > 0 {
		var name, value string
		given, together := false, letters != ""
		if !together {
			name, args = args[0], args[1:]
			_, whole := programs[b.program][name] // such as -nv
			switch {
			case name == "--":
				b.urls = append(b.urls, args...)
				return nil
			case len(name) < 2 || name[0] != '-':
				b.urls = append(b.urls, name)
				continue
			case whole || strings.HasPrefix(name, "--"):
				name, value, given = strings.Cut(name, "=")
			default:
				letters, together = name[1:], true
			}
		}
		if together {
			name, value, given, letters = "-"+letters[:1], letters[1:], len(letters) > 1, ""
		}
		o, known := programs[b.program][name]
		switch {
		case !known:
			return fmt.Errorf("%s of %s cannot be taken: omit it if the request is the same without it, or write a header or the data instead (name and password: 'Authorization: Basic …')", quote(name), b.program)
		case o.value && !given && len(args) == 0:
			return fmt.Errorf("%s needs a value", name)
		case o.value && !given:
			value, args = args[0], args[1:]
		case !o.value && given && !together:
			return fmt.Errorf("%s takes no value", name)
		case !o.value:
			letters = value
		}
		if o.take == nil {
			continue
		}
		if err := o.take(b, value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// option is an option of curl or wget, which is ignored if take is nil.
type option struct {
	value bool
	take  func(b *builder, value string) error
}

// options returns options by name, and a name with a = takes a value.
func options(taken map[string]func(*builder, string) error, ignored string) map[string]option {
	all := map[string]option{}
	taken[ignored] = nil
	for names, take := range taken {
		for name := range strings.FieldsSeq(names) {
			name, value := strings.CutSuffix(name, "=")
			all[name] = option{value, take}
		}
	}
	return all
}

// programs has the known options. Options that do not change the request are
// ignored: Foliot prints no output, asks no questions, retries by itself, and
// judges a reply by its status.
var programs = map[string]map[string]option{
	"curl": options(map[string]func(*builder, string) error{
		"-X= --request=": (*builder).setMethod,
		"-I --head":      (*builder).setHead,
		"-d= --data= --data-ascii= --data-binary=": (*builder).addData,
		"--data-raw=":       (*builder).addBody,
		"--json=":           (*builder).addJSON,
		"-H= --header=":     (*builder).addHeader,
		"-A= --user-agent=": (*builder).setUserAgent,
		"-m= --max-time=":   (*builder).setTimeout,
		"--url=":            (*builder).addURL,
		"-o= --output=":     (*builder).toFile,
		"-L --location":     (*builder).follow,
	}, "-s --silent -S --show-error -f --fail --fail-with-body -v --verbose -i --include -q --disable -# --progress-bar "+
		"--no-progress-meter -N --no-buffer --compressed -O --remote-name --create-dirs -w= --write-out= --stderr= -D= --dump-header= "+
		"--retry= --retry-delay= --retry-max-time= --retry-all-errors --retry-connrefused --connect-timeout= --max-redirs= "+
		"--http1.1 --http2 --tlsv1.2 --tlsv1.3 -4 --ipv4 -6 --ipv6"),
	"wget": options(map[string]func(*builder, string) error{
		"--method=":                      (*builder).setMethod,
		"--spider":                       (*builder).setHead,
		"--post-data= --body-data=":      (*builder).setBody,
		"--header=":                      (*builder).addHeader,
		"-U= --user-agent=":              (*builder).setUserAgent,
		"-T= --timeout= --read-timeout=": (*builder).setTimeout,
		"-O= --output-document= -o= --output-file= -a= --append-output=": (*builder).toFile,
	}, "-q --quiet -v --verbose -nv --no-verbose -S --server-response --show-progress --progress= -b --background -t= --tries= "+
		"-w= --wait= --waitretry= --retry-connrefused --retry-on-http-error= --connect-timeout= --dns-timeout= --max-redirect= "+
		"-nc --no-clobber -nd --no-directories -P= --directory-prefix= --delete-after --no-cache --no-cookies --no-hsts -4 --inet4-only -6 --inet6-only"),
}

// toFile warns that a file is not written.
func (b *builder) toFile(name string) error {
	if name != "" && name != "/dev/null" && name != "-" {
		b.warnings = append(b.warnings, fmt.Sprintf("the reply is not written to %s: `foliot get` shows its beginning", quote(name)))
	}
	return nil
}

func (b *builder) follow(string) error {
	b.warnings = append(b.warnings, "redirects are not followed, and count as failures: give the URL to which it redirects")
	return nil
}

func (b *builder) addURL(value string) error { b.urls = append(b.urls, value); return nil }

func (b *builder) setHead(string) error { b.head = true; return nil }

func (b *builder) setMethod(value string) error { b.request.Method = value; return nil }

func (b *builder) setBody(value string) error { b.parts = []string{value}; return nil }

func (b *builder) addBody(value string) error { b.parts = append(b.parts, value); return nil }

func (b *builder) addData(value string) error {
	if strings.HasPrefix(value, "@") {
		return fmt.Errorf("%s is a file of this machine, which the server cannot read: write its content", quote(value))
	}
	return b.addBody(value)
}

func (b *builder) addJSON(value string) error {
	if b.isJSON || b.parts != nil {
		return errors.New("write the whole body as one value")
	}
	b.isJSON = true
	return b.addData(value)
}

func (b *builder) setUserAgent(value string) error { return b.setHeader("User-Agent", value) }

func (b *builder) addHeader(line string) error {
	name, value, _ := strings.Cut(line, ":")
	return b.setHeader(name, strings.TrimSpace(value))
}

func (b *builder) setHeader(name, value string) error {
	if name == "" || value == "" {
		name, _ = cutField(name) // the rest may contain a secret
		return fmt.Errorf("%s is not a header with a value: write 'Name: value'", quote(name))
	}
	for given := range b.request.Headers {
		if strings.EqualFold(given, name) {
			return fmt.Errorf("the header %s is given twice", quote(name))
		}
	}
	b.request.Headers[name] = value
	return nil
}

// setTimeout parses a number of seconds, where 0 means no limit, as if it was not
// set.
func (b *builder) setTimeout(value string) error {
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || !(seconds >= 0 && seconds <= 1e6) { // NaN too
		return fmt.Errorf("%s is not a number of seconds, such as 30 or 2.5", quote(value))
	}
	b.request.Timeout = time.Duration(math.Round(seconds*1e3)) * time.Millisecond
	return nil
}
