package conn

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/foliot/foliot/client/internal/convert"
)

// Page is one page of a list.
type Page[T any] struct {
	Field string // of the reply that has the items
	Items []*T
	Next  string // cursor of the next page; "": there is none
}

func (p *Page[T]) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	for name, into := range map[string]any{p.Field: &p.Items, "next_cursor": &p.Next} {
		if value := fields[name]; value != nil {
			if err := json.Unmarshal(value, into); err != nil {
				return err
			}
		}
	}
	return nil
}

// Pages returns the items of all pages of a list, which the field has.
func Pages[T any](ctx context.Context, cn Conn, op, path, field string, query Params) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		query := maps.Clone(query)
		if query["limit"] == nil {
			query.Add("limit", 1000)
		}
		for {
			p := Page[T]{Field: field}
			if _, err := cn.Do(ctx, &Call{Op: op, Method: http.MethodGet, Path: path, Query: query, Repeatable: true, Into: &p}); err != nil {
				yield(nil, err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			if p.Next == "" {
				return
			}
			query["cursor"] = []string{p.Next}
		}
	}
}

// Params are the parameters of a query.
type Params url.Values

// Add adds a parameter, unless the value is zero.
func (p Params) Add(name string, value any) {
	var text string
	switch v := value.(type) {
	case map[string]string:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			p.Add(name, key+"="+v[key])
		}
	case string:
		text = v
	case int:
		if v != 0 {
			text = strconv.Itoa(v)
		}
	case bool:
		if v {
			text = "true"
		}
	case time.Time:
		text = convert.Instant(v)
	case time.Duration:
		text = convert.Duration(v)
	}
	if text != "" {
		p[name] = append(p[name], text)
	}
}
