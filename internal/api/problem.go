package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// Every error leaves as a problem, and by one way: a handler returns it, fail
// writes it, and the tables here say what it is in HTTP.

// problems are the codes that a problem can have, with their status. The
// codes of package task's field and state errors are among them. OpenAPI
// prints the table.
var problems = []struct {
	Code   string
	Status int
	When   string
}{
	// The request as such.
	{"no_route", 404, "nothing is served at that path"},
	{"method_not_allowed", 405, "the path takes other methods: Allow names them"},
	{"host_not_allowed", 421, "the Host header names another server"},
	{"cross_origin", 403, "a browser sent it from another site"},
	{"unsupported_media_type", 415, "the body is not declared as application/json"},
	{"unsupported_encoding", 415, "the body is compressed"},
	{"request_too_large", 413, "the request is larger than any that could be accepted"},
	{"unreadable_body", 400, "the body broke off"},
	{"unexpected_body", 400, "the route takes no body"},
	{"unknown_parameter", 400, "a query parameter is not known"},
	{"repeated_parameter", 400, "a query parameter or header is given more than once"},
	{"bad_parameter", 400, "a query parameter's value is not allowed"},
	{"bad_cursor", 400, "the cursor is none of ours"},
	{"no_filter", 400, "a change by filter names neither a filter nor all=true"},
	{"bad_idempotency_key", 400, "the Idempotency-Key is empty, too long or not printable, or the route takes none"},
	{"bad_precondition", 400, "If-Match or If-None-Match is not understood"},
	{"unknown_header", 400, "a Foliot-… header is not known"},

	// Who asks.
	{"token_required", 401, "the request shows no token"},
	{"token_malformed", 401, "the Authorization header is not Bearer and a token, or the token has a typing error"},
	{"token_invalid", 401, "the token is not known, has expired, or was revoked: which of them is not told"},
	{"too_many_logins", 429, "too many tokens from this address were refused: Retry-After says when it may try again"},
	{"insufficient_scope", 403, "the token's scope is too small for the route"},
	{"operator_only", 403, "the route belongs to the whole server: it takes an operator's token"},
	{"wrong_namespace", 403, "the token belongs to another namespace than the request names"},
	{"unknown_namespace", 404, "there is no namespace of that name"},
	{"first_token", 409, "the first token must be an operator's, of scope admin: nobody could manage the server otherwise"},

	// The JSON.
	{"empty_body", 400, "there is no body"},
	{"bad_json", 400, "the body is not JSON"},
	{"trailing_data", 400, "something follows the JSON value"},
	{"bad_utf8", 400, "a string is not valid UTF-8"},
	{"too_deep", 400, "the JSON is nested too deep"},
	{"duplicate_key", 400, "a key is given twice"},
	{"unknown_field", 400, "a field is not known"},
	{"wrong_type", 400, "a value has the wrong JSON type"},
	{"null_value", 400, "a value is null where that means nothing"},

	// What a task may be.
	{"required", 400, "a field is missing"},
	{"two_due_times", 400, "both at and delay are given"},
	{"no_due_time", 400, "neither at nor delay is given"},
	{"two_bodies", 400, "both body and body_base64 are given, and are not the same JSON value"},
	{"name_mismatch", 400, "the name in the body is not the one in the path"},
	{"bad_name", 400, "a name has other characters, or is too long"},
	{"bad_time", 400, "a time is not RFC 3339"},
	{"bad_duration", 400, "a duration is not as Go writes them"},
	{"bad_traceparent", 400, "a traceparent is not as W3C Trace Context has it"},
	{"bad_priority", 400, "a priority is not high, normal or low"},
	{"bad_base64", 400, "body_base64 is not base64"},
	{"two_times", 400, "a time and a duration are given, where either is enough"},
	{"bad_secret", 400, "a signing secret is not whsec_ and 24 to 64 bytes in base64"},
	{"bad_scope", 400, "a scope is not read, write or admin"},
	{"bad_label", 400, "a label's key or value is not allowed"},
	{"bad_cron", 400, "an expression is none: detail says which of its fields, and what is allowed there"},
	{"bad_timezone", 400, "a time zone is not in the IANA database"},
	{"bad_policy", 400, "a policy of a schedule is none of its words"},
	{"conflict", 400, "two fields do not go together"},
	{"never_fires", 400, "the schedule has no instant to come"},
	{"bad_method", 400, "a task cannot be sent with that method"},
	{"bad_url", 400, "the URL cannot be called"},
	{"bad_scheme", 400, "the URL is neither http nor https"},
	{"bad_header", 400, "a header's name or value is not allowed"},
	{"forbidden_header", 400, "a header belongs to the connection or to Foliot"},
	{"out_of_range", 400, "a number, time or duration is out of its range"},
	{"too_many", 400, "there are too many of something"},
	{"too_long", 400, "a text is too long"},
	{"too_large", 413, "the headers are too large together"},
	{"body_too_large", 413, "the body to send is too large"},

	// What the state of things allows.
	{"not_found", 404, "nothing of that name or id"},
	{"exists", 409, "a task of that name exists"},
	{"precondition_failed", 412, "it is not in the version that If-Match names, or exists although If-None-Match says *"},
	{"count_differs", 412, "another number of tasks matches than expect says: count is how many do"},
	{"too_many_instants", 422, "a backfill has more instants than it may: detail says until when to let it go"},
	{"idempotency_key_reused", 422, "the Idempotency-Key came with another request before"},
	{task.CodeRunning, 409, "an attempt is under way"},
	{task.CodeDead, 409, "the task gave up: retry it first"},
	{task.CodeNotDead, 409, "only dead tasks can be retried, and finished ones if their queue keeps bodies"},
	{task.CodeFinished, 409, "the task is delivered, cancelled or expired; it can be retried only if its queue kept its body"},
	{task.CodeNoDelay, 409, "the task was created with an absolute time"},

	{"last_admin_token", 409, "it is the last operator's token of scope admin that holds: force=true revokes it all the same"},
	{"last_node", 409, "it is the last node that may own shards: force=true drains it all the same, and nobody delivers then"},
	{"busy", 409, "as things stand it cannot be changed so: the detail says what to do first"},
	{"quota_exceeded", 403, "the namespace has as many pending tasks, or bytes of records, as it may: field names the quota. Waiting a second does not help"},
	{"rate_exceeded", 429, "the namespace creates, changes, reads or edits faster than it may: field names the rate, Retry-After says when the next request is taken"},
	{"namespace_suspended", 403, "the operator has suspended the namespace: it can be read, and takes nothing else until it is resumed"},
	{"too_many_at_once", 429, "too many requests of the namespace are under way, too many lists and searches wait for their turn, or too many replies have yet to be taken: Retry-After says when to come again"},

	// The server.
	{"unsupported", 501, "this server has no such thing: its store, or its configuration, has none"},
	{"capacity", 503, "the store takes no new tasks until there is room again: what is there goes on"},
	{"store_unfit", 503, "a setting of the Redis may lose tasks: the store refuses new tasks until the setting is corrected. Existing tasks go on. Repeating the request does not help"},
	{"durability_not_met", 503, "the change was made, and too few servers confirmed it: repeat the request; a create without a name or an Idempotency-Key may be made twice then"},
	{"unavailable", 503, "the store cannot be reached or stopped, the server is stopping, or it has too much to do at once: Retry-After says when to come again. A change may have been made all the same"},
	{"store_replaced", 503, "the store was emptied or replaced, or a part of it was: the server stays closed until the data is back, or until the loss is accepted. Repeating the request does not help"},
	{"settings_lost", 503, "the store has lost the settings, access tokens among them: the server stays closed until they are back, or until it is started again. Repeating the request does not help"},
	{"internal", 500, "our fault: the server's log says more"},
}

// sentinels gives the errors of the store contract their code.
var sentinels = []struct {
	err  error
	code string
}{
	{task.ErrNotFound, "not_found"},
	{task.ErrExists, "exists"},
	{task.ErrIdempotencyReuse, "idempotency_key_reused"},
	{task.ErrPrecondition, "precondition_failed"},
	{task.ErrLastToken, "last_admin_token"},
	{task.ErrFirstToken, "first_token"},
	{task.ErrSecured, "token_required"},
	{task.ErrLastNode, "last_node"},
	{task.ErrStoreUnfit, "store_unfit"}, // it is an ErrFull
	{task.ErrFull, "capacity"},
	{task.ErrSuspended, "namespace_suspended"},
	{task.ErrNotDurable, "durability_not_met"},
	{task.ErrStoreReplaced, "store_replaced"},
	{task.ErrSettingsLost, "settings_lost"},
	{task.ErrUnavailable, "unavailable"},
	{task.ErrClosed, "unavailable"},
}

var statusByCode = func() map[string]int {
	m := make(map[string]int, len(problems))
	for _, p := range problems {
		m[p.Code] = p.Status
	}
	return m
}()

// problemOf says what err is in HTTP. What is no error of the contract is
// "internal", and its text stays inside.
func problemOf(err error) wire.Problem {
	var field *task.FieldError
	var state *task.StateError
	var quota *task.QuotaError
	var rate *task.RateError
	var short *task.ShortError
	var exists *task.ExistsError
	var part *partError
	var count *countError
	switch {
	case errors.As(err, &part):
		p := problemOf(part.err)
		p.Detail = part.about(p.Detail)
		return p
	case errors.As(err, &field):
		return newProblem(field.Code, field.Detail, field.Path)
	case errors.As(err, &state):
		p := newProblem(state.Code, state.Error(), "")
		p.ID, p.State = state.ID, state.State.String()
		return p
	case errors.As(err, &exists):
		p := newProblem("exists", exists.Error(), "")
		p.ID, p.State = exists.ID, exists.State.String()
		return p
	case errors.As(err, &quota):
		return newProblem("quota_exceeded", quota.Error(), quota.Quota)
	case errors.As(err, &rate):
		return newProblem("rate_exceeded", rate.Error(), string(rate.Rate))
	case errors.As(err, &count):
		return count.problem()
	case errors.As(err, &short):
		return newProblem("durability_not_met", short.Error(), "")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return newProblem("unavailable", "the request was given up before it ended", "")
	}
	if p, ok := settingProblem(err); ok {
		return p
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return newProblem(s.code, s.err.Error(), "")
		}
	}
	return newProblem("internal", "the server failed; its log says more", "")
}

// settingProblem is problemOf for the errors of edits.
func settingProblem(err error) (wire.Problem, bool) {
	var missing *task.MissingError
	var busy *task.BusyError
	switch {
	case errors.As(err, &missing) && missing.What == "namespace":
		return newProblem("unknown_namespace", missing.Error(), ""), true
	case errors.As(err, &missing) && missing.What == "queue":
		return newProblem("not_found", missing.Error()+": GET "+queuesPath+" lists those there are", ""), true
	case errors.As(err, &missing) && missing.What == "node":
		return newProblem("not_found", missing.Error()+" that lives: GET "+clusterPath+" lists those there are", ""), true
	case errors.As(err, &missing):
		return newProblem("not_found", missing.Error(), ""), true
	case errors.As(err, &busy):
		return newProblem("busy", busy.Error(), ""), true
	}
	return wire.Problem{}, false
}

func newProblem(code, detail, field string) wire.Problem {
	status, known := statusByCode[code]
	if !known { // a test holds that this does not happen
		status = http.StatusBadRequest
	}
	return wire.Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code, Field: clipPath(field)}
}

// clipPath bounds the path of a field: what is nested deeper than it is
// allowed has a path that nobody reads.
func clipPath(path string) string {
	const longest = 512
	if len(path) <= longest {
		return path
	}
	return strings.ToValidUTF8(path[:longest], "") + "…"
}

// refuse says what is wrong with a request.
func refuse(code, field, detail string) error {
	return &task.FieldError{Path: field, Code: code, Detail: detail}
}

// within puts err under key, where it is about a field.
func within(key []byte, err error) error {
	var inner *task.FieldError
	if !errors.As(err, &inner) {
		return err
	}
	const longest = 128 // of one key, in a reply that nobody reads for its keys
	path := string(key)
	if len(path) > longest {
		path = strings.ToValidUTF8(path[:longest], "") + "…"
	}
	if !utf8.ValidString(path) {
		path = strings.ToValidUTF8(path, "\uFFFD")
	}
	switch {
	case inner.Path == "":
	case inner.Path[0] == '[':
		path += inner.Path
	default:
		path += "." + inner.Path
	}
	return &task.FieldError{Path: path, Code: inner.Code, Detail: inner.Detail}
}

// fail answers r with err. Where the client went away nobody reads it, but
// without it net/http would say 200, and a 200 is a promise.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	// A store that stopped or is away has said why; each request after that is no news.
	// One that is full says so to every request for as long as it is.
	lasting := p.Code == "capacity" || p.Code == "store_unfit" || p.Code == "durability_not_met"
	if p.Status == http.StatusInternalServerError || lasting && s.failures.due(p.Code, time.Now()) {
		s.cfg.Log.LogAttrs(r.Context(), slog.LevelError, "request failed",
			slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.String("code", p.Code), slog.Any("error", err))
	}
	soon := p.Status == http.StatusServiceUnavailable || p.Code == "too_many_at_once"
	if soon && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "1")
	}
	if p.Status == http.StatusTooManyRequests {
		s.brake(r.Context(), w, p.Code)
	}
	s.write(r.Context(), w, wire.ProblemType, p.Status, p)
}

// brake delays a reply that says "too many": a client that does not heed it would use up a
// processor with requests that are refused. Retry-After is never shorter. Some refusals by a rate are
// free, as they cost little.
func (s *Server) brake(ctx context.Context, w http.ResponseWriter, code string) {
	out, ok := w.(*response)
	if !ok || s.braked.Load() >= maxBraked || code != "too_many_at_once" && s.rates.freeRefusal(out.namespace, time.Now()) {
		return
	}
	s.braked.Add(1)
	defer s.braked.Add(-1)
	if out.running {
		out.pause()
		defer out.resume()
	}
	timer := time.NewTimer(refusalDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-s.stop:
	}
}

const (
	// refusalDelay is how long a refused request waits beyond the refusals that are free.
	refusalDelay = time.Second
	// maxBraked bounds the requests that wait so.
	maxBraked = 1 << 12
)

// failures is when failures that last were logged, by code.
type failures struct {
	mu     sync.Mutex // guards logged
	logged map[string]time.Time
}

// due reports whether to log one now: once in ten seconds.
func (f *failures) due(code string, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.logged[code]) < 10*time.Second {
		return false
	}
	if f.logged == nil {
		f.logged = map[string]time.Time{}
	}
	f.logged[code] = now
	return true
}

// crashed answers a request whose handler panicked.
func (s *Server) crashed(ctx context.Context, w http.ResponseWriter, value any, stack []byte) {
	s.cfg.Log.LogAttrs(ctx, slog.LevelError, "request handler panicked", slog.Any("panic", value), slog.String("stack", string(stack)))
	p := problemOf(errors.New("panic"))
	s.write(ctx, w, wire.ProblemType, p.Status, p)
}
