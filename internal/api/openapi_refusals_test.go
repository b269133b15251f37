package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/foliot/foliot/internal/wire"
)

// anyProblem is the component for problems that have no component of their own.
const anyProblem = "Problem"

// refusals returns the statuses of the problems that the route describes. Every
// route can return further problems.
func (r *described) refusals() []int {
	if r.public {
		return nil
	}
	list := []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable}
	if strings.Contains(r.path, "{") || !r.operator {
		list = append(list, http.StatusNotFound)
	}
	if r.extra {
		list = append(list, http.StatusNotImplemented)
	}
	if r.method != http.MethodGet || r.costly || r.mayConflict {
		list = append(list, http.StatusConflict)
	}
	if r.body != nil {
		list = append(list, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	has := func(p param) bool {
		return slices.ContainsFunc(r.headers, func(h param) bool { return h.name == p.name })
	}
	if has(ifMatchHeader) || slices.ContainsFunc(r.query, func(p param) bool { return p.name == expectParam.name }) {
		list = append(list, http.StatusPreconditionFailed)
	}
	if has(idempotencyHeader) || r.unprocessable {
		list = append(list, http.StatusUnprocessableEntity)
	}
	return list
}

// refusalName returns the name of the component of a status, such as
// "NotFound".
func refusalName(status int) string {
	return strings.ReplaceAll(http.StatusText(status), " ", "")
}

func reference(name string) *huma.Response {
	return &huma.Response{Ref: "#/components/responses/" + name}
}

func (d describer) refusals() map[string]*huma.Response {
	all := map[string]*huma.Response{anyProblem: d.refusal("Any other problem.", 0)}
	for _, p := range problemTypes {
		name := refusalName(p.Status)
		if all[name] == nil {
			all[name] = d.refusal("code is one of", p.Status)
		}
		all[name].Description += " " + p.Code + ","
	}
	for _, r := range all {
		if list, cut := strings.CutSuffix(r.Description, ","); cut {
			r.Description = list + "."
		}
	}
	return all
}

func (d describer) refusal(about string, status int) *huma.Response {
	r := d.response(reply{about: about, body: wire.Problem{}, media: wire.ProblemType})
	switch status {
	case http.StatusUnauthorized:
		r.Headers["WWW-Authenticate"] = textHeader("Bearer.")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		r.Headers["Retry-After"] = &huma.Param{Description: "In seconds.", Schema: &huma.Schema{Type: huma.TypeInteger}}
	case http.StatusMethodNotAllowed:
		r.Headers["Allow"] = textHeader("The methods of the path.")
	}
	return r
}
