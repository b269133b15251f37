package exit

import (
	"errors"
	"strings"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/redact"
)

// Report is an error as -o json prints it.
type Report struct {
	Code     string   `json:"code"` // the word for ExitCode
	ExitCode int      `json:"exit_code"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"`    // a remedy that is not a part of the message
	Problem  *Problem `json:"problem,omitempty"` // the reply of the server that refused the request
}

// Problem is the reply of a server that refuses a request, as in the API.
type Problem struct {
	Status     int      `json:"status"`
	Code       string   `json:"code,omitempty"`
	Detail     string   `json:"detail"`
	Field      string   `json:"field,omitempty"`
	Suggestion string   `json:"suggestion,omitempty"`
	Allowed    []string `json:"allowed,omitempty"`
	Kind       string   `json:"kind,omitempty"`
	Name       string   `json:"name,omitempty"`
	Count      int      `json:"count,omitempty"`
	ID         string   `json:"id,omitempty"`
	State      string   `json:"state,omitempty"`
}

// words are the values of Report.Code.
var words = map[int]string{
	Failure: "failure", Usage: "invalid_input", NotFound: "not_found", Conflict: "conflict", Unreachable: "unreachable",
	Undelivered: "undelivered", Denied: "denied", Differs: "differs", Unconfirmed: "unconfirmed", Interrupted: "interrupted",
}

// Report returns the report of err.
func (w Words) Report(err error) Report {
	code := CodeOf(err)
	r := Report{Code: words[code], ExitCode: code, Message: clean(w.reword(err))}
	if code != Interrupted {
		r.Hint = clean(strings.TrimLeft(advice(err), ":; "))
	}
	if e, ok := errors.AsType[*client.Error](err); ok && e.Status != 0 {
		r.Problem = &Problem{
			Status: e.Status, Code: e.Code, Detail: e.Detail, Field: e.Field, Suggestion: e.Suggestion, Allowed: e.Allowed,
			Kind: e.Kind, Name: e.Name, Count: e.Count, ID: e.ID, State: string(e.State),
		}
	}
	return r
}

// maxLine bounds a message. The longest one of ours, with its remedy at the end,
// has about 700 bytes. A server that is not ours could send any.
const maxLine = 2000

// clean returns untrusted text as one short line without secrets.
func clean(text string) string {
	return wording.Printable(wording.ShortenTo(redact.Text(strings.Join(strings.Fields(text), " ")), maxLine))
}
