-- Writes rows if their records still have the stamps by which they were decided. The CTEs
-- see one snapshot, so the news are those of the rows that were written. Two rows can have
-- the same key, if they belong to different calls: at most one of them is written. The
-- planner expects one row of a CTE, and joins two by a nested loop: OR and IS TRUE make it hash.
-- ANY makes it look for each key in the index of a table: it would read the whole index, so
-- all dead rows, if the table had hardly any rows when it was analyzed.
-- The parts in braces are left out if no row creates or removes a record.
WITH u AS MATERIALIZED (SELECT * FROM {rows}
), clock AS MATERIALIZED (SELECT coalesce(nullif($23::bigint, 0), floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS ms
), locked AS MATERIALIZED (
	SELECT t.key FROM u, foliot.task t WHERE u.old IS NOT NULL AND t.key = ANY(ARRAY[u.key]) ORDER BY u.key COLLATE "C" FOR UPDATE OF t {skip}
), fit AS MATERIALIZED (
	SELECT u.* FROM u, clock WHERE u.earliest <= clock.ms AND (u.old IS NULL OR u.key IN (SELECT key FROM locked)) AND (u.owner IS NULL OR EXISTS (SELECT FROM foliot.shard s WHERE s.n = u.shard AND s.owner = u.owner))
		AND (u.home IS NULL OR EXISTS (SELECT FROM foliot.setting WHERE field = u.home))
		AND ($25::text = '' OR EXISTS (SELECT FROM foliot.version WHERE settings = $25))
), updated AS (
	UPDATE foliot.task t SET shard = f.shard, lane = f.lane, look = f.look, running = f.running, relative = f.relative, pending = NULL, stamp = f.stamp, record = f.record,
		body = CASE f.bodies WHEN 0 THEN t.body WHEN 1 THEN f.body END, idem = f.idem, ended = f.ended, keep = f.keep
	FROM fit f WHERE t.key = ANY(ARRAY[f.key]) AND t.stamp = f.old AND f.record IS NOT NULL RETURNING f.ord
--{
), removed AS (
	DELETE FROM foliot.task t USING fit f WHERE t.key = ANY(ARRAY[f.key]) AND t.stamp = f.old AND f.record IS NULL RETURNING f.ord
), created AS (
	INSERT INTO foliot.task (key, shard, lane, look, running, relative, stamp, record, body, idem, ended, keep)
	SELECT key, shard, lane, look, running, relative, stamp, record, body, idem, ended, keep FROM fit WHERE old IS NULL AND parent = 0 ORDER BY key
	ON CONFLICT DO NOTHING RETURNING key, stamp
), spawned AS (
	INSERT INTO foliot.task (key, shard, lane, look, running, relative, stamp, record, body, idem, ended, keep)
	SELECT f.key, f.shard, f.lane, f.look, f.running, f.relative, f.stamp, f.record, f.body, f.idem, f.ended, f.keep FROM u f JOIN updated ON updated.ord = f.parent ORDER BY f.key
	ON CONFLICT DO NOTHING RETURNING key, stamp
--}
), done AS (
	SELECT ord FROM updated
--{
	UNION ALL SELECT ord FROM removed
	UNION ALL SELECT ord FROM u WHERE parent = 0 AND ((key, stamp) IN (SELECT key, stamp FROM created)) IS TRUE
	UNION ALL SELECT ord FROM u WHERE parent > 0 AND ((key, stamp) IN (SELECT key, stamp FROM spawned)) IS TRUE
--}
), leased AS (
	INSERT INTO foliot.lease (key, shard, token, until) SELECT key, shard, token, until FROM u JOIN done USING (ord) WHERE lease = 1
	ON CONFLICT (key) DO UPDATE SET token = excluded.token, until = excluded.until
), released AS (
	DELETE FROM foliot.lease l USING u WHERE l.key = ANY(ARRAY[u.key]) AND u.lease = 2 AND (u.ord IN (SELECT ord FROM done)) IS TRUE AND current_setting('transaction_isolation') = 'read committed'
), told AS (
	INSERT INTO foliot.news (shard, node, news) SELECT shard, $24, jsonb_agg(news::jsonb) FROM u JOIN done USING (ord) WHERE news <> '' GROUP BY shard
)
SELECT CASE WHEN done.ord IS NOT NULL THEN 0
	WHEN u.earliest > clock.ms THEN 2
	WHEN u.owner IS NOT NULL AND NOT EXISTS (SELECT FROM foliot.shard s WHERE s.n = u.shard AND s.owner = u.owner) THEN 3
	WHEN u.old IS NOT NULL AND EXISTS (SELECT FROM foliot.task t WHERE t.key = u.key AND t.stamp = u.old) AND NOT EXISTS (SELECT FROM locked l WHERE l.key = u.key) THEN 4
	WHEN u.home IS NOT NULL AND NOT EXISTS (SELECT FROM foliot.setting WHERE field = u.home) OR $25 NOT IN ('', (SELECT settings FROM foliot.version)) THEN 5
	ELSE 1 END::smallint
FROM clock, u LEFT JOIN done USING (ord) WHERE u.parent = 0 ORDER BY u.ord
