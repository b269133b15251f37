-- The tables of a store of format 1. A schema is a store, and the connection's
-- search_path names it.

-- One row: the identity of the store, and values that all nodes share.
CREATE TABLE meta (
    format   int  NOT NULL,
    shards   int  NOT NULL,
    lease    bigint NOT NULL, -- milliseconds
    identity text PRIMARY KEY
);

-- All records, also those of ended tasks, because a name is unique among them. An
-- update that changes no indexed column is a HOT update, which writes no index: so
-- a claim changes neither lane nor look. The free half of each page has room for
-- the new versions of a whole batch.
CREATE TABLE task (
    key     text COLLATE "C" PRIMARY KEY, -- <namespace>/<name>
    shard   smallint NOT NULL,
    lane    bigint,           -- waiting or running: the hash of its lane
    look    bigint,           -- waiting or running: its due time
    running boolean NOT NULL,
    relative boolean NOT NULL, -- a touch can repeat its delay
    stamp   bigint NOT NULL,  -- random for each version of the row
    record  bytea,            -- NULL: only pending has the task
    body    bytea,            -- unless the record has it
    idem    bytea,            -- <namespace>/<digest of its Idempotency-Key>
    ended   bytea,            -- ended: <namespace>/<d for dead, f for finished><place by end>
    keep    bigint,           -- ended: the end of its retention
    pending jsonb             -- operations of SQL functions, which the next write applies
        CHECK (pending IS NOT NULL OR record IS NOT NULL)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE task ALTER body SET STORAGE EXTERNAL;
CREATE INDEX task_due ON task (shard, lane, look, key) WHERE lane IS NOT NULL;
CREATE UNIQUE INDEX task_idem ON task (idem) WHERE idem IS NOT NULL;
CREATE INDEX task_ended ON task (ended) WHERE ended IS NOT NULL;
CREATE INDEX task_pending ON task (shard) WHERE pending IS NOT NULL;
CREATE INDEX task_keep ON task (shard, keep) WHERE keep IS NOT NULL;

-- The leases of running tasks. An extension writes only here, so it never fails a
-- user's transaction that has read the task.
CREATE TABLE lease (
    key   text COLLATE "C" PRIMARY KEY,
    shard smallint NOT NULL,
    token text   NOT NULL,
    until bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX lease_until ON lease (shard, until);

-- The changes of each transaction in a shard: differences of counts, tasks that begin to wait,
-- and tasks with pending operations. Each adds rows, so none waits for another.
CREATE TABLE news (
    xid   xid8 NOT NULL DEFAULT pg_current_xact_id(),
    shard smallint NOT NULL,
    node  text NOT NULL, -- the process that wrote it
    news  jsonb NOT NULL
);
CREATE INDEX news_shard ON news (shard, xid);
ALTER TABLE news REPLICA IDENTITY FULL; -- or a publication for all tables forbids its deletes

-- Counts of records, without those in news. The shard's owner writes them.
CREATE TABLE count (
    shard     smallint NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    queue     text COLLATE "C" NOT NULL,
    number    smallint NOT NULL, -- a state, or -1 for bytes
    n         bigint NOT NULL,
    PRIMARY KEY (shard, namespace, queue, number)
) WITH (fillfactor = 50);

-- The namespaces that a role and its members may use with the SQL functions. The
-- owner of the functions may use all.
CREATE TABLE role_namespace (
    role      name NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    PRIMARY KEY (role, namespace)
);

CREATE TABLE shard (
    n     smallint PRIMARY KEY,
    owner text NOT NULL DEFAULT '', -- the owner's id: <process>/<epoch>; empty: none
    epoch bigint NOT NULL DEFAULT 0
);

-- The processes. A heartbeat writes one row, which is the lease of all shards of the
-- process. All other changes of this table and of shard lock this one.
CREATE TABLE node (
    process text COLLATE "C" PRIMARY KEY, -- <name>/<nonce>
    about   jsonb    NOT NULL,
    beat    bigint   NOT NULL, -- its last heartbeat; 0: it has left
    until   bigint   NOT NULL, -- the end of its lease; 0: its shards are lost
    twin    boolean  NOT NULL, -- another process has its name
    drained smallint NOT NULL  -- 1: it must own no shards, 2: even if no other node can
);

-- One row, until a crash of PostgreSQL or a failover empties the table. These may undo
-- claims, so all nodes acquire their shards again.
CREATE UNLOGGED TABLE recovery (id text NOT NULL);

-- One row: the version of the settings. It is locked by each edit. One that begins or
-- ends a migration changes moves too, so that transactions with an older snapshot fail.
CREATE TABLE version (settings text NOT NULL, moves boolean PRIMARY KEY);
INSERT INTO version VALUES ('', false);
CREATE TABLE setting (
    field text COLLATE "C" PRIMARY KEY,
    value bytea NOT NULL
);
CREATE TABLE audit (
    seq   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    entry bytea NOT NULL
);
-- The figures of the past: of a minute and a process, or of an hour.
CREATE TABLE past (
    hours  boolean NOT NULL,
    at     bigint NOT NULL,
    writer text COLLATE "C" NOT NULL,
    data   bytea NOT NULL,
    PRIMARY KEY (hours, at, writer)
) WITH (fillfactor = 50);
CREATE TABLE permit (
    scope text COLLATE "C" PRIMARY KEY,
    state jsonb NOT NULL,
    ends  bigint NOT NULL -- in microseconds: then it is as good as new
);

-- The number of shards and their lease are the same for all nodes of the store.
INSERT INTO meta (format, shards, lease, identity) VALUES (1, 32, 6000, gen_random_uuid());
INSERT INTO shard (n) SELECT generate_series(0, 31);
