package client

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"net/url"
)

// paged is one page of a list.
type paged[T any] interface {
	items() []*T
	next() string // cursor of the next page
}

// cursorField is in every page.
type cursorField struct {
	NextCursor string `json:"next_cursor"`
}

func (c cursorField) next() string { return c.NextCursor }

// pages returns the items of all pages P of a list.
func pages[T, P any, PP interface {
	*P
	paged[T]
}](ctx context.Context, cn *conn, op, path string, query url.Values) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		query := maps.Clone(query)
		query.Set("limit", "1000")
		for {
			page := PP(new(P))
			if _, err := cn.do(ctx, &call{op: op, method: http.MethodGet, path: path, query: query, repeatable: true, into: page}); err != nil {
				yield(nil, err)
				return
			}
			for _, item := range page.items() {
				if !yield(item, nil) {
					return
				}
			}
			if page.next() == "" {
				return
			}
			query.Set("cursor", page.next())
		}
	}
}
