package task

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/foliot/foliot/internal/timespan"
)

// Validate checks all fields that can be checked without a store, and sets the
// destination; now bounds an absolute due time. It returns a *FieldError for the
// first invalid field.
func (s *Spec) Validate(now Millis) error {
	t := s.record(now)
	if err := cmp.Or(ValidateName("name", s.Name), s.When.validate(now), t.validate()); err != nil {
		return err
	}
	s.Request.Destination = t.Request.Destination
	return nil
}

// Validate checks the fields of a patch that can be checked without the task,
// because Apply checks the merged task.
func (c *Patch) Validate(now Millis) error {
	if c.isEmpty() {
		return &FieldError{"", "required", "missing: a patch must change at least one field"}
	}
	seen := make(map[string]bool, len(c.Headers))
	for name := range c.Headers {
		lower := strings.ToLower(name)
		if seen[lower] { // the order of the map would decide which one wins
			return &FieldError{"http.headers." + name, "duplicate_key", "the header is given twice"}
		}
		seen[lower] = true
	}
	switch {
	case c.When != nil && c.Shift != 0:
		return &FieldError{"by", "conflict", "cannot be combined with at or delay"}
	case c.Shift.Abs() > MaxDelay:
		return &FieldError{"by", "out_of_range", "must be at most 100 years, in either direction"}
	case c.When == nil:
		return nil
	}
	return c.When.validate(now)
}

func (c *Patch) isEmpty() bool {
	changes := *c
	changes.Key, changes.If, changes.Only = Key{}, Precondition{}, nil
	return reflect.ValueOf(changes).IsZero()
}

func (w When) validate(now Millis) error {
	switch {
	case w.Relative && (w.Delay < 0 || w.Delay > MaxDelay):
		return &FieldError{"delay", "out_of_range", "must be between 0s and 100 years"}
	case !w.Relative && w.At > latest(now):
		return &FieldError{"at", "out_of_range", "a due time must be at most 100 years ahead"}
	case !w.Relative && w.At <= 0: // in a record, 0 is no time
		return &FieldError{"at", "out_of_range", `a due time must be after 1970-01-01T00:00:00Z; for a task that is due at once, write "delay": "0s"`}
	case w.Relative && w.Next != 0:
		return &FieldError{"first_attempt_at", "conflict", "cannot be combined with delay, only with at"}
	case w.Next < 0 || w.Next > 0 && w.Next > latest(now):
		return &FieldError{"first_attempt_at", "out_of_range", "must be after 1970 and at most 100 years ahead"}
	}
	return nil
}

// latest returns the time 100 calendar years after now, including leap days.
func latest(now Millis) Millis { return CeilMillis(now.Time().AddDate(100, 0, 0)) }

// validate checks a record's fields that clients set and derives the destination.
func (t *Task) validate() error {
	return cmp.Or(
		ValidateName("queue", t.Queue),
		t.Priority.validate(),
		validateLabels(t.Labels),
		t.Request.validate(),
		ValidateDuration("timeout", t.Timeout, MinTimeout, MaxTimeout),
		ValidateDuration("expire_after", t.ExpireAfter, 0, MaxDuration),
		ValidateOnDead(t.OnDead),
		t.Retry.Validate(),
	)
}

func (p Priority) validate() error {
	if !p.Valid() {
		return &FieldError{"priority", "bad_priority", "must be one of high, normal, low"}
	}
	return nil
}

// Validate checks the policy.
func (r Retry) Validate() error {
	if r.MaxAttempts < 0 || r.MaxAttempts > MaxAttemptsLimit {
		return &FieldError{"retry.max_attempts", "out_of_range", fmt.Sprintf("must be between 0 (no limit) and %d", MaxAttemptsLimit)}
	}
	err := cmp.Or(
		ValidateDuration("retry.min_backoff", r.MinBackoff, minBackoff, MaxDuration),
		ValidateDuration("retry.max_backoff", r.MaxBackoff, minBackoff, MaxDuration),
	)
	if err == nil && r.MaxBackoff < r.MinBackoff {
		return &FieldError{"retry.max_backoff", "out_of_range", "must not be shorter than the minimum backoff"}
	}
	return cmp.Or(err, ValidateDuration("retry.max_age", r.MaxAge, 0, MaxDuration))
}

// ValidateDuration checks that d lies between low and high; path names it in the
// *FieldError.
func ValidateDuration(path string, d, low, high time.Duration) error {
	if d >= low && d <= high {
		return nil
	}
	return &FieldError{path, "out_of_range", fmt.Sprintf("must be between %s and %s", timespan.Text(low), durationWords(high))}
}

func durationWords(d time.Duration) string {
	if d == MaxDuration {
		return "100 years"
	}
	return timespan.Text(d)
}

// ValidateName checks a name that a client gives, of a task, queue or namespace.
func ValidateName(path, name string) error {
	if len(name) == 0 || len(name) > MaxNameLen {
		return &FieldError{path, "bad_name", fmt.Sprintf("must have 1 to %d characters", MaxNameLen)}
	}
	for i := range len(name) {
		if c := name[i]; !alphanumeric(c) && (i == 0 || !strings.ContainsRune("._:-", rune(c))) {
			return &FieldError{path, "bad_name", "must consist of letters, digits and . _ : - and begin with a letter or digit"}
		}
	}
	return nil
}

// ValidateKind checks the name of a kind.
func ValidateKind(path, name string) error {
	if len(name) > MaxKindLen {
		return &FieldError{path, "bad_name", fmt.Sprintf("must have 1 to %d characters", MaxKindLen)}
	}
	return ValidateName(path, name)
}

// ValidateOwner checks the name of an owner, which is empty if there is none.
func ValidateOwner(name string) error {
	if name == "" {
		return nil
	}
	return ValidateName("managed_by", name)
}

// ValidateRecordName checks the name of a record: one that a client gave, or
// one derived from it by an @ and a suffix.
func ValidateRecordName(path, name string) error {
	given, made, isMade := strings.Cut(name, "@")
	if isMade && given == "" {
		given = "@" // a schedule's name begins with an @
	}
	if err := ValidateName(path, given); err != nil || made == "" {
		return err
	}
	return ValidateName(path, strings.ReplaceAll(made, "@", "."))
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func validateLabels(labels map[string]string) error {
	if len(labels) > MaxLabels {
		return &FieldError{"labels", "too_many", fmt.Sprintf("must have at most %d labels", MaxLabels)}
	}
	for k, v := range labels {
		path := "labels." + k
		switch {
		case k == "" || len(k) > MaxLabelKeyLen || !PlainText(k) || strings.ContainsRune(k, '='):
			return &FieldError{path, "bad_label", fmt.Sprintf("a label's key must have 1 to %d bytes of text without '=' and control characters", MaxLabelKeyLen)}
		case len(v) > MaxLabelValueLen || !PlainText(v):
			return &FieldError{path, "bad_label", fmt.Sprintf("a label's value must have at most %d bytes of text without control characters", MaxLabelValueLen)}
		}
	}
	return nil
}

// PlainText reports whether s is UTF-8 without control characters.
func PlainText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == 0x7f {
			return false
		}
	}
	return utf8.ValidString(s)
}

// methods lists the methods that a task may use, without CONNECT and TRACE, which
// are not for callbacks.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

func (r *Request) validate() error {
	if r.Kind != "" {
		return r.validateKind()
	}
	if !slices.Contains(methods, r.Method) {
		return &FieldError{"http.method", "bad_method", "must be one of " + strings.Join(methods, ", ")}
	}
	u, err := ParseURL("http.url", r.URL)
	if err != nil {
		return err
	}
	r.Destination = destination(u)
	return validateHeaders(r.Headers)
}

// validateKind checks work for a handler.
func (r *Request) validateKind() error {
	if err := ValidateKind("work.kind", r.Kind); err != nil {
		return err
	}
	switch {
	case r.URL != "" || r.Method != "" || len(r.Headers) > 0:
		return &FieldError{"http", "conflict", "cannot be combined with work: a task is a request or a call of a handler"}
	case r.BodyKind != NoBody && r.BodyKind != JSONBody:
		return &FieldError{"work.args", "bad_json", "must be a JSON value"}
	}
	r.Destination = KindDestination(r.Kind)
	return nil
}

// ParseURL parses and checks the URL of a request; path names it in the *FieldError.
func ParseURL(path, raw string) (*url.URL, error) {
	bad := func(code, detail string) error { return &FieldError{path, code, detail} }
	switch {
	case raw == "":
		return nil, bad("required", "a task needs the URL to call")
	case len(raw) > MaxURLLen:
		return nil, bad("too_long", fmt.Sprintf("must have at most %d bytes", MaxURLLen))
	}
	u, err := url.Parse(raw)
	if err != nil && !strings.Contains(raw, "://") { // such as 127.0.0.1:9000/x
		return nil, bad("bad_scheme", "must begin with http:// or https://")
	}
	if err != nil || !PlainText(raw) || strings.ContainsRune(raw, ' ') {
		return nil, bad("bad_url", "the URL cannot be parsed")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, bad("bad_scheme", "must begin with http:// or https://")
	case u.Hostname() == "":
		return nil, bad("bad_url", "the URL has no host")
	case u.User != nil:
		return nil, bad("bad_url", "must not have a user name or password: send an authorization header")
	case !validHost(u.Hostname()):
		return nil, bad("bad_url", "the URL's host is neither a name nor an address")
	case !validPort(u):
		return nil, bad("bad_url", "the URL's port must be between 1 and 65535")
	}
	return u, nil
}

func validPort(u *url.URL) bool {
	port := u.Port()
	if port == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.Atoi(port)
	return err == nil && n >= 1 && n <= 65535
}

// validHost accepts addresses and any name that a resolver could look up, because
// the resolved address is checked at dial time.
func validHost(host string) bool {
	if addr, ok := parseAddr(host); ok {
		return addr.Zone() == "" // a zone may hold any byte, and is valid on one machine only
	}
	if len(host) > 253 {
		return false
	}
	for _, r := range host {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(`"#%/<>?@[\]^{|}:`+"`", r) {
			return false
		}
	}
	return true
}

// forbiddenHeaders are the headers that belong to the connection or to Foliot,
// and Proxy: CGI turns it into the variable HTTP_PROXY, which programs use as the
// proxy of their own requests.
var forbiddenHeaders = []string{
	"host", "proxy", "te", "content-length", "connection", "transfer-encoding", "expect", "upgrade", "trailer", "keep-alive",
}

var forbiddenPrefixes = []string{"proxy-", "foliot-", "webhook-"}

func validateHeaders(headers map[string]string) error {
	total := 0
	seen := make(map[string]bool, len(headers))
	for name, value := range headers {
		path := "http.headers." + name
		lower := strings.ToLower(name)
		switch {
		case !validHeaderName(name):
			return &FieldError{path, "bad_header", "a header's name must consist of letters, digits and !#$%&'*+-.^_`|~"}
		case ForbiddenHeader(lower):
			return &FieldError{path, "forbidden_header", "this header is set by the connection or by Foliot"}
		case seen[lower]:
			return &FieldError{path, "duplicate_key", "the header is given twice"}
		case !validHeaderValue(value):
			return &FieldError{path, "bad_header", "a header's value must not have line breaks or other control characters"}
		}
		seen[lower] = true
		total += len(name) + len(value)
	}
	if total > MaxHeaderBytes {
		return &FieldError{"http.headers", "too_large", fmt.Sprintf("a task's headers must have at most %d bytes together", MaxHeaderBytes)}
	}
	return nil
}

// ForbiddenHeader reports whether a task must not set the header name. It
// includes names that a receiver can read as a forbidden one, because CGI, WSGI
// and PHP read _ as -, and some servers every character except letters and
// digits.
func ForbiddenHeader(name string) bool {
	lower := strings.Map(plainHeaderRune, name)
	return slices.Contains(forbiddenHeaders, lower) ||
		slices.ContainsFunc(forbiddenPrefixes, func(p string) bool { return strings.HasPrefix(lower, p) })
}

// plainHeaderRune returns r in lower case, or - if r is no letter and no digit.
func plainHeaderRune(r rune) rune {
	switch {
	case r >= 'A' && r <= 'Z':
		return r + 'a' - 'A'
	case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
		return r
	}
	return '-'
}

func validHeaderName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !alphanumeric(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return name != ""
}

func validHeaderValue(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// equalFold compares header names, which are ASCII.
func equalFold(a, b string) bool { return strings.EqualFold(a, b) }
