package tracing

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// parseHeaders parses headers for the collector in the format of
// OTEL_EXPORTER_OTLP_HEADERS: name=value, separated by commas, with
// percent-encoded values, which no error contains.
func parseHeaders(list string) (map[string]string, error) {
	headers := map[string]string{}
	for i, item := range strings.Split(list, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		name, encoded, found := strings.Cut(item, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(encoded))
		switch {
		case !found || !httpguts.ValidHeaderFieldName(name):
			return nil, fmt.Errorf("header %d of the collector is not of the form name=value", i+1)
		case err != nil || !httpguts.ValidHeaderFieldValue(value):
			return nil, errors.New("the collector's header " + name + " has a value that is not percent-encoded")
		}
		headers[name] = value
	}
	return headers, nil
}
