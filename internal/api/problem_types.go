package api

import "github.com/foliot/foliot/internal/task"

// problemTypes lists the codes that a problem can have, including the codes of
// package task's field and state errors. OpenAPI prints the list, and
// reference.md has it with an anchor for each code.
var problemTypes = []struct {
	Code    string
	Status  int
	Meaning string
	Remedy  string
}{
	// The request as such.
	{"no_route", 404, "No route has this path.", "See `GET /openapi.json`."},
	{"method_not_allowed", 405, "The path does not support this method.", "Use a method that `Allow` lists."},
	{"host_not_allowed", 421, "The Host header names another server.", "Use the server's address, or start the server with `--host NAME`."},
	{"cross_origin", 403, "A browser sent the request from another site.", "Call the API from a program."},
	{"unsupported_media_type", 415, "The body is not declared as application/json.", "Set `Content-Type: application/json`."},
	{"unsupported_encoding", 415, "The body is compressed.", "Send it uncompressed."},
	{"request_too_large", 413, "The request is larger than any valid request.", "Send less, or split a batch."},
	{"unreadable_body", 400, "The body ended early.", "Repeat the request."},
	{"unexpected_body", 400, "The route takes no body.", "Send no body."},
	{"unknown_parameter", 400, "The route does not know a query parameter.", "Correct its name; `suggestion` may have it."},
	{"repeated_parameter", 400, "A query parameter or header is given more than once.", "Send it once."},
	{"bad_parameter", 400, "The value of a query parameter is not allowed.", "Correct the value; `allowed` may list the valid ones."},
	{"bad_cursor", 400, "The cursor is not valid.", "Send a `next_cursor` unchanged, or start at the first page."},
	{"no_filter", 400, "A change by filter has neither a filter nor all=true.", "Send a filter, or `all=true`."},
	{"bad_idempotency_key", 400, "The Idempotency-Key is empty, too long or not printable, or the route takes none.", "Send 1 to 256 printable ASCII characters, or no key."},
	{"bad_precondition", 400, "If-Match or If-None-Match is not valid.", "Send the `ETag` of a reply, or `*`."},
	{"unknown_header", 400, "A Foliot-… header is not known.", "Correct its name; `suggestion` may have it."},

	// Authentication and authorization.
	{"token_required", 401, "The request has no token.", "Send `Authorization: Bearer foliot_…`."},
	{"token_malformed", 401, "The Authorization header is not Bearer and a token, or the token has a typing error.", "Correct the header. A token carries a checksum."},
	{"token_invalid", 401, "The token is unknown, has expired, or was revoked. The reply does not say which.", "Use another token."},
	{"too_many_logins", 429, "This address sent too many invalid tokens.", "Send a valid token, or wait as long as `Retry-After` says."},
	{"insufficient_scope", 403, "The token's scope is too small for the route.", "Use a token with the scope in `scope`."},
	{"operator_only", 403, "The route concerns the whole server.", "Use an operator's token."},
	{"wrong_namespace", 403, "The token belongs to another namespace than the request names.", "Leave the namespace out, or use another token."},
	{"unknown_namespace", 404, "The namespace does not exist.", "Correct the name, or create the namespace."},
	{"first_token", 409, "The first token must be an operator's, with scope admin. Otherwise no token could manage the server.", "Create that token first."},

	// The JSON.
	{"empty_body", 400, "The body is empty.", "Send a JSON object."},
	{"bad_json", 400, "The body is not JSON.", "Correct it at the byte that `detail` names."},
	{"trailing_data", 400, "More data follows the JSON value.", "Send one value."},
	{"bad_utf8", 400, "A string is not valid UTF-8.", "Encode it as UTF-8."},
	{"too_deep", 400, "The JSON is nested too deep.", "Nest at most 32 levels, or send the bytes as `body_base64`."},
	{"duplicate_key", 400, "A key or header is given twice.", "Send it once."},
	{"unknown_field", 400, "A field is not known.", "Correct its name; `suggestion` may have it."},
	{"wrong_type", 400, "A value has the wrong JSON type.", "Send the type that `detail` names."},
	{"null_value", 400, "A value is null, which has no meaning there.", "Leave the field out."},

	// The values of tasks, schedules, queues, namespaces and tokens.
	{"required", 400, "A field is missing.", "Send it."},
	{"two_due_times", 400, "More than one of at, delay and by is given.", "Send one of them."},
	{"no_due_time", 400, "Neither at nor delay is given.", "Send one of them."},
	{"two_bodies", 400, "Both body and body_base64 are given, and are not the same JSON value.", "Send one of them."},
	{"name_mismatch", 400, "The name in the body differs from the name in the path.", "Leave it out of the body."},
	{"bad_name", 400, "A name has other characters, or is too long.", "Use letters, digits and `. _ : -`; begin with a letter or digit."},
	{"bad_time", 400, "A time is neither RFC 3339 nor, with timezone, a local time.", "Send a time such as `2030-01-02T15:04:05.250Z`."},
	{"bad_duration", 400, "A duration has another form.", "Send a duration such as `90s`, `1h30m` or `3d`."},
	{"bad_traceparent", 400, "A traceparent is not in the form of W3C Trace Context.", "Correct it, or leave it out."},
	{"bad_priority", 400, "A priority is not high, normal or low.", "Use a value in `allowed`."},
	{"bad_base64", 400, "body_base64 is not base64.", "Use the standard alphabet, with padding."},
	{"two_times", 400, "Both a time and a duration are given.", "Send one of them."},
	{"bad_secret", 400, "A signing secret is not whsec_ and 24 to 64 bytes in base64.", "Correct it, or leave it out: the server makes one."},
	{"bad_scope", 400, "A scope is not read, write or admin.", "Use a value in `allowed`."},
	{"bad_label", 400, "The key or value of a label is not allowed.", "See [Limits](#limits)."},
	{"bad_cron", 400, "A cron expression is not valid.", "Correct the field that `detail` names."},
	{"bad_timezone", 400, "The IANA database has no such time zone.", "Use a name such as `Europe/Berlin`."},
	{"bad_policy", 400, "A policy of a schedule is not one of its words.", "Use a value in `allowed`."},
	{"conflict", 400, "Two fields cannot be combined.", "Leave one of them out."},
	{"never_fires", 400, "The schedule has no future instant.", "Correct the rule, or `start` and `end`."},
	{"bad_method", 400, "A task cannot be sent with this method.", "Use a method that `detail` lists."},
	{"bad_url", 400, "The URL cannot be called.", "Correct the URL."},
	{"bad_scheme", 400, "The URL is neither http nor https.", "Begin it with `http://` or `https://`."},
	{"bad_header", 400, "The name or value of a header is not allowed.", "Correct it."},
	{"forbidden_header", 400, "Only the connection or Foliot sets this header.", "Leave it out."},
	{"out_of_range", 400, "A number, time or duration is out of its range.", "Use a value in the range that `detail` names."},
	{"too_many", 400, "A list or map has too many elements.", "Send fewer."},
	{"too_long", 400, "A text is too long.", "Shorten it."},
	{"too_large", 413, "The headers of the task are too large together.", "Send less."},
	{"body_too_large", 413, "The body of the task is too large.", "Send less, or raise `--body-limit`."},

	// The state of records.
	{"not_found", 404, "The task, schedule, queue, token, secret or node does not exist. `kind` says which of them.", "Correct the name or id."},
	{"exists", 409, "A task with this name exists. `id` and `state` describe it.", "Use another name, or PUT to replace the task."},
	{"precondition_failed", 412, "The record does not have the version in If-Match, or exists despite If-None-Match.", "Read the record again, then decide."},
	{"count_differs", 412, "The number of matching tasks is not the number in expect. `count` has the number.", "Check the filter, then send the new number."},
	{"too_many_instants", 422, "A backfill has more than 1000 instants.", "End it at `until`, and start the next one after that."},
	{"idempotency_key_reused", 422, "The Idempotency-Key was used with another request.", "Use a new key for each request."},
	{task.CodeRunning, 409, "An attempt is running.", "Wait for its end, or cancel the task."},
	{task.CodeDead, 409, "The task is dead.", "Retry it first."},
	{task.CodeNotDead, 409, "Only dead tasks can be retried, and finished tasks if their queue keeps bodies.", "Use `run` for a scheduled task."},
	{task.CodeFinished, 409, "The task is delivered, cancelled or expired.", "Create a new task. A retry needs a queue with `keep_bodies`."},
	{task.CodeNoDelay, 409, "The task was created with an absolute time.", "PATCH `at` or `delay`."},
	{"last_admin_token", 409, "It is the last valid operator's token with scope admin.", "Create another one first, or send `force=true`."},
	{"last_node", 409, "It is the last node that may own shards.", "Start or undrain another node. With `force=true` no node delivers."},
	{"busy", 409, "The record cannot be changed in its present state.", "Follow the advice in `detail`."},
	{"locked", 409, "An open transaction of the PostgreSQL that keeps the tasks has locked the task for a second. Nothing was changed.", "Repeat the request after `Retry-After`, or end the transaction that `foliot doctor` names."},
	{"quota_exceeded", 403, "The namespace has reached a quota. `field` names the quota, and `limit` has its value.", "Cancel tasks, wait for deliveries, or raise the quota. Repeating soon does not help."},
	{"rate_exceeded", 429, "The namespace exceeds a rate. `field` names the rate, and `limit` has its value.", "Wait as long as `Retry-After` says."},
	{"namespace_suspended", 403, "The operator has suspended the namespace. It can only be read.", "Ask the operator to resume it."},
	{"kind_not_allowed", 403, "The namespace does not allow tasks with a kind.", "Send the task to the program that runs its kind, or ask the operator to set `kinds` on the namespace."},
	{"too_many_at_once", 429, "Too many requests of the namespace are running, or their replies are not read.", "Wait as long as `Retry-After` says."},

	// The server.
	{"unsupported", 501, "This server's store or configuration does not support the route.", "See `detail`."},
	{"capacity", 503, "The store is full and accepts no new tasks. Existing tasks go on.", "Retry later; give the store more room."},
	{"store_unfit", 503, "A Redis setting may lose tasks, so the store refuses new tasks. Existing tasks go on.", "Correct the setting that `foliot doctor` names. Repeating does not help."},
	{"durability_not_met", 503, "The change was made, but too few replicas confirmed it.", "Repeat the request. A create without a name or an Idempotency-Key may be made twice then."},
	{"unavailable", 503, "The store cannot be reached or has stopped, the server is stopping, or it is overloaded. A change may have been made.", "Repeat the request after `Retry-After`."},
	{"store_replaced", 503, "The store, or a part of it, was emptied or replaced. The server stays closed.", "Restore the data, or accept the loss, on Redis with `foliot redis accept-loss`, and restart every server. Repeating does not help."},
	{"settings_lost", 503, "The store has lost its settings, access tokens included. The server stays closed.", "Restore the data, or accept the loss, on Redis with `foliot redis accept-loss`, and restart every server. Repeating does not help."},
	{"internal", 500, "The server failed.", "Read its log."},
}

var statusByCode = func() map[string]int {
	m := make(map[string]int, len(problemTypes))
	for _, p := range problemTypes {
		m[p.Code] = p.Status
	}
	return m
}()
