package guide

import (
	"net/http"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/admin"
)

//doc:show admin

func serveOperators(mux *http.ServeMux, node *foliot.Node, isOperator func(*http.Request) bool) {
	allow := func(r *http.Request) admin.Access {
		if !isOperator(r) {
			return admin.None
		}
		return admin.Admin
	}
	mux.Handle("/timers/", http.StripPrefix("/timers", admin.New(node, allow)))
}

//doc:end
