package client

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// page is one page of a list.
type page[T any] struct {
	field string // of the reply that has the items
	items []*T
	next  string // cursor of the next page; "": there is none
}

func (p *page[T]) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	for name, into := range map[string]any{p.field: &p.items, "next_cursor": &p.next} {
		if value := fields[name]; value != nil {
			if err := json.Unmarshal(value, into); err != nil {
				return err
			}
		}
	}
	return nil
}

// pages returns the items of all pages of a list, which the field has.
func pages[T any](ctx context.Context, cn *conn, op, path, field string, query params) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		query := maps.Clone(query)
		if query["limit"] == nil {
			query.add("limit", 1000)
		}
		for {
			p := page[T]{field: field}
			if _, err := cn.do(ctx, &call{op: op, method: http.MethodGet, path: path, query: query, repeatable: true, into: &p}); err != nil {
				yield(nil, err)
				return
			}
			for _, item := range p.items {
				if !yield(item, nil) {
					return
				}
			}
			if p.next == "" {
				return
			}
			query["cursor"] = []string{p.next}
		}
	}
}

// get returns what a path shows.
func get[T any](ctx context.Context, cn *conn, op, path string, query params) (*T, error) {
	v := new(T)
	_, err := cn.do(ctx, &call{op: op, method: http.MethodGet, path: path, query: query, repeatable: true, into: v})
	return orNil(v, err)
}

// params are the parameters of a query.
type params url.Values

// add adds a parameter, unless the value is zero.
func (p params) add(name string, value any) {
	var text string
	switch v := value.(type) {
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
		text = instant(v)
	case time.Duration:
		text = duration(v)
	}
	if text != "" {
		p[name] = append(p[name], text)
	}
}
