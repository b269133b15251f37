package config

import "strings"

// removed has the settings of earlier builds by flag, and what to do instead.
var removed = map[string]string{
	"breaker-failures": "a breaker opens after ten failures: delete the setting",
	"lease":            "it is 15s, or 2.5 times --shard-lease if that is less: delete the setting",
	"otlp-endpoint":    "set the variable OTEL_EXPORTER_OTLP_ENDPOINT",
	"redis-replicas":   "with --durability strict, all replicas that follow confirm; for a least number, set min-replicas-to-write in Redis",
	"trace-sample":     "set the variable OTEL_TRACES_SAMPLER_ARG",
	"ui":               "the web page is always served: delete the setting, or close /ui/ in a proxy",
}

// Removed returns what to do instead of a setting of earlier builds, named as a
// flag, a variable without FOLIOT_ or a key. It is "" for any other name.
func Removed(name string) string {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	if remedy := removed[strings.TrimPrefix(name, "no-")]; remedy != "" {
		return "this setting was removed: " + remedy
	}
	return ""
}
