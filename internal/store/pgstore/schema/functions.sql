-- The functions by which a program in any language changes tasks in a transaction of
-- its own. They run with the rights of their owner, so a program needs no rights on
-- the tables. A function only leaves an operation in the task's row. The nodes apply
-- it, because the rules of a task's life are in Go.

-- Longer bodies are in plpgsql, which keeps plans, and build a message only for an error.
-- Backslashes are only in E'', because a setting can change their meaning. Texts get the
-- collation "C", because those of a program's columns can differ from each other.

-- refuse raises an error.
CREATE OR REPLACE FUNCTION refuse(code text, message text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION USING ERRCODE = code, MESSAGE = message;
END $$;

-- hash is the function Hash of package sqltask.
CREATE OR REPLACE FUNCTION hash(value text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN ('x' || encode(substr(sha256(convert_to(value, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint;
END $$;

-- shard_of returns the shard of a task.
CREATE OR REPLACE FUNCTION shard_of(namespace text, name text) RETURNS smallint LANGUAGE plpgsql STABLE AS $$
DECLARE
	h numeric := hash(namespace || '/' || split_part(name, '@', 1));
BEGIN
	RETURN mod(h + CASE WHEN h < 0 THEN 18446744073709551616 ELSE 0 END, (SELECT shards FROM meta));
END $$;

-- check_name raises an error unless a text is a name of the kind that a field needs.
CREATE OR REPLACE FUNCTION check_name(field text, value text, longest int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF value IS NULL OR length(value) > longest OR value !~ '^[0-9A-Za-z][0-9A-Za-z._:-]*$' THEN
		PERFORM refuse('FL001', format('%s: must have 1 to %s letters, digits and . _ : - and begin with a letter or digit', field, longest));
	END IF;
END $$;

-- nanoseconds returns a duration in nanoseconds, rounded up to milliseconds.
CREATE OR REPLACE FUNCTION nanoseconds(field text, value interval, low interval, high interval) RETURNS bigint LANGUAGE plpgsql STABLE STRICT AS $$
BEGIN
	IF extract(year FROM value) <> 0 OR extract(month FROM value) <> 0 THEN
		PERFORM refuse('FL002', format('%s: months and years have no fixed length: write days, or pass at => now() + interval', field));
	ELSIF extract(epoch FROM value) NOT BETWEEN extract(epoch FROM low) AND extract(epoch FROM high) THEN
		PERFORM refuse('FL002', format('%s: must be between %s and %s', field, low, high));
	END IF;
	RETURN ceil(extract(epoch FROM value) * 1000)::bigint * 1000000;
END $$;

-- due_of returns a due time as an operation has it.
CREATE OR REPLACE FUNCTION due_of(delay interval, at timestamptz) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
	IF (delay IS NULL) = (at IS NULL) THEN
		PERFORM refuse('FL002', 'delay, at: pass one of them');
	ELSIF at <= to_timestamp(0) OR at AT TIME ZONE 'UTC' > clock_timestamp() AT TIME ZONE 'UTC' + interval '100 years' THEN
		PERFORM refuse('FL002', 'at: must be after 1970 and at most 100 years ahead');
	END IF;
	RETURN jsonb_strip_nulls(jsonb_build_object('delay', nanoseconds('delay', delay, '0', '36500 days'), 'due', ceil(extract(epoch FROM at) * 1000)));
END $$;

-- check_url raises an error if a text cannot be a URL to call.
CREATE OR REPLACE FUNCTION check_url(field text, value text) RETURNS void LANGUAGE plpgsql STRICT AS $$
BEGIN
	IF octet_length(value) > 8192 THEN
		PERFORM refuse('FL004', format('%s: must have at most 8192 bytes', field));
	ELSIF value !~* E'^https?://[^/?#@ \x01-\x1f\x7f]+([/?#][^ \x01-\x1f\x7f]*)?$' THEN
		PERFORM refuse('FL003', format('%s: must be a URL that begins with http:// or https:// and has no user and no spaces', field));
	ELSIF nullif(substring(value FROM '^[^/]+//[^/?#]*:([0-9]*)([/?#].*)?$'), '')::numeric NOT BETWEEN 1 AND 65535 THEN
		PERFORM refuse('FL003', format('%s: the port must be between 1 and 65535', field));
	END IF;
END $$;

-- check_texts raises an error unless a value is an object of texts.
CREATE OR REPLACE FUNCTION check_texts(field text, value jsonb) RETURNS void LANGUAGE plpgsql STRICT AS $$
BEGIN
	IF jsonb_typeof(value) <> 'object' OR value @? 'strict $.* ? (@.type() != "string")'::jsonpath THEN
		PERFORM refuse('FL003', format('%s: must be a JSON object with a string for each name', field));
	END IF;
END $$;

-- check_headers raises an error if a task must not have these headers.
CREATE OR REPLACE FUNCTION check_headers(headers jsonb) RETURNS void LANGUAGE plpgsql STRICT AS $$
BEGIN
	PERFORM check_texts('headers', headers);
	PERFORM CASE
		WHEN k !~ '^[0-9A-Za-z!#$%&''*+.^_`|~-]+$' OR v ~ E'[\x01-\x08\x0a-\x1f\x7f]' THEN refuse('FL003',
			format('headers: %s: a name consists of letters, digits and !#$%%&''*+-.^_`|~, and a value has no control characters', k))
		WHEN plain ~ '^(proxy|foliot|webhook)-' OR plain IN ('host', 'proxy', 'te', 'content-length', 'connection', 'transfer-encoding',
			'expect', 'upgrade', 'trailer', 'keep-alive') THEN refuse('FL003', format('headers: %s: this header is set by the connection or by Foliot', k))
		WHEN sum(octet_length(k) + octet_length(v)) OVER () > 16384 THEN refuse('FL004', 'headers: must have at most 16384 bytes together')
		WHEN count(*) OVER (PARTITION BY lower(k)) > 1 THEN refuse('FL003', format('headers: %s: the header is given twice', k)) END
	FROM jsonb_each_text(headers) h(k, v), lower(regexp_replace(k, '[^0-9A-Za-z]', '-', 'g')) plain;
END $$;

-- check_labels raises an error if a task must not have these labels.
CREATE OR REPLACE FUNCTION check_labels(labels jsonb) RETURNS void LANGUAGE plpgsql STRICT AS $$
BEGIN
	PERFORM check_texts('labels', labels);
	PERFORM CASE WHEN count(*) OVER () > 64 THEN refuse('FL004', 'labels: must be at most 64')
		WHEN octet_length(k) NOT BETWEEN 1 AND 128 OR k ~ E'[=\x01-\x1f\x7f]' OR octet_length(v) > 256 OR v ~ E'[\x01-\x1f\x7f]' THEN refuse('FL003',
			format('labels: %s: a key has 1 to 128 bytes without = and a value at most 256, both without control characters', k)) END
	FROM jsonb_each_text(labels) l(k, v);
END $$;

-- operate leaves an operation in the row of a task, and returns it with the state that
-- it found: none, waiting or running. It locks the row, or the name if there is no row,
-- until the transaction ends. Each operation gives the row a new stamp, so a claim by
-- the old stamp fails.
CREATE OR REPLACE FUNCTION operate(namespace text, name text, INOUT op jsonb, OUT state text) LANGUAGE plpgsql AS $$
DECLARE
	verb   text := op->>'op';
	caller name := coalesce(nullif(current_setting('role'), 'none'), session_user); -- current_user is the owner of the functions
	home   text := '2//' || namespace; -- the field of its setting
	id     text := namespace || '/' || name;
	shard  smallint;
	now    bigint;
	last   text;
	t      record;
BEGIN
	UNLISTEN foliot; -- PostgreSQL refuses it in functions that REINDEX or autovacuum call in the session of an administrator
	LOCK TABLE task IN ROW EXCLUSIVE MODE; -- after it closes the store, a migration waits for the transactions that have it
	IF current_setting('transaction_isolation') <> 'read committed' THEN -- the snapshot can be older
		PERFORM FROM version FOR KEY SHARE;
	END IF;
	IF EXISTS (SELECT FROM setting WHERE field = '5//') THEN
		PERFORM refuse('FL008', 'the tasks are moving, or have moved, to another store: use that');
	END IF;
	PERFORM check_name('namespace', namespace, 256);
	IF verb = 'put' THEN
		PERFORM check_name('name', name, 256);
	ELSIF name IS NULL OR length(name) > 513 OR name !~ '^[0-9A-Za-z][0-9A-Za-z._:-]*(@[0-9A-Za-z@._:-]+)?$' THEN -- a task of a schedule has an @
		PERFORM refuse('FL001', 'name: is not the name of a task');
	END IF;
	IF NOT pg_has_role(caller, current_user, 'MEMBER') AND NOT EXISTS (
		SELECT FROM role_namespace r JOIN pg_roles p ON p.rolname = r.role WHERE r.namespace = operate.namespace AND pg_has_role(caller, p.oid, 'MEMBER')) THEN
		PERFORM refuse('FL006', format('the role %s must not use the namespace %s: the owner of the schema can insert it into role_namespace', caller, namespace));
	END IF;
	IF namespace <> 'default' THEN
		PERFORM pg_advisory_xact_lock_shared(hash(home));
		IF current_setting('transaction_isolation') = 'read committed' THEN
			PERFORM FROM setting s WHERE s.field = home;
		ELSE -- the snapshot can be older than the lock, but a lock of the row sees a delete
			PERFORM FROM setting s WHERE s.field = home FOR KEY SHARE;
		END IF;
		IF NOT FOUND THEN
			PERFORM refuse('FL005', format('there is no namespace %s: create it with foliot namespace set', namespace));
		END IF;
	END IF;
	shard := shard_of(namespace, name);
	LOOP
		SELECT running, relative, lane IS NOT NULL AS live, get_byte(ended, octet_length(namespace) + 1) = ascii('d') AS dead, pending INTO t
			FROM task WHERE key = id FOR UPDATE;
		last := t.pending->-1->>'op';
		state := CASE WHEN t.running THEN 'running' WHEN last <> 'cancel' OR last IS NULL AND t.live THEN 'waiting' ELSE 'none' END;
		now := ceil(extract(epoch FROM clock_timestamp()) * 1000); -- after the lock, so it is not before the last change
		op := op || jsonb_build_object('by', caller, 'now', now);
		IF verb = 'put' THEN -- a UUID of version 7
			op := op || jsonb_build_object('id', overlay(overlay(gen_random_uuid()::text
				PLACING overlay(lpad(to_hex(now), 12, '0') PLACING '-' FROM 9 FOR 0) FROM 1) PLACING '7' FROM 15));
		ELSIF verb = 'touch' AND state = 'waiting' AND NOT coalesce((SELECT o ? 'delay' FROM jsonb_array_elements(t.pending) WITH ORDINALITY e(o, n)
			WHERE o->>'op' IN ('put', 'move') ORDER BY n DESC LIMIT 1), t.relative) THEN
			PERFORM refuse('FL007', format('task %s has no delay: move it instead', name));
		END IF;
		IF t.running IS NULL THEN
			INSERT INTO task (key, shard, running, relative, stamp, pending)
				VALUES (id, shard, false, false, hashtextextended(gen_random_uuid()::text, 0), jsonb_build_array(op)) ON CONFLICT DO NOTHING;
			CONTINUE WHEN NOT FOUND; -- another transaction has created it
			IF verb <> 'put' THEN
				DELETE FROM task WHERE key = id; -- the name stays locked
				RETURN;
			END IF;
		ELSIF verb = 'put' OR verb = 'cancel' AND last IS DISTINCT FROM 'cancel' AND (state <> 'none' OR t.dead) OR state = 'waiting' THEN
			UPDATE task SET stamp = hashtextextended(gen_random_uuid()::text, 0), pending = CASE WHEN verb = 'put' THEN '[]' -- those before it are useless
				WHEN verb = 'cancel' OR t.pending IS NULL THEN coalesce(t.pending, '[]')
				ELSE (SELECT coalesce(jsonb_agg(o ORDER BY n), '[]') FROM jsonb_array_elements(t.pending) WITH ORDINALITY e(o, n)
					WHERE verb <> o->>'op') END || op WHERE key = id;
		ELSE
			RETURN;
		END IF;
		IF t.pending IS NULL THEN -- otherwise there are news
			INSERT INTO news (shard, node, news) VALUES (shard, '', jsonb_build_array(jsonb_build_object('p', id)));
		END IF;
		RETURN;
	END LOOP;
END $$;

-- put creates a task, or replaces the task of that name, and returns its id. The fields
-- are those of PUT /v1/tasks/{name}, with the same defaults.
CREATE OR REPLACE FUNCTION put(
	name text, url text DEFAULT NULL, delay interval DEFAULT NULL, at timestamptz DEFAULT NULL, body jsonb DEFAULT NULL, body_bytes bytea DEFAULT NULL,
	method text DEFAULT NULL, headers jsonb DEFAULT NULL, kind text DEFAULT NULL, queue text DEFAULT 'default', priority text DEFAULT 'normal',
	labels jsonb DEFAULT NULL, timeout interval DEFAULT NULL, expire_after interval DEFAULT NULL, max_attempts int DEFAULT NULL,
	min_backoff interval DEFAULT NULL, max_backoff interval DEFAULT NULL, max_age interval DEFAULT NULL, on_dead text DEFAULT NULL,
	namespace text DEFAULT 'default'
) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
	op    jsonb := due_of(delay, at);
	wrong text := CASE WHEN (url IS NULL) = (kind IS NULL) THEN 'url, kind: pass one of them'
		WHEN kind IS NOT NULL AND (method IS NOT NULL OR headers IS NOT NULL OR body_bytes IS NOT NULL) THEN 'kind: takes no method, headers and body_bytes'
		WHEN method COLLATE "C" NOT IN ('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS') THEN 'method: must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS'
		WHEN body IS NOT NULL AND body_bytes IS NOT NULL THEN 'body, body_bytes: pass one of them'
		WHEN coalesce(priority, '') COLLATE "C" NOT IN ('high', 'normal', 'low') THEN 'priority: must be high, normal or low'
		WHEN min_backoff > max_backoff THEN 'max_backoff: must not be shorter than min_backoff'
		WHEN max_attempts NOT BETWEEN 0 AND 100000 THEN 'max_attempts: must be between 0 (no limit) and 100000' END;
BEGIN
	IF wrong IS NOT NULL THEN
		PERFORM refuse('FL003', wrong);
	ELSIF octet_length(body::text) > 1048576 OR octet_length(body_bytes) > 1048576 THEN
		PERFORM refuse('FL004', 'body: must have at most 1 MiB');
	END IF;
	PERFORM check_url('url', url COLLATE "C"), check_url('on_dead', nullif(on_dead COLLATE "C", '')), check_name('queue', queue COLLATE "C", 256),
		check_name('kind', coalesce(kind, 'none') COLLATE "C", 128), check_headers(headers), check_labels(labels);
	op := op || jsonb_strip_nulls(jsonb_build_object('op', 'put', 'url', url, 'method', method, 'headers', headers, 'kind', kind, 'queue', queue,
		'priority', priority, 'labels', labels, 'body', CASE WHEN jsonb_typeof(body) <> 'null' THEN body::text END, 'bytes', encode(body_bytes, 'base64'),
		'maxattempts', max_attempts, 'ondead', on_dead,
		'timeout', nanoseconds('timeout', timeout, '1 ms', '1 hour'), 'expireafter', nanoseconds('expire_after', expire_after, '0', '36500 days'),
		'minbackoff', nanoseconds('min_backoff', min_backoff, '1 ms', '36500 days'), 'maxbackoff', nanoseconds('max_backoff', max_backoff, '1 ms', '36500 days'),
		'maxage', nanoseconds('max_age', max_age, '0', '36500 days')));
	RETURN (SELECT o.op->>'id' FROM operate(namespace COLLATE "C", name COLLATE "C", op) o);
END $$;

-- cancel cancels a task, and returns the state that it had. If it was running, no
-- retry follows the attempt.
CREATE OR REPLACE FUNCTION cancel(name text, namespace text DEFAULT 'default') RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
	SELECT state FROM operate(namespace COLLATE "C", name COLLATE "C", '{"op": "cancel"}'::jsonb)
$$;

-- move changes the due time of a task that waits, and returns the state that it had.
CREATE OR REPLACE FUNCTION move(name text, delay interval DEFAULT NULL, at timestamptz DEFAULT NULL, namespace text DEFAULT 'default') RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
	SELECT state FROM operate(namespace COLLATE "C", name COLLATE "C", due_of(delay, at) || '{"op": "move"}'::jsonb)
$$;

-- touch restarts the delay of a task that waits, and returns the state that it had.
CREATE OR REPLACE FUNCTION touch(name text, namespace text DEFAULT 'default') RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
	SELECT state FROM operate(namespace COLLATE "C", name COLLATE "C", '{"op": "touch"}'::jsonb)
$$;
