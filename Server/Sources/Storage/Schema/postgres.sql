-- The tables of a new database of Perennial on PostgreSQL. The same tables on SQLite are in
-- sqlite.sql; a test compares the two. Text is compared byte by byte (COLLATE "C"), so that both
-- engines sort alike.
--
-- Every primary key, foreign key and unique index begins with the app, so that all rows of an app
-- can be on one machine. Names ending in `_ms` are milliseconds since 1970, in UTC; a column
-- `day` counts days from 1970-01-01. Integers are 0 or 1 in columns named `is_…`, `had_…` or
-- `will_…`. In the table `schema_versions`, which each server creates before it reads this file,
-- the database records which of its steps are applied, and in `oldest_version` the oldest schema
-- version whose programs can use it then.
--
-- After the first release, a change of the schema is made in this file, in the other file, and as
-- a step in Schema.swift. The step changes databases that exist. Schema.swift also says which
-- tables are primary and which are derived.


-- Documents
-- ---------

-- Certificate chains. Each is stored once, although Apple repeats it in every document.
CREATE TABLE headers (
    app TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL CHECK (length(digest) = 32),
    segment BYTEA NOT NULL,
    PRIMARY KEY (app, digest)
);

-- All documents received from Apple. `id` is the SHA-256 of the signed content. The document can
-- be reproduced byte for byte from `parts` and `headers`.
CREATE TABLE documents (
    app TEXT COLLATE "C" NOT NULL,
    signed_at_ms BIGINT NOT NULL,
    id BYTEA NOT NULL CHECK (length(id) = 32),
    kind TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    source TEXT COLLATE "C" NOT NULL,
    received_at_ms BIGINT NOT NULL,
    parts BYTEA NOT NULL,
    headers BYTEA NOT NULL CHECK (length(headers) % 32 = 0),
    PRIMARY KEY (app, signed_at_ms, id)
) PARTITION BY RANGE (signed_at_ms);
CREATE TABLE documents_other PARTITION OF documents DEFAULT;


-- Facts and purchases
-- -------------------

-- The facts that the documents attest. Derived: a rebuild computes the facts again.
CREATE TABLE facts (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT COLLATE "C" NOT NULL,
    attested_at_ms BIGINT NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    document BYTEA NOT NULL,
    document_signed_at_ms BIGINT NOT NULL,
    statement BYTEA NOT NULL,
    PRIMARY KEY (app, environment, purchase, attested_at_ms, subject, document),
    FOREIGN KEY (app, document_signed_at_ms, document) REFERENCES documents (app, signed_at_ms, id)
);

-- The facts that a rebuild derives, until they are compared with `facts` or replace them. The
-- table has the columns of `facts`, in the same order. It always exists, and is empty between
-- rebuilds, because creating a table in SQLite invalidates every prepared statement.
CREATE TABLE facts_rebuilt (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT COLLATE "C" NOT NULL,
    attested_at_ms BIGINT NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    document BYTEA NOT NULL,
    document_signed_at_ms BIGINT NOT NULL,
    statement BYTEA NOT NULL,
    PRIMARY KEY (app, environment, purchase, attested_at_ms, subject, document),
    FOREIGN KEY (app, document_signed_at_ms, document) REFERENCES documents (app, signed_at_ms, id)
);

-- One row for each purchase. It contains the purchase's timeline, which a rebuild computes again.
--
-- The columns from `due_at_ms` to `lease_holder` contain when to check the purchase with the App
-- Store, and the results of earlier checks. `due_at_ms` is computed from the timeline and the
-- other columns. Leases use the clock of the database; all other times are by the clocks of the
-- servers. `due_at_ms` is never null, but must not be declared NOT NULL: SQLite would then drop
-- the condition of the partial index as redundant, and would not see that a search by `due_at_ms`
-- satisfies it.
--
-- `reported_state` is the state last reported in the event log. At `next_change_at_ms` time alone
-- changes this state; null means never. `documents_full_at_ms` is when the hourly budget of new
-- documents about the purchase is full again.
CREATE TABLE purchases (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT COLLATE "C" NOT NULL,
    account_token TEXT COLLATE "C",
    timeline BYTEA NOT NULL,
    documents_full_at_ms BIGINT,
    due_at_ms BIGINT,
    known_at_ms BIGINT NOT NULL,
    asked_at_ms BIGINT,
    failed_at_ms BIGINT,
    failures BIGINT NOT NULL,
    revision TEXT COLLATE "C",
    lease_until_ms BIGINT NOT NULL,
    lease_holder TEXT COLLATE "C",
    reported_state BYTEA,
    next_change_at_ms BIGINT,
    PRIMARY KEY (app, environment, purchase)
);
CREATE INDEX purchases_by_account_token ON purchases (app, account_token, environment)
    WHERE account_token IS NOT NULL;
CREATE INDEX purchases_by_due ON purchases (app, environment, due_at_ms)
    WHERE due_at_ms IS NOT NULL;
CREATE INDEX purchases_by_next_change ON purchases (app, next_change_at_ms)
    WHERE next_change_at_ms IS NOT NULL;

-- Where in the app a transaction was bought, as reported by the app that posted the transaction.
-- Primary data: no document contains this.
CREATE TABLE purchase_origins (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT COLLATE "C" NOT NULL,
    transaction_id TEXT COLLATE "C" NOT NULL,
    placement TEXT COLLATE "C",
    sdk TEXT COLLATE "C",
    storefront TEXT COLLATE "C",
    posted_at_ms BIGINT NOT NULL,
    PRIMARY KEY (app, environment, purchase, transaction_id)
);


-- Customers
-- ---------

-- A row without a row of `customer_ids` stands for an erased customer.
CREATE TABLE customers (
    app TEXT COLLATE "C" NOT NULL,
    customer TEXT COLLATE "C" NOT NULL CHECK (length(customer) > 0),
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (app, customer)
);

-- The ids of customers. `is_account_token` is 1 if the server made the id, so that the app sets
-- it as the account token of purchases.
CREATE TABLE customer_ids (
    app TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL CHECK (length(id) > 0),
    customer TEXT COLLATE "C" NOT NULL,
    since_ms BIGINT NOT NULL,
    is_account_token BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (app, id),
    FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
);
-- Contains all columns that are read when the ids of a customer are read.
CREATE INDEX customer_ids_by_customer
    ON customer_ids (app, customer, since_ms, id, is_account_token);
-- Finds customers by the beginning of an id.
CREATE INDEX customer_ids_by_beginning ON customer_ids (app, lower(id));

-- What the app says about customers, such as a mail address. Primary data. `value` is null if the
-- attribute was deleted: the row then keeps an older value from returning. `author` is `app` for a
-- device, and `server` for the app's server or support. `mail_address` is the value of `$email`
-- in lower case, by which support finds a customer.
CREATE TABLE customer_attributes (
    app TEXT COLLATE "C" NOT NULL,
    customer TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C",
    updated_at_ms BIGINT NOT NULL,
    author TEXT COLLATE "C" NOT NULL CHECK (author IN ('app', 'server')),
    mail_address TEXT COLLATE "C",
    PRIMARY KEY (app, customer, name),
    FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
);
CREATE INDEX customer_attributes_by_mail_address
    ON customer_attributes (app, mail_address, customer) WHERE mail_address IS NOT NULL;

-- Ids that were separated from a customer. Primary data: an erasure uses these rows to find the
-- events of all customers who had an id of the erased person.
CREATE TABLE removed_ids (
    app TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    customer TEXT COLLATE "C" NOT NULL,
    removed_at_ms BIGINT NOT NULL,
    PRIMARY KEY (app, id, customer)
);

-- Hashes of the ids of erased customers, under a key of the app that is in `secrets`. Documents
-- contain account tokens of erased customers for ever, and these tokens must no longer identify
-- anybody.
CREATE TABLE erasures (
    app TEXT COLLATE "C" NOT NULL,
    id_hash BYTEA NOT NULL CHECK (length(id_hash) = 32),
    erased_at_ms BIGINT NOT NULL,
    PRIMARY KEY (app, id_hash)
);


-- Ownership
-- ---------

-- The owners of purchases. A purchase has at most one owner. `document_signed_at_ms` is the
-- signing time of the latest document about the purchase that a device of the owner has
-- presented; null if this time does not matter. `is_confirmed` is 1 if that document was signed
-- after the purchase became the owner's.
CREATE TABLE links (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT COLLATE "C" NOT NULL,
    customer TEXT COLLATE "C" NOT NULL,
    evidence TEXT COLLATE "C" NOT NULL CHECK (evidence IN ('device', 'token', 'support')),
    since_ms BIGINT NOT NULL,
    document_signed_at_ms BIGINT,
    is_confirmed BIGINT NOT NULL DEFAULT 1,
    PRIMARY KEY (app, purchase, environment),
    FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
);
CREATE INDEX links_by_customer ON links (app, customer, environment);

-- Customers who share a purchase with its owner. The last two columns have the same meaning as in
-- `links`.
CREATE TABLE shares (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT COLLATE "C" NOT NULL,
    customer TEXT COLLATE "C" NOT NULL,
    since_ms BIGINT NOT NULL,
    document_signed_at_ms BIGINT,
    is_confirmed BIGINT NOT NULL DEFAULT 1,
    PRIMARY KEY (app, purchase, environment, customer),
    FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
);
CREATE INDEX shares_by_customer ON shares (app, customer, environment);

-- Purchases that other customers may not claim from the owner.
CREATE TABLE blocks (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    since_ms BIGINT NOT NULL,
    PRIMARY KEY (app, purchase, environment)
);

-- Purchases that moved from one customer to another, or became shared. `transfer` is a number
-- that consists of a time and some bits of a digest.
CREATE TABLE transfers (
    app TEXT COLLATE "C" NOT NULL,
    transfer BIGINT NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('moved', 'shared')),
    former TEXT COLLATE "C",
    customer TEXT COLLATE "C" NOT NULL,
    evidence TEXT COLLATE "C" NOT NULL CHECK (evidence IN ('device', 'token', 'support')),
    reason TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    undone_at_ms BIGINT,
    PRIMARY KEY (app, transfer)
);
CREATE INDEX transfers_by_customer ON transfers (app, customer);
CREATE INDEX transfers_by_former ON transfers (app, former) WHERE former IS NOT NULL;


-- Grants
-- ------

-- Entitlements that were granted manually. `next_change_at_ms` is when the grant expires; null if
-- it never expires, or if its end has been reported.
CREATE TABLE grants (
    app TEXT COLLATE "C" NOT NULL,
    grant_id TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    customer TEXT COLLATE "C" NOT NULL,
    entitlement TEXT COLLATE "C" NOT NULL,
    from_ms BIGINT NOT NULL,
    until_ms BIGINT,
    reason TEXT COLLATE "C" NOT NULL,
    withdrawn_at_ms BIGINT,
    next_change_at_ms BIGINT,
    PRIMARY KEY (app, grant_id),
    FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
);
CREATE INDEX grants_by_customer ON grants (app, customer, environment);
CREATE INDEX grants_by_next_change ON grants (app, next_change_at_ms)
    WHERE next_change_at_ms IS NOT NULL;


-- Wallets
-- -------

-- Debits and manual credits of wallets (`is_credit`). Both are in one table, because an
-- idempotency key identifies either a debit or a credit, and because the debits and the credits
-- of a customer are always moved and deleted together. Primary data. The credits of purchases are
-- not in this table, because they are derived from facts.
CREATE TABLE debits (
    app TEXT COLLATE "C" NOT NULL,
    debit TEXT COLLATE "C" NOT NULL,
    is_credit BIGINT NOT NULL DEFAULT 0,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    customer TEXT COLLATE "C" NOT NULL,
    currency TEXT COLLATE "C" NOT NULL,
    amount BIGINT NOT NULL CHECK (amount > 0),
    reason TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    balance BIGINT NOT NULL,
    PRIMARY KEY (app, debit),
    FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
);
-- Contains all columns that are read for a sum.
CREATE INDEX debits_by_customer
    ON debits (app, customer, environment, currency, at_ms, amount, is_credit);

-- The last reported balance of each wallet.
CREATE TABLE wallets (
    app TEXT COLLATE "C" NOT NULL,
    customer TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    currency TEXT COLLATE "C" NOT NULL,
    balance BIGINT NOT NULL,
    PRIMARY KEY (app, customer, environment, currency),
    FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
);


-- Seats
-- -----

-- Claims on the seats of groups whose members the app invites. A claim without an end is open.
-- Which of the open claims have a seat is computed. The columns from `apple_state` to
-- `lease_holder` contain what was reported to the App Store about the claim.
--
-- The rows have numbers (no WITHOUT ROWID). Otherwise SQLite would read all claims of the app,
-- because it does not know how few claims a purchase has.
CREATE TABLE seat_claims (
    app TEXT COLLATE "C" NOT NULL,
    claim TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT COLLATE "C" NOT NULL,
    customer TEXT COLLATE "C" NOT NULL,
    claimed_at_ms BIGINT NOT NULL,
    ended_at_ms BIGINT,
    cause TEXT COLLATE "C",
    apple_state TEXT COLLATE "C" NOT NULL DEFAULT 'due',
    apple_claim TEXT COLLATE "C",
    apple_asked_at_ms BIGINT,
    apple_since_ms BIGINT NOT NULL DEFAULT 0,
    due_at_ms BIGINT DEFAULT 0,
    attempts BIGINT NOT NULL DEFAULT 0,
    trouble TEXT COLLATE "C",
    lease_until_ms BIGINT NOT NULL DEFAULT 0,
    lease_holder TEXT COLLATE "C",
    PRIMARY KEY (app, claim)
);
-- A person has at most one open claim on a purchase.
CREATE UNIQUE INDEX seat_claims_open ON seat_claims (app, purchase, customer, environment)
    WHERE ended_at_ms IS NULL;
CREATE INDEX seat_claims_by_rank ON seat_claims (app, environment, purchase, claimed_at_ms, claim)
    WHERE ended_at_ms IS NULL;
CREATE INDEX seat_claims_by_customer ON seat_claims (app, customer, ended_at_ms);
-- Claims that are to be reported to the App Store, with the columns by which the backlog is
-- counted.
CREATE INDEX seat_claims_by_due ON seat_claims (app, environment, due_at_ms, apple_since_ms)
    WHERE due_at_ms IS NOT NULL;
CREATE INDEX seat_claims_by_apple_claim ON seat_claims (app, apple_claim)
    WHERE apple_claim IS NOT NULL;
-- Claims for which the App Store may have an id that is not known yet.
CREATE INDEX seat_claims_unanswered ON seat_claims (app, environment, purchase)
    WHERE apple_asked_at_ms IS NOT NULL AND apple_claim IS NULL;
-- Claims that the App Store has ended.
CREATE INDEX seat_claims_unclaimed ON seat_claims (app, environment, purchase, ended_at_ms)
    WHERE cause = 'unclaimed';
-- Claims that wait until the subscription is active.
CREATE INDEX seat_claims_off ON seat_claims (app, environment, purchase) WHERE apple_state = 'off';

-- Invitations to a seat.
CREATE TABLE seat_invitations (
    app TEXT COLLATE "C" NOT NULL,
    invitation TEXT COLLATE "C" NOT NULL,
    digest BYTEA NOT NULL CHECK (length(digest) = 32),
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT COLLATE "C" NOT NULL,
    customer TEXT COLLATE "C",
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    used_at_ms BIGINT,
    claim TEXT COLLATE "C",
    withdrawn_at_ms BIGINT,
    PRIMARY KEY (app, invitation)
);
CREATE UNIQUE INDEX seat_invitations_by_digest ON seat_invitations (app, digest);
CREATE INDEX seat_invitations_by_purchase
    ON seat_invitations (app, environment, purchase, created_at_ms);
CREATE INDEX seat_invitations_by_customer ON seat_invitations (app, customer)
    WHERE customer IS NOT NULL;

-- The App Store's counts of the seats of groups. If the rows are lost, the App Store is asked
-- again when somebody joins.
CREATE TABLE seat_groups (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT COLLATE "C" NOT NULL,
    seats BIGINT NOT NULL DEFAULT 0,
    available BIGINT NOT NULL DEFAULT 0,
    foreign_claims BIGINT NOT NULL DEFAULT 0,
    asked_at_ms BIGINT,
    since_ms BIGINT NOT NULL,
    due_at_ms BIGINT,
    attempts BIGINT NOT NULL DEFAULT 0,
    trouble TEXT COLLATE "C",
    lease_until_ms BIGINT NOT NULL DEFAULT 0,
    lease_holder TEXT COLLATE "C",
    PRIMARY KEY (app, environment, purchase)
);
CREATE INDEX seat_groups_by_due ON seat_groups (app, environment, due_at_ms, since_ms)
    WHERE due_at_ms IS NOT NULL;

-- The claims that the App Store has ended, according to its notifications.
CREATE TABLE seat_unclaims (
    app TEXT COLLATE "C" NOT NULL,
    document BYTEA NOT NULL CHECK (length(document) = 32),
    apple_claim TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" CHECK (environment IN ('production', 'sandbox')),
    is_bound BIGINT NOT NULL,
    PRIMARY KEY (app, document, apple_claim)
);
CREATE INDEX seat_unclaims_by_claim ON seat_unclaims (app, apple_claim);


-- Terms
-- -----

-- A reminder recorded here is never emitted again. `subject` is the customer or, while a purchase
-- has no owner, its account token.
CREATE TABLE reminders (
    app TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    chain TEXT COLLATE "C" NOT NULL,
    until_ms BIGINT NOT NULL,
    days_before BIGINT NOT NULL,
    emitted_at_ms BIGINT NOT NULL,
    PRIMARY KEY (app, subject, environment, chain, until_ms, days_before)
);

-- When to check whether a reminder for a customer is due; 0 if something has changed.
CREATE TABLE term_watches (
    app TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    due_at_ms BIGINT NOT NULL,
    PRIMARY KEY (app, subject, environment)
);
CREATE INDEX term_watches_by_due ON term_watches (app, due_at_ms);

-- The rules by which the rows of `term_watches` were written. When the rules change, every
-- customer is examined again. `swept_to` is the progress of this examination; null when it is
-- finished.
CREATE TABLE reminder_rules (
    app TEXT COLLATE "C" NOT NULL,
    rules TEXT COLLATE "C" NOT NULL,
    swept_to TEXT COLLATE "C",
    PRIMARY KEY (app)
);


-- Consumption requests
-- --------------------

-- Apple's requests for consumption information about purchases with a refund request, and our
-- responses. `due_at_ms` is null when the request is closed; `state` says how it was closed.
CREATE TABLE consumption_questions (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT COLLATE "C" NOT NULL,
    transaction_id TEXT COLLATE "C" NOT NULL,
    document BYTEA NOT NULL CHECK (length(document) = 32),
    product TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C",
    asked_at_ms BIGINT NOT NULL,
    due_at_ms BIGINT,
    attempts BIGINT NOT NULL,
    ended_at_ms BIGINT,
    state TEXT COLLATE "C" NOT NULL
        CHECK (state IN ('waiting', 'answered', 'withheld', 'given_up')),
    trouble TEXT COLLATE "C",
    delivery TEXT COLLATE "C",
    used BIGINT,
    had_sample BIGINT,
    preference TEXT COLLATE "C",
    lease_until_ms BIGINT NOT NULL,
    lease_holder TEXT COLLATE "C",
    PRIMARY KEY (app, environment, purchase, document)
);
CREATE INDEX consumption_questions_by_due ON consumption_questions (app, due_at_ms)
    WHERE due_at_ms IS NOT NULL;

-- Whether customers allow that Apple receives information about them.
CREATE TABLE consumption_consents (
    app TEXT COLLATE "C" NOT NULL,
    customer TEXT COLLATE "C" NOT NULL,
    is_given BIGINT NOT NULL,
    had_sample BIGINT,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (app, customer),
    FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
);

-- The reports of the app's server about the use of transactions.
CREATE TABLE consumption_uses (
    app TEXT COLLATE "C" NOT NULL,
    customer TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    transaction_id TEXT COLLATE "C" NOT NULL,
    delivery TEXT COLLATE "C" NOT NULL,
    used BIGINT,
    PRIMARY KEY (app, customer, environment, transaction_id),
    FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
);


-- Events
-- ------

-- The number of events in the log of each app. A transaction that numbers events locks this row.
CREATE TABLE logs (
    app TEXT COLLATE "C" NOT NULL,
    last_sequence BIGINT NOT NULL,
    PRIMARY KEY (app)
);

-- The epochs of the logs, from the second one on. Each restore from a backup begins an epoch.
-- Events from before the first restore belong to the first epoch, which has no row and no name.
-- The row of the app '' stands for every app that had no log when the epoch began, including apps
-- that the restored backup does not contain.
CREATE TABLE log_epochs (
    app TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    after_sequence BIGINT NOT NULL,
    began_at_ms BIGINT NOT NULL,
    PRIMARY KEY (app, number)
);

-- The log. Primary data: events are only added. `details` is JSON with the names and forms of the
-- HTTP API.
CREATE TABLE events (
    app TEXT COLLATE "C" NOT NULL,
    sequence BIGINT NOT NULL,
    customer TEXT COLLATE "C",
    customer_sequence BIGINT,
    environment TEXT COLLATE "C" CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT COLLATE "C",
    kind TEXT COLLATE "C" NOT NULL,
    known_at_ms BIGINT NOT NULL,
    document BYTEA,
    details TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (app, sequence)
);
CREATE INDEX events_of_customer ON events (app, customer, sequence) WHERE customer IS NOT NULL;
-- Finds the events of a purchase from the time when it had no owner. A customer may be known only
-- by the account token in these events.
CREATE INDEX events_of_nobody ON events (app, environment, purchase, sequence)
    WHERE customer IS NULL;

-- Events that are committed but not yet numbered: see UnnumberedEvent.swift. Only on PostgreSQL:
-- SQLite has one writer, which numbers its events at once. `position` comes from a sequence,
-- which never makes a transaction wait. The sequence has no cache, so a transaction that has seen
-- the rows of another one gets a greater position. The table is nearly always empty, so its dead
-- rows must be removed often.
CREATE TABLE pending_events (
    app TEXT COLLATE "C" NOT NULL,
    position BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY (CACHE 1),
    customer TEXT COLLATE "C",
    environment TEXT COLLATE "C" CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT COLLATE "C",
    kind TEXT COLLATE "C" NOT NULL,
    known_at_ms BIGINT NOT NULL,
    document BYTEA,
    details TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (app, position)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- This view is for people with SQL, not for the program. It has the same columns on both engines,
-- so that a query works on both. `details` is text in the table; this view makes it JSON on
-- PostgreSQL.
CREATE VIEW event_log AS SELECT
    app, sequence, kind AS type, to_char(to_timestamp(known_at_ms / 1000.0) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS known_at,
    customer AS customer_id, customer_sequence, environment,
    purchase AS original_transaction_id, encode(document, 'hex') AS document_id,
    CAST(details AS JSON) AS details
FROM events;


-- Webhooks
-- --------

-- A webhook reads the event log from `cursor` on. So a committed event is delivered without any
-- other row. The settings of a webhook of the configuration are in the configuration file, not in
-- this table.
CREATE TABLE webhooks (
    app TEXT COLLATE "C" NOT NULL,
    webhook TEXT COLLATE "C" NOT NULL,
    origin TEXT COLLATE "C" NOT NULL CHECK (origin IN ('configuration', 'api')),
    url TEXT COLLATE "C",
    types TEXT COLLATE "C",
    products TEXT COLLATE "C",
    environments TEXT COLLATE "C",
    format TEXT COLLATE "C",
    authorization_value TEXT COLLATE "C",
    secret TEXT COLLATE "C",
    former_secret TEXT COLLATE "C",
    former_until_ms BIGINT,
    created_at_ms BIGINT NOT NULL,
    cursor BIGINT NOT NULL,
    paused_at_ms BIGINT,
    pause_reason TEXT COLLATE "C",
    held_until_ms BIGINT,
    failing_since_ms BIGINT,
    is_reported BIGINT NOT NULL,
    deleted_at_ms BIGINT,
    lease_until_ms BIGINT NOT NULL,
    lease_holder TEXT COLLATE "C",
    PRIMARY KEY (app, webhook)
);

-- Deliveries with the same `stream` are made in order. A stream belongs to a customer, or to a
-- purchase without an owner. Only one delivery of a stream is due at a time; the others wait with
-- `due_at_ms` null and `state` `waiting`. `body` is null until it is rendered, and again after a
-- person whom it names was erased.
CREATE TABLE webhook_deliveries (
    app TEXT COLLATE "C" NOT NULL,
    webhook TEXT COLLATE "C" NOT NULL,
    message TEXT COLLATE "C" NOT NULL,
    sequence BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    stream TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
    created_at_ms BIGINT NOT NULL,
    due_at_ms BIGINT,
    tries BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    attempted_at_ms BIGINT,
    status BIGINT,
    trouble TEXT COLLATE "C",
    ended_at_ms BIGINT,
    body BYTEA,
    lease_until_ms BIGINT NOT NULL,
    lease_holder TEXT COLLATE "C",
    PRIMARY KEY (app, webhook, message)
);
CREATE INDEX webhook_deliveries_by_due
    ON webhook_deliveries (app, webhook, due_at_ms, created_at_ms) WHERE due_at_ms IS NOT NULL;
CREATE INDEX webhook_deliveries_by_order
    ON webhook_deliveries (app, webhook, stream, sequence, message) WHERE ended_at_ms IS NULL;
CREATE INDEX webhook_deliveries_by_stream
    ON webhook_deliveries (app, stream, created_at_ms, message);
CREATE INDEX webhook_deliveries_by_time
    ON webhook_deliveries (app, webhook, created_at_ms, message);
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (app, webhook, created_at_ms)
    WHERE ended_at_ms IS NULL;
CREATE INDEX webhook_deliveries_by_end ON webhook_deliveries (app, state, ended_at_ms)
    WHERE ended_at_ms IS NOT NULL;

-- The attempts of each delivery.
CREATE TABLE webhook_attempts (
    app TEXT COLLATE "C" NOT NULL,
    webhook TEXT COLLATE "C" NOT NULL,
    message TEXT COLLATE "C" NOT NULL,
    attempt BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    milliseconds BIGINT NOT NULL,
    status BIGINT,
    trouble TEXT COLLATE "C",
    answer TEXT COLLATE "C",
    PRIMARY KEY (app, webhook, message, attempt)
);


-- Forwarded notifications and imports
-- -----------------------------------

-- Notifications to be forwarded to other addresses. `due_at_ms` is null when the forward has
-- ended; `accepted_at_ms` is null unless the forward succeeded. Primary data: no document
-- contains where it was forwarded.
CREATE TABLE forwards (
    app TEXT COLLATE "C" NOT NULL,
    document BYTEA NOT NULL CHECK (length(document) = 32),
    target TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    created_at_ms BIGINT NOT NULL,
    due_at_ms BIGINT,
    attempts BIGINT NOT NULL,
    attempted_at_ms BIGINT,
    status BIGINT,
    trouble TEXT COLLATE "C",
    accepted_at_ms BIGINT,
    lease_until_ms BIGINT NOT NULL,
    lease_holder TEXT COLLATE "C",
    PRIMARY KEY (app, document, target)
);
CREATE INDEX forwards_by_due ON forwards (app, target, due_at_ms, created_at_ms)
    WHERE due_at_ms IS NOT NULL;
CREATE INDEX forwards_by_time ON forwards (app, created_at_ms, document, target);
-- Each forward is in only one of these four indexes, the index of its present state. So a
-- statement about one state cannot use the index of another state.
CREATE INDEX forwards_accepted ON forwards (app, accepted_at_ms) WHERE accepted_at_ms IS NOT NULL;
CREATE INDEX forwards_waiting ON forwards (app, created_at_ms, document, target)
    WHERE due_at_ms IS NOT NULL;
CREATE INDEX forwards_given_up ON forwards (app, created_at_ms, document, target)
    WHERE accepted_at_ms IS NULL AND due_at_ms IS NULL AND attempts > 0;
CREATE INDEX forwards_left_out ON forwards (app, created_at_ms, document, target)
    WHERE accepted_at_ms IS NULL AND due_at_ms IS NULL AND attempts = 0;

-- The body of a notification as received, byte for byte, while any forward of it is pending.
CREATE TABLE forward_bodies (
    app TEXT COLLATE "C" NOT NULL,
    document BYTEA NOT NULL CHECK (length(document) = 32),
    content_type TEXT COLLATE "C",
    body BYTEA NOT NULL,
    PRIMARY KEY (app, document)
);

-- The progress of imports: how far each file was read.
CREATE TABLE imports (
    app TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    file BYTEA NOT NULL CHECK (length(file) = 32),
    bytes_read BIGINT NOT NULL,
    lines_read BIGINT NOT NULL,
    used BIGINT NOT NULL,
    refused BIGINT NOT NULL,
    report_bytes BIGINT NOT NULL,
    changed_at_ms BIGINT NOT NULL,
    ended_at_ms BIGINT,
    PRIMARY KEY (app, kind, file)
);

-- The signed summaries of rehearsals of the move from RevenueCat. They contain no ids of customers.
CREATE TABLE rehearsals (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    ended_at_ms BIGINT NOT NULL,
    signed TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (app, environment, ended_at_ms)
);

-- The first differences of the last rehearsal, in the order of its report. An erasure deletes all
-- of them.
CREATE TABLE rehearsal_differences (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    number BIGINT NOT NULL,
    cause TEXT COLLATE "C" NOT NULL,
    customer TEXT COLLATE "C" NOT NULL,
    entitlement TEXT COLLATE "C" NOT NULL,
    aspect TEXT COLLATE "C" NOT NULL,
    effect TEXT COLLATE "C" NOT NULL,
    ours TEXT COLLATE "C" NOT NULL,
    theirs TEXT COLLATE "C" NOT NULL,
    evidence_here TEXT COLLATE "C" NOT NULL,
    evidence_there TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (app, environment, number)
);


-- The App Store
-- -------------

-- The state of the connection to the App Store. `walked_to_ms` is how far the App Store's
-- notification history was walked. The walk has a separate lease, because undelivered
-- notifications are backfilled separately, and more often.
CREATE TABLE app_stores (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    answered_at_ms BIGINT,
    failures BIGINT NOT NULL,
    paused_until_ms BIGINT NOT NULL,
    busy_until_ms BIGINT NOT NULL,
    caught_up_to_ms BIGINT,
    lease_until_ms BIGINT NOT NULL,
    lease_holder TEXT COLLATE "C",
    walked_to_ms BIGINT,
    walk_lease_until_ms BIGINT,
    walk_lease_holder TEXT COLLATE "C",
    PRIMARY KEY (app, environment)
);


-- Money
-- -----

-- One row for each transaction; `number` counts the transactions of the purchase.
CREATE TABLE money_transactions (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    transaction_id TEXT COLLATE "C" NOT NULL,
    line TEXT COLLATE "C",
    product TEXT COLLATE "C" NOT NULL,
    subscription_group TEXT COLLATE "C",
    storefront TEXT COLLATE "C",
    offer_kind TEXT COLLATE "C",
    offer TEXT COLLATE "C",
    price BIGINT,
    currency TEXT COLLATE "C",
    kind TEXT COLLATE "C" NOT NULL,
    terms TEXT COLLATE "C" NOT NULL,
    ownership TEXT COLLATE "C" NOT NULL,
    quantity BIGINT NOT NULL,
    seats BIGINT,
    price_tiers TEXT COLLATE "C",
    is_renewal BIGINT NOT NULL,
    from_ms BIGINT NOT NULL,
    until_ms BIGINT,
    ended_at_ms BIGINT,
    gross BIGINT NOT NULL,
    tax BIGINT NOT NULL,
    commission_rate BIGINT NOT NULL,
    commission BIGINT NOT NULL,
    refunded_at_ms BIGINT,
    refunded BIGINT NOT NULL,
    refunded_tax BIGINT NOT NULL,
    refunded_commission BIGINT NOT NULL,
    revoked_seats BIGINT,
    PRIMARY KEY (app, environment, purchase, number)
);
CREATE INDEX money_transactions_by_time ON money_transactions (app, environment, from_ms, purchase);
-- Finds which products were bought, and the latest purchases of a product.
CREATE INDEX money_transactions_by_product
    ON money_transactions (app, environment, product, from_ms);

-- The changes of reports' numbers by each purchase, and the time for which each change was known.
-- `day` is the day of `at_ms` in the time zone of the configuration. The columns from `mrr_tax`
-- to `mrr_of_four_weeks` contain parts and variants of MRR; `contracted` and `promised` are about
-- what customers have agreed to pay.
CREATE TABLE money_movements (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    transaction_id TEXT COLLATE "C" NOT NULL,
    known_at_ms BIGINT NOT NULL,
    replaced_at_ms BIGINT,
    day BIGINT NOT NULL,
    product TEXT COLLATE "C" NOT NULL,
    subscription_group TEXT COLLATE "C",
    storefront TEXT COLLATE "C",
    offer_kind TEXT COLLATE "C",
    offer TEXT COLLATE "C",
    price BIGINT,
    currency TEXT COLLATE "C",
    gross BIGINT NOT NULL,
    refunded BIGINT NOT NULL,
    tax BIGINT NOT NULL,
    commission BIGINT NOT NULL,
    mrr BIGINT NOT NULL,
    payments BIGINT NOT NULL,
    active BIGINT NOT NULL,
    trials BIGINT NOT NULL,
    grace BIGINT NOT NULL,
    retry BIGINT NOT NULL,
    not_renewing BIGINT NOT NULL,
    mrr_tax BIGINT NOT NULL DEFAULT 0,
    mrr_commission BIGINT NOT NULL DEFAULT 0,
    mrr_of_four_weeks BIGINT NOT NULL DEFAULT 0,
    contracted BIGINT NOT NULL DEFAULT 0,
    promised BIGINT NOT NULL DEFAULT 0,
    seats BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (app, environment, purchase, at_ms, kind, transaction_id, known_at_ms)
);
-- Finds the movements of a kind, ordered by time, so that the first of millions can be listed.
-- SQLite itself appends the rest of the key to the index. PostgreSQL sorts the few movements of
-- one moment.
CREATE INDEX money_movements_by_kind ON money_movements (app, environment, kind, day, at_ms);

-- One row for each subscription, with its state after the last change. At `changes_at_ms` time
-- alone changes this state.
CREATE TABLE money_subscriptions (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT COLLATE "C" NOT NULL,
    transaction_id TEXT COLLATE "C" NOT NULL,
    product TEXT COLLATE "C" NOT NULL,
    subscription_group TEXT COLLATE "C",
    storefront TEXT COLLATE "C",
    offer_kind TEXT COLLATE "C",
    offer TEXT COLLATE "C",
    price BIGINT,
    currency TEXT COLLATE "C",
    ownership TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C",
    until_ms BIGINT,
    changes_at_ms BIGINT,
    will_renew BIGINT,
    renews_to TEXT COLLATE "C",
    grace_until_ms BIGINT,
    period_from_ms BIGINT NOT NULL,
    period_until_ms BIGINT,
    first_paid_at_ms BIGINT,
    ended_because TEXT COLLATE "C",
    seats BIGINT,
    seats_at_renewal BIGINT,
    PRIMARY KEY (app, environment, purchase)
);
CREATE INDEX money_subscriptions_by_state
    ON money_subscriptions (app, environment, state, purchase);

-- The rules by which an app's rows about money are derived, and the last purchase whose rows were
-- derived; null when the rows of all purchases are derived.
CREATE TABLE money_fills (
    app TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    rules TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C",
    purchase TEXT COLLATE "C",
    filled BIGINT NOT NULL
);

-- Sums of the movements that are known now, by day and by month, separately for each division, so
-- that no report reads millions of rows. `first_day` is in the time zone of the configuration.
-- `currency` and `part` are empty if documents do not contain them. `movements` is the number of
-- movements.
CREATE TABLE money_sums (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    division TEXT COLLATE "C" NOT NULL,
    span TEXT COLLATE "C" NOT NULL CHECK (span IN ('day', 'month')),
    first_day BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    currency TEXT COLLATE "C" NOT NULL,
    part TEXT COLLATE "C" NOT NULL,
    movements BIGINT NOT NULL,
    gross BIGINT NOT NULL,
    refunded BIGINT NOT NULL,
    tax BIGINT NOT NULL,
    commission BIGINT NOT NULL,
    mrr BIGINT NOT NULL,
    payments BIGINT NOT NULL,
    active BIGINT NOT NULL,
    trials BIGINT NOT NULL,
    grace BIGINT NOT NULL,
    retry BIGINT NOT NULL,
    not_renewing BIGINT NOT NULL,
    mrr_tax BIGINT NOT NULL,
    mrr_commission BIGINT NOT NULL,
    mrr_of_four_weeks BIGINT NOT NULL,
    contracted BIGINT NOT NULL,
    promised BIGINT NOT NULL,
    seats BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (app, environment, division, span, first_day, kind, currency, part)
);

-- The numbers of cohorts that are known now: of all subscriptions that began on a day, how many
-- were paid a second time, and so on. `place` is the number's index in its cohort. Like
-- `money_sums`, the table has sums of changes, by the day and by the month of the changes, which
-- begins on `first_day`.
CREATE TABLE money_cohorts (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    cohort TEXT COLLATE "C" NOT NULL,
    span TEXT COLLATE "C" NOT NULL CHECK (span IN ('day', 'month')),
    first_day BIGINT NOT NULL,
    began_day BIGINT NOT NULL,
    currency TEXT COLLATE "C" NOT NULL,
    place BIGINT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (app, environment, cohort, span, first_day, began_day, currency, place)
);

-- The changes of purchases' movements that are not added to `money_sums` and `money_cohorts` yet.
CREATE TABLE money_changes (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT COLLATE "C" NOT NULL,
    known_at_ms BIGINT NOT NULL,
    changes BYTEA NOT NULL,
    PRIMARY KEY (app, environment, purchase, known_at_ms)
);

-- The last purchase of an app whose movements are in `money_sums` and `money_cohorts`; null when
-- all movements are. `layout` is the number of the layout of these tables.
CREATE TABLE money_sum_fills (
    app TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    layout BIGINT NOT NULL,
    environment TEXT COLLATE "C",
    purchase TEXT COLLATE "C",
    filled BIGINT NOT NULL
);

-- The text of the App Store's report files, byte for byte. Primary data: Apple keeps these files
-- for a year, and never makes them again.
CREATE TABLE apple_reports (
    app TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    first_day BIGINT NOT NULL,
    last_day BIGINT NOT NULL,
    digest BYTEA NOT NULL CHECK (length(digest) = 32),
    name TEXT COLLATE "C" NOT NULL,
    rows_count BIGINT NOT NULL,
    imported_at_ms BIGINT NOT NULL,
    content BYTEA NOT NULL,
    PRIMARY KEY (app, kind, first_day, last_day, digest)
);

-- This view and the next three are for people with SQL. They have the names and forms of the HTTP
-- API.
CREATE VIEW subscriptions AS SELECT
    shown.app, links.customer AS customer_id,
    shown.environment, shown.purchase AS original_transaction_id, shown.transaction_id,
    shown.product AS product_id, shown.subscription_group, shown.state,
    to_char(to_timestamp(shown.until_ms / 1000.0) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS expires_at,
    to_char(to_timestamp(shown.changes_at_ms / 1000.0) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS changes_at,
    shown.will_renew, shown.renews_to,
    to_char(to_timestamp(shown.grace_until_ms / 1000.0) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS grace_until,
    shown.price AS price_milliunits, shown.currency, shown.storefront, shown.offer_kind,
    shown.offer AS offer_id, shown.ownership,
    to_char(to_timestamp(shown.period_from_ms / 1000.0) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS period_began_at,
    to_char(to_timestamp(shown.period_until_ms / 1000.0) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS period_ends_at,
    to_char(to_timestamp(shown.first_paid_at_ms / 1000.0) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS first_paid_at, shown.ended_because,
    shown.seats, shown.seats_at_renewal
FROM money_subscriptions AS shown LEFT JOIN links ON links.app = shown.app
    AND links.environment = shown.environment AND links.purchase = shown.purchase;

CREATE VIEW transactions AS SELECT
    shown.app, links.customer AS customer_id,
    shown.environment, shown.purchase AS original_transaction_id, shown.transaction_id,
    shown.line AS order_line_id, shown.product AS product_id, shown.subscription_group,
    shown.kind, shown.terms, shown.ownership, shown.quantity, shown.is_renewal,
    shown.storefront, shown.offer_kind, shown.offer AS offer_id,
    to_char(to_timestamp(shown.from_ms / 1000.0) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS purchased_at,
    to_char(to_timestamp(shown.until_ms / 1000.0) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS expires_at,
    to_char(to_timestamp(shown.ended_at_ms / 1000.0) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS ended_at,
    shown.currency, shown.gross AS price_milliunits, shown.tax AS tax_milliunits,
    shown.commission_rate AS commission_thousandths_of_percent,
    shown.commission AS commission_milliunits,
    shown.gross - shown.tax - shown.commission AS proceeds_milliunits,
    shown.refunded AS refunded_milliunits,
    to_char(to_timestamp(shown.refunded_at_ms / 1000.0) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS refunded_at,
    shown.seats, shown.price_tiers, shown.revoked_seats
FROM money_transactions AS shown LEFT JOIN links ON links.app = shown.app
    AND links.environment = shown.environment AND links.purchase = shown.purchase;

CREATE VIEW customer_summaries AS SELECT
    app, environment, customer_id, currency, count(*) AS transactions,
    min(purchased_at) AS first_purchased_at, max(purchased_at) AS last_purchased_at,
    CAST(sum(price_milliunits) AS BIGINT) AS price_milliunits,
    CAST(sum(refunded_milliunits) AS BIGINT) AS refunded_milliunits
FROM transactions WHERE customer_id IS NOT NULL
GROUP BY app, environment, customer_id, currency;

CREATE VIEW movements AS SELECT
    app, environment, purchase AS original_transaction_id, transaction_id, kind,
    to_char(to_timestamp(at_ms / 1000.0) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS occurred_at,
    to_char(to_timestamp(known_at_ms / 1000.0) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS known_at,
    to_char(to_timestamp(replaced_at_ms / 1000.0) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS replaced_at,
    product AS product_id, subscription_group, storefront, offer_kind,
    offer AS offer_id, currency, gross AS gross_milliunits,
    refunded AS refunded_milliunits, tax AS tax_milliunits,
    commission AS commission_milliunits, mrr AS mrr_milliunits, payments, active,
    trials, grace, retry, not_renewing, mrr_tax AS mrr_tax_milliunits,
    mrr_commission AS mrr_commission_milliunits,
    mrr_of_four_weeks AS mrr_of_four_weeks_milliunits,
    contracted AS contracted_milliunits, promised AS promised_milliunits, seats
FROM money_movements;


-- Rows about customers
-- --------------------

-- The entitlements of customers, for people with SQL: one row for each entitlement that a
-- customer has or had. At `changes_at_ms` time alone changes the row. Derived from all other
-- tables. Written again when the log reports a change.
CREATE TABLE shown_entitlements (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    customer TEXT COLLATE "C" NOT NULL,
    entitlement TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    is_active BIGINT NOT NULL,
    until_ms BIGINT,
    changes_at_ms BIGINT,
    will_renew BIGINT,
    product TEXT COLLATE "C",
    purchase TEXT COLLATE "C",
    grant_id TEXT COLLATE "C",
    PRIMARY KEY (app, environment, customer, entitlement)
);
CREATE INDEX shown_entitlements_by_change ON shown_entitlements (app, changes_at_ms)
    WHERE changes_at_ms IS NOT NULL;

-- One row for each entry of a wallet; `number` counts the entries from 0.
CREATE TABLE shown_wallet_entries (
    app TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL CHECK (environment IN ('production', 'sandbox')),
    customer TEXT COLLATE "C" NOT NULL,
    currency TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    transaction_id TEXT COLLATE "C",
    product TEXT COLLATE "C",
    debit TEXT COLLATE "C",
    credit TEXT COLLATE "C",
    reason TEXT COLLATE "C",
    amount BIGINT NOT NULL,
    balance BIGINT NOT NULL,
    PRIMARY KEY (app, environment, customer, currency, number)
);

-- The progress of writing an app's rows about customers: the settings by which they are written;
-- the last customer whose rows were written, or null when the rows of all customers are; and the
-- last event of the log that was used.
CREATE TABLE showings (
    app TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    rules TEXT COLLATE "C" NOT NULL,
    customer TEXT COLLATE "C",
    shown BIGINT NOT NULL,
    sequence BIGINT NOT NULL
);

CREATE VIEW entitlements AS SELECT
    app, environment, customer AS customer_id, entitlement, state, is_active,
    to_char(to_timestamp(until_ms / 1000.0) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS expires_at,
    to_char(to_timestamp(changes_at_ms / 1000.0) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS changes_at,
    will_renew, product AS product_id, purchase AS original_transaction_id, grant_id
FROM shown_entitlements;

CREATE VIEW wallet_entries AS SELECT
    app, environment, customer AS customer_id, currency, number,
    to_char(to_timestamp(at_ms / 1000.0) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS occurred_at, kind, transaction_id,
    product AS product_id, debit AS debit_id, reason, amount, balance,
    credit AS credit_id
FROM shown_wallet_entries;

-- What apps say about customers, for people with SQL. Deleted attributes are left out.
CREATE VIEW attributes AS SELECT
    app, customer AS customer_id, name, value,
    to_char(to_timestamp(updated_at_ms / 1000.0) AT TIME ZONE 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS updated_at, author
FROM customer_attributes WHERE value IS NOT NULL;


-- Keys
-- ----

-- API keys, as hashes. `scopes` says what a secret key may be used for.
CREATE TABLE keys (
    app TEXT COLLATE "C" NOT NULL,
    hash BYTEA NOT NULL CHECK (length(hash) = 32),
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('app', 'secret')),
    name TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    scopes TEXT COLLATE "C" NOT NULL,
    until_ms BIGINT,
    last_used_at_ms BIGINT,
    PRIMARY KEY (app, hash)
);
CREATE INDEX keys_by_hash ON keys (hash);

-- The keys that sign entitlement tokens, stored unencrypted: whoever can read the database can
-- also read everything that the tokens contain. `is_prepared` marks the key that is published
-- before it signs.
CREATE TABLE token_keys (
    app TEXT COLLATE "C" NOT NULL,
    key_id TEXT COLLATE "C" NOT NULL,
    private_key BYTEA NOT NULL CHECK (length(private_key) = 32),
    created_at_ms BIGINT NOT NULL,
    retired_at_ms BIGINT,
    is_prepared BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (app, key_id)
);

-- Secret keys shared by the servers of one database.
CREATE TABLE secrets (
    app TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    secret BYTEA NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (app, name)
);


-- Accounts of the dashboard
-- -------------------------

-- The people who use the dashboard. They belong to the server, not to an app. But every key
-- begins with the app, so `app` is empty in the rows of this table and of the following tables,
-- except for rows of `operator_roles` and `audit_entries` that are about one app.
--
-- `password` holds the salt, the cost and the key as text.
CREATE TABLE operators (
    app TEXT COLLATE "C" NOT NULL CHECK (app = ''),
    operator TEXT COLLATE "C" NOT NULL,
    password TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    signed_in_at_ms BIGINT,
    blocked_at_ms BIGINT,
    PRIMARY KEY (app, operator)
);

-- The row of the app '' is about every app.
CREATE TABLE operator_roles (
    app TEXT COLLATE "C" NOT NULL,
    operator TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'support', 'admin')),
    PRIMARY KEY (app, operator)
);
CREATE INDEX operator_roles_by_operator ON operator_roles (operator);

-- The tokens of sessions and links are stored as SHA-256 only. Sessions and links that have ended
-- are deleted.
CREATE TABLE operator_sessions (
    app TEXT COLLATE "C" NOT NULL CHECK (app = ''),
    session BYTEA NOT NULL CHECK (length(session) = 32),
    operator TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    used_at_ms BIGINT NOT NULL,
    until_ms BIGINT NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (app, session)
);
CREATE INDEX operator_sessions_by_operator ON operator_sessions (app, operator);

CREATE TABLE operator_links (
    app TEXT COLLATE "C" NOT NULL CHECK (app = ''),
    link BYTEA NOT NULL CHECK (length(link) = 32),
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('first', 'invitation', 'reset')),
    operator TEXT COLLATE "C",
    roles TEXT COLLATE "C" NOT NULL,
    author TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    until_ms BIGINT NOT NULL,
    PRIMARY KEY (app, link)
);

-- Failed attempts to sign in: by one name, from one address, or by one name from one address.
-- `subject` contains the name, the address, or both.
CREATE TABLE sign_in_failures (
    app TEXT COLLATE "C" NOT NULL CHECK (app = ''),
    subject TEXT COLLATE "C" NOT NULL,
    failures BIGINT NOT NULL,
    last_at_ms BIGINT NOT NULL,
    shut_until_ms BIGINT,
    PRIMARY KEY (app, subject)
);

-- The networks from which each operator has signed in recently.
CREATE TABLE sign_in_places (
    app TEXT COLLATE "C" NOT NULL CHECK (app = ''),
    operator TEXT COLLATE "C" NOT NULL,
    network TEXT COLLATE "C" NOT NULL,
    used_at_ms BIGINT NOT NULL,
    PRIMARY KEY (app, operator, network)
);

-- The account of an operator at a provider of OpenID Connect: the issuer's address, and the
-- subject by which the issuer names the person. `full_name` is the name that the provider gave last.
CREATE TABLE operator_identities (
    app TEXT COLLATE "C" NOT NULL CHECK (app = ''),
    issuer TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    operator TEXT COLLATE "C" NOT NULL,
    full_name TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (app, issuer, subject)
);

-- The sign-ins by a provider that are complete, as SHA-256 of their secret, so that none is used
-- twice. Rows are deleted when the sign-in could no longer be used anyway.
CREATE TABLE used_sign_ins (
    app TEXT COLLATE "C" NOT NULL CHECK (app = ''),
    sign_in BYTEA NOT NULL CHECK (length(sign_in) = 32),
    until_ms BIGINT NOT NULL,
    PRIMARY KEY (app, sign_in)
);

-- The passkeys of operators. `passkey` is the id that the authenticator chose, and `counter` says how
-- often it had signed when it was last used.
CREATE TABLE operator_passkeys (
    app TEXT COLLATE "C" NOT NULL CHECK (app = ''),
    passkey BYTEA NOT NULL CHECK (length(passkey) BETWEEN 1 AND 1023),
    operator TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    public_key BYTEA NOT NULL,
    counter BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    used_at_ms BIGINT,
    PRIMARY KEY (app, passkey)
);

-- Codes that replace a lost passkey, once each. `code` is a keyed hash of the code.
CREATE TABLE operator_recovery_codes (
    app TEXT COLLATE "C" NOT NULL CHECK (app = ''),
    operator TEXT COLLATE "C" NOT NULL,
    code BYTEA NOT NULL CHECK (length(code) = 32),
    created_at_ms BIGINT NOT NULL,
    used_at_ms BIGINT,
    PRIMARY KEY (app, operator, code)
);

-- The recorded actions of operators. Rows are never changed, except that ids of erased customers
-- are replaced.
CREATE TABLE audit_entries (
    app TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    entry TEXT COLLATE "C" NOT NULL,
    author TEXT COLLATE "C" NOT NULL,
    act TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C",
    customer TEXT COLLATE "C",
    subject TEXT COLLATE "C",
    state_before TEXT COLLATE "C",
    state_after TEXT COLLATE "C",
    PRIMARY KEY (app, at_ms, entry)
);
CREATE INDEX audit_entries_by_customer ON audit_entries (app, customer) WHERE customer IS NOT NULL;


-- Alerts
-- ------

-- The rows of the page Health whose need for attention was reported, until an alert says that they
-- are well again. `app` is empty for what concerns the server.
CREATE TABLE alerts (
    app TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    since_ms BIGINT NOT NULL,
    seen_at_ms BIGINT NOT NULL,
    PRIMARY KEY (app, subject)
);

-- The ways by which alerts are sent. One server at a time leases a channel, and sends its oldest
-- message.
CREATE TABLE alert_channels (
    app TEXT COLLATE "C" NOT NULL CHECK (app = ''),
    channel TEXT COLLATE "C" NOT NULL CHECK (channel IN ('mail', 'webhook')),
    due_at_ms BIGINT,
    attempts BIGINT NOT NULL,
    trouble TEXT COLLATE "C",
    lease_until_ms BIGINT NOT NULL,
    lease_holder TEXT COLLATE "C",
    PRIMARY KEY (app, channel)
);

-- The alerts that wait to be sent.
CREATE TABLE alert_messages (
    app TEXT COLLATE "C" NOT NULL CHECK (app = ''),
    channel TEXT COLLATE "C" NOT NULL,
    created_at_ms BIGINT NOT NULL,
    message TEXT COLLATE "C" NOT NULL,
    content TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (app, channel, created_at_ms, message)
);


-- The database itself
-- -------------------

-- One row, which belongs to no app. It is written to test whether the database accepts writes. It
-- contains no information and is not copied.
CREATE TABLE write_probes (
    app TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    filler BYTEA NOT NULL,
    PRIMARY KEY (app)
);

-- An empty table, which is only locked: see SnapshotConnection.swift.
CREATE TABLE recordings (app TEXT COLLATE "C" NOT NULL PRIMARY KEY);
