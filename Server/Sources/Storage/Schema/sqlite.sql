-- The tables of a new database of Perennial on SQLite. The same tables on PostgreSQL are in
-- postgres.sql; a test compares the two.
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
    app TEXT NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    segment BLOB NOT NULL,
    PRIMARY KEY (app, digest)
) STRICT;

-- All documents received from Apple. `id` is the SHA-256 of the signed content. The document can
-- be reproduced byte for byte from `parts` and `headers`.
CREATE TABLE documents (
    app TEXT NOT NULL,
    signed_at_ms INTEGER NOT NULL,
    id BLOB NOT NULL CHECK (length(id) = 32),
    kind TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    source TEXT NOT NULL,
    received_at_ms INTEGER NOT NULL,
    parts BLOB NOT NULL,
    headers BLOB NOT NULL CHECK (length(headers) % 32 = 0),
    PRIMARY KEY (app, signed_at_ms, id)
) STRICT;


-- Facts and purchases
-- -------------------

-- The facts that the documents attest. Derived: a rebuild computes the facts again.
CREATE TABLE facts (
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT NOT NULL,
    attested_at_ms INTEGER NOT NULL,
    subject TEXT NOT NULL,
    document BLOB NOT NULL,
    document_signed_at_ms INTEGER NOT NULL,
    statement BLOB NOT NULL,
    PRIMARY KEY (app, environment, purchase, attested_at_ms, subject, document),
    FOREIGN KEY (app, document_signed_at_ms, document) REFERENCES documents (app, signed_at_ms, id)
) STRICT, WITHOUT ROWID;

-- The facts that a rebuild derives, until they are compared with `facts` or replace them. The
-- table has the columns of `facts`, in the same order. It always exists, and is empty between
-- rebuilds, because creating a table in SQLite invalidates every prepared statement.
CREATE TABLE facts_rebuilt (
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT NOT NULL,
    attested_at_ms INTEGER NOT NULL,
    subject TEXT NOT NULL,
    document BLOB NOT NULL,
    document_signed_at_ms INTEGER NOT NULL,
    statement BLOB NOT NULL,
    PRIMARY KEY (app, environment, purchase, attested_at_ms, subject, document),
    FOREIGN KEY (app, document_signed_at_ms, document) REFERENCES documents (app, signed_at_ms, id)
) STRICT, WITHOUT ROWID;

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
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT NOT NULL,
    account_token TEXT,
    timeline BLOB NOT NULL,
    documents_full_at_ms INTEGER,
    due_at_ms INTEGER,
    known_at_ms INTEGER NOT NULL,
    asked_at_ms INTEGER,
    failed_at_ms INTEGER,
    failures INTEGER NOT NULL,
    revision TEXT,
    lease_until_ms INTEGER NOT NULL,
    lease_holder TEXT,
    reported_state BLOB,
    next_change_at_ms INTEGER,
    PRIMARY KEY (app, environment, purchase)
) STRICT;
CREATE INDEX purchases_by_account_token ON purchases (app, account_token, environment)
    WHERE account_token IS NOT NULL;
CREATE INDEX purchases_by_due ON purchases (app, environment, due_at_ms)
    WHERE due_at_ms IS NOT NULL;
CREATE INDEX purchases_by_next_change ON purchases (app, next_change_at_ms)
    WHERE next_change_at_ms IS NOT NULL;

-- Where in the app a transaction was bought, as reported by the app that posted the transaction.
-- Primary data: no document contains this.
CREATE TABLE purchase_origins (
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT NOT NULL,
    transaction_id TEXT NOT NULL,
    placement TEXT,
    sdk TEXT,
    storefront TEXT,
    posted_at_ms INTEGER NOT NULL,
    PRIMARY KEY (app, environment, purchase, transaction_id)
) STRICT, WITHOUT ROWID;


-- Customers
-- ---------

-- A row without a row of `customer_ids` stands for an erased customer.
CREATE TABLE customers (
    app TEXT NOT NULL,
    customer TEXT NOT NULL CHECK (length(customer) > 0),
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (app, customer)
) STRICT, WITHOUT ROWID;

-- The ids of customers. `is_account_token` is 1 if the server made the id, so that the app sets
-- it as the account token of purchases.
CREATE TABLE customer_ids (
    app TEXT NOT NULL,
    id TEXT NOT NULL CHECK (length(id) > 0),
    customer TEXT NOT NULL,
    since_ms INTEGER NOT NULL,
    is_account_token INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (app, id),
    FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
) STRICT, WITHOUT ROWID;
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
    app TEXT NOT NULL,
    customer TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT,
    updated_at_ms INTEGER NOT NULL,
    author TEXT NOT NULL CHECK (author IN ('app', 'server')),
    mail_address TEXT,
    PRIMARY KEY (app, customer, name),
    FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
) STRICT, WITHOUT ROWID;
CREATE INDEX customer_attributes_by_mail_address
    ON customer_attributes (app, mail_address, customer) WHERE mail_address IS NOT NULL;

-- Ids that were separated from a customer. Primary data: an erasure uses these rows to find the
-- events of all customers who had an id of the erased person.
CREATE TABLE removed_ids (
    app TEXT NOT NULL,
    id TEXT NOT NULL,
    customer TEXT NOT NULL,
    removed_at_ms INTEGER NOT NULL,
    PRIMARY KEY (app, id, customer)
) STRICT, WITHOUT ROWID;

-- Hashes of the ids of erased customers, under a key of the app that is in `secrets`. Documents
-- contain account tokens of erased customers for ever, and these tokens must no longer identify
-- anybody.
CREATE TABLE erasures (
    app TEXT NOT NULL,
    id_hash BLOB NOT NULL CHECK (length(id_hash) = 32),
    erased_at_ms INTEGER NOT NULL,
    PRIMARY KEY (app, id_hash)
) STRICT, WITHOUT ROWID;


-- Ownership
-- ---------

-- The owners of purchases. A purchase has at most one owner. `document_signed_at_ms` is the
-- signing time of the latest document about the purchase that a device of the owner has
-- presented; null if this time does not matter. `is_confirmed` is 1 if that document was signed
-- after the purchase became the owner's.
CREATE TABLE links (
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT NOT NULL,
    customer TEXT NOT NULL,
    evidence TEXT NOT NULL CHECK (evidence IN ('device', 'token', 'support')),
    since_ms INTEGER NOT NULL,
    document_signed_at_ms INTEGER,
    is_confirmed INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (app, purchase, environment),
    FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_by_customer ON links (app, customer, environment);

-- Customers who share a purchase with its owner. The last two columns have the same meaning as in
-- `links`.
CREATE TABLE shares (
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT NOT NULL,
    customer TEXT NOT NULL,
    since_ms INTEGER NOT NULL,
    document_signed_at_ms INTEGER,
    is_confirmed INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (app, purchase, environment, customer),
    FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
) STRICT, WITHOUT ROWID;
CREATE INDEX shares_by_customer ON shares (app, customer, environment);

-- Purchases that other customers may not claim from the owner.
CREATE TABLE blocks (
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT NOT NULL,
    reason TEXT NOT NULL,
    since_ms INTEGER NOT NULL,
    PRIMARY KEY (app, purchase, environment)
) STRICT, WITHOUT ROWID;

-- Purchases that moved from one customer to another, or became shared. `transfer` is a number
-- that consists of a time and some bits of a digest.
CREATE TABLE transfers (
    app TEXT NOT NULL,
    transfer INTEGER NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('moved', 'shared')),
    former TEXT,
    customer TEXT NOT NULL,
    evidence TEXT NOT NULL CHECK (evidence IN ('device', 'token', 'support')),
    reason TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    undone_at_ms INTEGER,
    PRIMARY KEY (app, transfer)
) STRICT;
CREATE INDEX transfers_by_customer ON transfers (app, customer);
CREATE INDEX transfers_by_former ON transfers (app, former) WHERE former IS NOT NULL;


-- Grants
-- ------

-- Entitlements that were granted manually. `next_change_at_ms` is when the grant expires; null if
-- it never expires, or if its end has been reported.
CREATE TABLE grants (
    app TEXT NOT NULL,
    grant_id TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    customer TEXT NOT NULL,
    entitlement TEXT NOT NULL,
    from_ms INTEGER NOT NULL,
    until_ms INTEGER,
    reason TEXT NOT NULL,
    withdrawn_at_ms INTEGER,
    next_change_at_ms INTEGER,
    PRIMARY KEY (app, grant_id),
    FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
) STRICT;
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
    app TEXT NOT NULL,
    debit TEXT NOT NULL,
    is_credit INTEGER NOT NULL DEFAULT 0,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    customer TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    reason TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    balance INTEGER NOT NULL,
    PRIMARY KEY (app, debit),
    FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
) STRICT;
-- Contains all columns that are read for a sum.
CREATE INDEX debits_by_customer
    ON debits (app, customer, environment, currency, at_ms, amount, is_credit);

-- The last reported balance of each wallet.
CREATE TABLE wallets (
    app TEXT NOT NULL,
    customer TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    currency TEXT NOT NULL,
    balance INTEGER NOT NULL,
    PRIMARY KEY (app, customer, environment, currency),
    FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
) STRICT, WITHOUT ROWID;


-- Seats
-- -----

-- Claims on the seats of groups whose members the app invites. A claim without an end is open.
-- Which of the open claims have a seat is computed. The columns from `apple_state` to
-- `lease_holder` contain what was reported to the App Store about the claim.
--
-- The rows have numbers (no WITHOUT ROWID). Otherwise SQLite would read all claims of the app,
-- because it does not know how few claims a purchase has.
CREATE TABLE seat_claims (
    app TEXT NOT NULL,
    claim TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT NOT NULL,
    customer TEXT NOT NULL,
    claimed_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER,
    cause TEXT,
    apple_state TEXT NOT NULL DEFAULT 'due',
    apple_claim TEXT,
    apple_asked_at_ms INTEGER,
    apple_since_ms INTEGER NOT NULL DEFAULT 0,
    due_at_ms INTEGER DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    trouble TEXT,
    lease_until_ms INTEGER NOT NULL DEFAULT 0,
    lease_holder TEXT,
    PRIMARY KEY (app, claim)
) STRICT;
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
    app TEXT NOT NULL,
    invitation TEXT NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT NOT NULL,
    customer TEXT,
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    used_at_ms INTEGER,
    claim TEXT,
    withdrawn_at_ms INTEGER,
    PRIMARY KEY (app, invitation)
) STRICT;
CREATE UNIQUE INDEX seat_invitations_by_digest ON seat_invitations (app, digest);
CREATE INDEX seat_invitations_by_purchase
    ON seat_invitations (app, environment, purchase, created_at_ms);
CREATE INDEX seat_invitations_by_customer ON seat_invitations (app, customer)
    WHERE customer IS NOT NULL;

-- The App Store's counts of the seats of groups. If the rows are lost, the App Store is asked
-- again when somebody joins.
CREATE TABLE seat_groups (
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT NOT NULL,
    seats INTEGER NOT NULL DEFAULT 0,
    available INTEGER NOT NULL DEFAULT 0,
    foreign_claims INTEGER NOT NULL DEFAULT 0,
    asked_at_ms INTEGER,
    since_ms INTEGER NOT NULL,
    due_at_ms INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    trouble TEXT,
    lease_until_ms INTEGER NOT NULL DEFAULT 0,
    lease_holder TEXT,
    PRIMARY KEY (app, environment, purchase)
) STRICT, WITHOUT ROWID;
CREATE INDEX seat_groups_by_due ON seat_groups (app, environment, due_at_ms, since_ms)
    WHERE due_at_ms IS NOT NULL;

-- The claims that the App Store has ended, according to its notifications.
CREATE TABLE seat_unclaims (
    app TEXT NOT NULL,
    document BLOB NOT NULL CHECK (length(document) = 32),
    apple_claim TEXT NOT NULL,
    environment TEXT CHECK (environment IN ('production', 'sandbox')),
    is_bound INTEGER NOT NULL,
    PRIMARY KEY (app, document, apple_claim)
) STRICT, WITHOUT ROWID;
CREATE INDEX seat_unclaims_by_claim ON seat_unclaims (app, apple_claim);


-- Terms
-- -----

-- A reminder recorded here is never emitted again. `subject` is the customer or, while a purchase
-- has no owner, its account token.
CREATE TABLE reminders (
    app TEXT NOT NULL,
    subject TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    chain TEXT NOT NULL,
    until_ms INTEGER NOT NULL,
    days_before INTEGER NOT NULL,
    emitted_at_ms INTEGER NOT NULL,
    PRIMARY KEY (app, subject, environment, chain, until_ms, days_before)
) STRICT, WITHOUT ROWID;

-- When to check whether a reminder for a customer is due; 0 if something has changed.
CREATE TABLE term_watches (
    app TEXT NOT NULL,
    subject TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    due_at_ms INTEGER NOT NULL,
    PRIMARY KEY (app, subject, environment)
) STRICT, WITHOUT ROWID;
CREATE INDEX term_watches_by_due ON term_watches (app, due_at_ms);

-- The rules by which the rows of `term_watches` were written. When the rules change, every
-- customer is examined again. `swept_to` is the progress of this examination; null when it is
-- finished.
CREATE TABLE reminder_rules (
    app TEXT NOT NULL,
    rules TEXT NOT NULL,
    swept_to TEXT,
    PRIMARY KEY (app)
) STRICT, WITHOUT ROWID;


-- Consumption requests
-- --------------------

-- Apple's requests for consumption information about purchases with a refund request, and our
-- responses. `due_at_ms` is null when the request is closed; `state` says how it was closed.
CREATE TABLE consumption_questions (
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT NOT NULL,
    transaction_id TEXT NOT NULL,
    document BLOB NOT NULL CHECK (length(document) = 32),
    product TEXT NOT NULL,
    reason TEXT,
    asked_at_ms INTEGER NOT NULL,
    due_at_ms INTEGER,
    attempts INTEGER NOT NULL,
    ended_at_ms INTEGER,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'answered', 'withheld', 'given_up')),
    trouble TEXT,
    delivery TEXT,
    used INTEGER,
    had_sample INTEGER,
    preference TEXT,
    lease_until_ms INTEGER NOT NULL,
    lease_holder TEXT,
    PRIMARY KEY (app, environment, purchase, document)
) STRICT;
CREATE INDEX consumption_questions_by_due ON consumption_questions (app, due_at_ms)
    WHERE due_at_ms IS NOT NULL;

-- Whether customers allow that Apple receives information about them.
CREATE TABLE consumption_consents (
    app TEXT NOT NULL,
    customer TEXT NOT NULL,
    is_given INTEGER NOT NULL,
    had_sample INTEGER,
    at_ms INTEGER NOT NULL,
    PRIMARY KEY (app, customer),
    FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
) STRICT, WITHOUT ROWID;

-- The reports of the app's server about the use of transactions.
CREATE TABLE consumption_uses (
    app TEXT NOT NULL,
    customer TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    transaction_id TEXT NOT NULL,
    delivery TEXT NOT NULL,
    used INTEGER,
    PRIMARY KEY (app, customer, environment, transaction_id),
    FOREIGN KEY (app, customer) REFERENCES customers (app, customer)
) STRICT, WITHOUT ROWID;


-- Events
-- ------

-- The number of events in the log of each app. A transaction that numbers events locks this row.
CREATE TABLE logs (
    app TEXT NOT NULL,
    last_sequence INTEGER NOT NULL,
    PRIMARY KEY (app)
) STRICT;

-- The epochs of the logs, from the second one on. Each restore from a backup begins an epoch.
-- Events from before the first restore belong to the first epoch, which has no row and no name.
-- The row of the app '' stands for every app that had no log when the epoch began, including apps
-- that the restored backup does not contain.
CREATE TABLE log_epochs (
    app TEXT NOT NULL,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    after_sequence INTEGER NOT NULL,
    began_at_ms INTEGER NOT NULL,
    PRIMARY KEY (app, number)
) STRICT, WITHOUT ROWID;

-- The log. Primary data: events are only added. `details` is JSON with the names and forms of the
-- HTTP API.
CREATE TABLE events (
    app TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    customer TEXT,
    customer_sequence INTEGER,
    environment TEXT CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT,
    kind TEXT NOT NULL,
    known_at_ms INTEGER NOT NULL,
    document BLOB,
    details TEXT NOT NULL,
    PRIMARY KEY (app, sequence)
) STRICT;
CREATE INDEX events_of_customer ON events (app, customer, sequence) WHERE customer IS NOT NULL;
-- Finds the events of a purchase from the time when it had no owner. A customer may be known only
-- by the account token in these events.
CREATE INDEX events_of_nobody ON events (app, environment, purchase, sequence)
    WHERE customer IS NULL;

-- This view is for people with SQL, not for the program. It has the same columns on both engines,
-- so that a query works on both. `details` is text in the table; this view makes it JSON on
-- PostgreSQL.
CREATE VIEW event_log AS SELECT
    app, sequence, kind AS type, strftime('%Y-%m-%dT%H:%M:%fZ', known_at_ms / 1000.0,
        'unixepoch') AS known_at,
    customer AS customer_id, customer_sequence, environment,
    purchase AS original_transaction_id, nullif(lower(hex(document)), '') AS document_id,
    details
FROM events;


-- Webhooks
-- --------

-- A webhook reads the event log from `cursor` on. So a committed event is delivered without any
-- other row. The settings of a webhook of the configuration are in the configuration file, not in
-- this table.
CREATE TABLE webhooks (
    app TEXT NOT NULL,
    webhook TEXT NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('configuration', 'api')),
    url TEXT,
    types TEXT,
    products TEXT,
    environments TEXT,
    format TEXT,
    authorization_value TEXT,
    secret TEXT,
    former_secret TEXT,
    former_until_ms INTEGER,
    created_at_ms INTEGER NOT NULL,
    cursor INTEGER NOT NULL,
    paused_at_ms INTEGER,
    pause_reason TEXT,
    held_until_ms INTEGER,
    failing_since_ms INTEGER,
    is_reported INTEGER NOT NULL,
    deleted_at_ms INTEGER,
    lease_until_ms INTEGER NOT NULL,
    lease_holder TEXT,
    PRIMARY KEY (app, webhook)
) STRICT;

-- Deliveries with the same `stream` are made in order. A stream belongs to a customer, or to a
-- purchase without an owner. Only one delivery of a stream is due at a time; the others wait with
-- `due_at_ms` null and `state` `waiting`. `body` is null until it is rendered, and again after a
-- person whom it names was erased.
CREATE TABLE webhook_deliveries (
    app TEXT NOT NULL,
    webhook TEXT NOT NULL,
    message TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    kind TEXT NOT NULL,
    stream TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
    created_at_ms INTEGER NOT NULL,
    due_at_ms INTEGER,
    tries INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    attempted_at_ms INTEGER,
    status INTEGER,
    trouble TEXT,
    ended_at_ms INTEGER,
    body BLOB,
    lease_until_ms INTEGER NOT NULL,
    lease_holder TEXT,
    PRIMARY KEY (app, webhook, message)
) STRICT;
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
    app TEXT NOT NULL,
    webhook TEXT NOT NULL,
    message TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    milliseconds INTEGER NOT NULL,
    status INTEGER,
    trouble TEXT,
    answer TEXT,
    PRIMARY KEY (app, webhook, message, attempt)
) STRICT, WITHOUT ROWID;


-- Forwarded notifications and imports
-- -----------------------------------

-- Notifications to be forwarded to other addresses. `due_at_ms` is null when the forward has
-- ended; `accepted_at_ms` is null unless the forward succeeded. Primary data: no document
-- contains where it was forwarded.
CREATE TABLE forwards (
    app TEXT NOT NULL,
    document BLOB NOT NULL CHECK (length(document) = 32),
    target TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    created_at_ms INTEGER NOT NULL,
    due_at_ms INTEGER,
    attempts INTEGER NOT NULL,
    attempted_at_ms INTEGER,
    status INTEGER,
    trouble TEXT,
    accepted_at_ms INTEGER,
    lease_until_ms INTEGER NOT NULL,
    lease_holder TEXT,
    PRIMARY KEY (app, document, target)
) STRICT, WITHOUT ROWID;
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
    app TEXT NOT NULL,
    document BLOB NOT NULL CHECK (length(document) = 32),
    content_type TEXT,
    body BLOB NOT NULL,
    PRIMARY KEY (app, document)
) STRICT;

-- The progress of imports: how far each file was read.
CREATE TABLE imports (
    app TEXT NOT NULL,
    kind TEXT NOT NULL,
    file BLOB NOT NULL CHECK (length(file) = 32),
    bytes_read INTEGER NOT NULL,
    lines_read INTEGER NOT NULL,
    used INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    report_bytes INTEGER NOT NULL,
    changed_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER,
    PRIMARY KEY (app, kind, file)
) STRICT;

-- The signed summaries of rehearsals of the move from RevenueCat. They contain no ids of customers.
CREATE TABLE rehearsals (
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    ended_at_ms INTEGER NOT NULL,
    signed TEXT NOT NULL,
    PRIMARY KEY (app, environment, ended_at_ms)
) STRICT, WITHOUT ROWID;

-- The first differences of the last rehearsal, in the order of its report. An erasure deletes all
-- of them.
CREATE TABLE rehearsal_differences (
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    number INTEGER NOT NULL,
    cause TEXT NOT NULL,
    customer TEXT NOT NULL,
    entitlement TEXT NOT NULL,
    aspect TEXT NOT NULL,
    effect TEXT NOT NULL,
    ours TEXT NOT NULL,
    theirs TEXT NOT NULL,
    evidence_here TEXT NOT NULL,
    evidence_there TEXT NOT NULL,
    PRIMARY KEY (app, environment, number)
) STRICT, WITHOUT ROWID;


-- The App Store
-- -------------

-- The state of the connection to the App Store. `walked_to_ms` is how far the App Store's
-- notification history was walked. The walk has a separate lease, because undelivered
-- notifications are backfilled separately, and more often.
CREATE TABLE app_stores (
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    answered_at_ms INTEGER,
    failures INTEGER NOT NULL,
    paused_until_ms INTEGER NOT NULL,
    busy_until_ms INTEGER NOT NULL,
    caught_up_to_ms INTEGER,
    lease_until_ms INTEGER NOT NULL,
    lease_holder TEXT,
    walked_to_ms INTEGER,
    walk_lease_until_ms INTEGER,
    walk_lease_holder TEXT,
    PRIMARY KEY (app, environment)
) STRICT, WITHOUT ROWID;


-- Money
-- -----

-- One row for each transaction; `number` counts the transactions of the purchase.
CREATE TABLE money_transactions (
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT NOT NULL,
    number INTEGER NOT NULL,
    transaction_id TEXT NOT NULL,
    line TEXT,
    product TEXT NOT NULL,
    subscription_group TEXT,
    storefront TEXT,
    offer_kind TEXT,
    offer TEXT,
    price INTEGER,
    currency TEXT,
    kind TEXT NOT NULL,
    terms TEXT NOT NULL,
    ownership TEXT NOT NULL,
    quantity INTEGER NOT NULL,
    seats INTEGER,
    price_tiers TEXT,
    is_renewal INTEGER NOT NULL,
    from_ms INTEGER NOT NULL,
    until_ms INTEGER,
    ended_at_ms INTEGER,
    gross INTEGER NOT NULL,
    tax INTEGER NOT NULL,
    commission_rate INTEGER NOT NULL,
    commission INTEGER NOT NULL,
    refunded_at_ms INTEGER,
    refunded INTEGER NOT NULL,
    refunded_tax INTEGER NOT NULL,
    refunded_commission INTEGER NOT NULL,
    revoked_seats INTEGER,
    PRIMARY KEY (app, environment, purchase, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX money_transactions_by_time ON money_transactions (app, environment, from_ms, purchase);
-- Finds which products were bought, and the latest purchases of a product.
CREATE INDEX money_transactions_by_product
    ON money_transactions (app, environment, product, from_ms);

-- The changes of reports' numbers by each purchase, and the time for which each change was known.
-- `day` is the day of `at_ms` in the time zone of the configuration. The columns from `mrr_tax`
-- to `mrr_of_four_weeks` contain parts and variants of MRR; `contracted` and `promised` are about
-- what customers have agreed to pay.
CREATE TABLE money_movements (
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    transaction_id TEXT NOT NULL,
    known_at_ms INTEGER NOT NULL,
    replaced_at_ms INTEGER,
    day INTEGER NOT NULL,
    product TEXT NOT NULL,
    subscription_group TEXT,
    storefront TEXT,
    offer_kind TEXT,
    offer TEXT,
    price INTEGER,
    currency TEXT,
    gross INTEGER NOT NULL,
    refunded INTEGER NOT NULL,
    tax INTEGER NOT NULL,
    commission INTEGER NOT NULL,
    mrr INTEGER NOT NULL,
    payments INTEGER NOT NULL,
    active INTEGER NOT NULL,
    trials INTEGER NOT NULL,
    grace INTEGER NOT NULL,
    retry INTEGER NOT NULL,
    not_renewing INTEGER NOT NULL,
    mrr_tax INTEGER NOT NULL DEFAULT 0,
    mrr_commission INTEGER NOT NULL DEFAULT 0,
    mrr_of_four_weeks INTEGER NOT NULL DEFAULT 0,
    contracted INTEGER NOT NULL DEFAULT 0,
    promised INTEGER NOT NULL DEFAULT 0,
    seats INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (app, environment, purchase, at_ms, kind, transaction_id, known_at_ms)
) STRICT, WITHOUT ROWID;
-- Finds the movements of a kind, ordered by time, so that the first of millions can be listed.
-- SQLite itself appends the rest of the key to the index. PostgreSQL sorts the few movements of
-- one moment.
CREATE INDEX money_movements_by_kind ON money_movements (app, environment, kind, day, at_ms);

-- One row for each subscription, with its state after the last change. At `changes_at_ms` time
-- alone changes this state.
CREATE TABLE money_subscriptions (
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT NOT NULL,
    transaction_id TEXT NOT NULL,
    product TEXT NOT NULL,
    subscription_group TEXT,
    storefront TEXT,
    offer_kind TEXT,
    offer TEXT,
    price INTEGER,
    currency TEXT,
    ownership TEXT NOT NULL,
    state TEXT,
    until_ms INTEGER,
    changes_at_ms INTEGER,
    will_renew INTEGER,
    renews_to TEXT,
    grace_until_ms INTEGER,
    period_from_ms INTEGER NOT NULL,
    period_until_ms INTEGER,
    first_paid_at_ms INTEGER,
    ended_because TEXT,
    seats INTEGER,
    seats_at_renewal INTEGER,
    PRIMARY KEY (app, environment, purchase)
) STRICT, WITHOUT ROWID;
CREATE INDEX money_subscriptions_by_state
    ON money_subscriptions (app, environment, state, purchase);

-- The rules by which an app's rows about money are derived, and the last purchase whose rows were
-- derived; null when the rows of all purchases are derived.
CREATE TABLE money_fills (
    app TEXT NOT NULL PRIMARY KEY,
    rules TEXT NOT NULL,
    environment TEXT,
    purchase TEXT,
    filled INTEGER NOT NULL
) STRICT;

-- Sums of the movements that are known now, by day and by month, separately for each division, so
-- that no report reads millions of rows. `first_day` is in the time zone of the configuration.
-- `currency` and `part` are empty if documents do not contain them. `movements` is the number of
-- movements.
CREATE TABLE money_sums (
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    division TEXT NOT NULL,
    span TEXT NOT NULL CHECK (span IN ('day', 'month')),
    first_day INTEGER NOT NULL,
    kind TEXT NOT NULL,
    currency TEXT NOT NULL,
    part TEXT NOT NULL,
    movements INTEGER NOT NULL,
    gross INTEGER NOT NULL,
    refunded INTEGER NOT NULL,
    tax INTEGER NOT NULL,
    commission INTEGER NOT NULL,
    mrr INTEGER NOT NULL,
    payments INTEGER NOT NULL,
    active INTEGER NOT NULL,
    trials INTEGER NOT NULL,
    grace INTEGER NOT NULL,
    retry INTEGER NOT NULL,
    not_renewing INTEGER NOT NULL,
    mrr_tax INTEGER NOT NULL,
    mrr_commission INTEGER NOT NULL,
    mrr_of_four_weeks INTEGER NOT NULL,
    contracted INTEGER NOT NULL,
    promised INTEGER NOT NULL,
    seats INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (app, environment, division, span, first_day, kind, currency, part)
) STRICT, WITHOUT ROWID;

-- The numbers of cohorts that are known now: of all subscriptions that began on a day, how many
-- were paid a second time, and so on. `place` is the number's index in its cohort. Like
-- `money_sums`, the table has sums of changes, by the day and by the month of the changes, which
-- begins on `first_day`.
CREATE TABLE money_cohorts (
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    cohort TEXT NOT NULL,
    span TEXT NOT NULL CHECK (span IN ('day', 'month')),
    first_day INTEGER NOT NULL,
    began_day INTEGER NOT NULL,
    currency TEXT NOT NULL,
    place INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (app, environment, cohort, span, first_day, began_day, currency, place)
) STRICT, WITHOUT ROWID;

-- The changes of purchases' movements that are not added to `money_sums` and `money_cohorts` yet.
CREATE TABLE money_changes (
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    purchase TEXT NOT NULL,
    known_at_ms INTEGER NOT NULL,
    changes BLOB NOT NULL,
    PRIMARY KEY (app, environment, purchase, known_at_ms)
) STRICT, WITHOUT ROWID;

-- The last purchase of an app whose movements are in `money_sums` and `money_cohorts`; null when
-- all movements are. `layout` is the number of the layout of these tables.
CREATE TABLE money_sum_fills (
    app TEXT NOT NULL PRIMARY KEY,
    layout INTEGER NOT NULL,
    environment TEXT,
    purchase TEXT,
    filled INTEGER NOT NULL
) STRICT;

-- The text of the App Store's report files, byte for byte. Primary data: Apple keeps these files
-- for a year, and never makes them again.
CREATE TABLE apple_reports (
    app TEXT NOT NULL,
    kind TEXT NOT NULL,
    first_day INTEGER NOT NULL,
    last_day INTEGER NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    name TEXT NOT NULL,
    rows_count INTEGER NOT NULL,
    imported_at_ms INTEGER NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (app, kind, first_day, last_day, digest)
) STRICT;

-- This view and the next three are for people with SQL. They have the names and forms of the HTTP
-- API.
CREATE VIEW subscriptions AS SELECT
    shown.app, links.customer AS customer_id,
    shown.environment, shown.purchase AS original_transaction_id, shown.transaction_id,
    shown.product AS product_id, shown.subscription_group, shown.state,
    strftime('%Y-%m-%dT%H:%M:%fZ', shown.until_ms / 1000.0, 'unixepoch') AS expires_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', shown.changes_at_ms / 1000.0, 'unixepoch') AS changes_at,
    shown.will_renew, shown.renews_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', shown.grace_until_ms / 1000.0, 'unixepoch') AS grace_until,
    shown.price AS price_milliunits, shown.currency, shown.storefront, shown.offer_kind,
    shown.offer AS offer_id, shown.ownership,
    strftime('%Y-%m-%dT%H:%M:%fZ', shown.period_from_ms / 1000.0, 'unixepoch') AS period_began_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', shown.period_until_ms / 1000.0, 'unixepoch') AS period_ends_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', shown.first_paid_at_ms / 1000.0, 'unixepoch') AS first_paid_at,
        shown.ended_because,
    shown.seats, shown.seats_at_renewal
FROM money_subscriptions AS shown LEFT JOIN links ON links.app = shown.app
    AND links.environment = shown.environment AND links.purchase = shown.purchase;

CREATE VIEW transactions AS SELECT
    shown.app, links.customer AS customer_id,
    shown.environment, shown.purchase AS original_transaction_id, shown.transaction_id,
    shown.line AS order_line_id, shown.product AS product_id, shown.subscription_group,
    shown.kind, shown.terms, shown.ownership, shown.quantity, shown.is_renewal,
    shown.storefront, shown.offer_kind, shown.offer AS offer_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', shown.from_ms / 1000.0, 'unixepoch') AS purchased_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', shown.until_ms / 1000.0, 'unixepoch') AS expires_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', shown.ended_at_ms / 1000.0, 'unixepoch') AS ended_at,
    shown.currency, shown.gross AS price_milliunits, shown.tax AS tax_milliunits,
    shown.commission_rate AS commission_thousandths_of_percent,
    shown.commission AS commission_milliunits,
    shown.gross - shown.tax - shown.commission AS proceeds_milliunits,
    shown.refunded AS refunded_milliunits,
    strftime('%Y-%m-%dT%H:%M:%fZ', shown.refunded_at_ms / 1000.0, 'unixepoch') AS refunded_at,
    shown.seats, shown.price_tiers, shown.revoked_seats
FROM money_transactions AS shown LEFT JOIN links ON links.app = shown.app
    AND links.environment = shown.environment AND links.purchase = shown.purchase;

CREATE VIEW customer_summaries AS SELECT
    app, environment, customer_id, currency, count(*) AS transactions,
    min(purchased_at) AS first_purchased_at, max(purchased_at) AS last_purchased_at,
    CAST(sum(price_milliunits) AS INTEGER) AS price_milliunits,
    CAST(sum(refunded_milliunits) AS INTEGER) AS refunded_milliunits
FROM transactions WHERE customer_id IS NOT NULL
GROUP BY app, environment, customer_id, currency;

CREATE VIEW movements AS SELECT
    app, environment, purchase AS original_transaction_id, transaction_id, kind,
    strftime('%Y-%m-%dT%H:%M:%fZ', at_ms / 1000.0, 'unixepoch') AS occurred_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', known_at_ms / 1000.0, 'unixepoch') AS known_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', replaced_at_ms / 1000.0, 'unixepoch') AS replaced_at,
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
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    customer TEXT NOT NULL,
    entitlement TEXT NOT NULL,
    state TEXT NOT NULL,
    is_active INTEGER NOT NULL,
    until_ms INTEGER,
    changes_at_ms INTEGER,
    will_renew INTEGER,
    product TEXT,
    purchase TEXT,
    grant_id TEXT,
    PRIMARY KEY (app, environment, customer, entitlement)
) STRICT, WITHOUT ROWID;
CREATE INDEX shown_entitlements_by_change ON shown_entitlements (app, changes_at_ms)
    WHERE changes_at_ms IS NOT NULL;

-- One row for each entry of a wallet; `number` counts the entries from 0.
CREATE TABLE shown_wallet_entries (
    app TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
    customer TEXT NOT NULL,
    currency TEXT NOT NULL,
    number INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    transaction_id TEXT,
    product TEXT,
    debit TEXT,
    credit TEXT,
    reason TEXT,
    amount INTEGER NOT NULL,
    balance INTEGER NOT NULL,
    PRIMARY KEY (app, environment, customer, currency, number)
) STRICT, WITHOUT ROWID;

-- The progress of writing an app's rows about customers: the settings by which they are written;
-- the last customer whose rows were written, or null when the rows of all customers are; and the
-- last event of the log that was used.
CREATE TABLE showings (
    app TEXT NOT NULL PRIMARY KEY,
    rules TEXT NOT NULL,
    customer TEXT,
    shown INTEGER NOT NULL,
    sequence INTEGER NOT NULL
) STRICT;

CREATE VIEW entitlements AS SELECT
    app, environment, customer AS customer_id, entitlement, state, is_active,
    strftime('%Y-%m-%dT%H:%M:%fZ', until_ms / 1000.0, 'unixepoch') AS expires_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', changes_at_ms / 1000.0, 'unixepoch') AS changes_at,
    will_renew, product AS product_id, purchase AS original_transaction_id, grant_id
FROM shown_entitlements;

CREATE VIEW wallet_entries AS SELECT
    app, environment, customer AS customer_id, currency, number,
    strftime('%Y-%m-%dT%H:%M:%fZ', at_ms / 1000.0, 'unixepoch') AS occurred_at, kind,
        transaction_id,
    product AS product_id, debit AS debit_id, reason, amount, balance,
    credit AS credit_id
FROM shown_wallet_entries;

-- What apps say about customers, for people with SQL. Deleted attributes are left out.
CREATE VIEW attributes AS SELECT
    app, customer AS customer_id, name, value,
    strftime('%Y-%m-%dT%H:%M:%fZ', updated_at_ms / 1000.0, 'unixepoch') AS updated_at, author
FROM customer_attributes WHERE value IS NOT NULL;


-- Keys
-- ----

-- API keys, as hashes. `scopes` says what a secret key may be used for.
CREATE TABLE keys (
    app TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    kind TEXT NOT NULL CHECK (kind IN ('app', 'secret')),
    name TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    scopes TEXT NOT NULL,
    until_ms INTEGER,
    last_used_at_ms INTEGER,
    PRIMARY KEY (app, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_by_hash ON keys (hash);

-- The keys that sign entitlement tokens, stored unencrypted: whoever can read the database can
-- also read everything that the tokens contain. `is_prepared` marks the key that is published
-- before it signs.
CREATE TABLE token_keys (
    app TEXT NOT NULL,
    key_id TEXT NOT NULL,
    private_key BLOB NOT NULL CHECK (length(private_key) = 32),
    created_at_ms INTEGER NOT NULL,
    retired_at_ms INTEGER,
    is_prepared INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (app, key_id)
) STRICT, WITHOUT ROWID;

-- Secret keys shared by the servers of one database.
CREATE TABLE secrets (
    app TEXT NOT NULL,
    name TEXT NOT NULL,
    secret BLOB NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (app, name)
) STRICT, WITHOUT ROWID;


-- Accounts of the dashboard
-- -------------------------

-- The people who use the dashboard. They belong to the server, not to an app. But every key
-- begins with the app, so `app` is empty in the rows of this table and of the following tables,
-- except for rows of `operator_roles` and `audit_entries` that are about one app.
--
-- `password` holds the salt, the cost and the key as text.
CREATE TABLE operators (
    app TEXT NOT NULL CHECK (app = ''),
    operator TEXT NOT NULL,
    password TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    signed_in_at_ms INTEGER,
    blocked_at_ms INTEGER,
    PRIMARY KEY (app, operator)
) STRICT, WITHOUT ROWID;

-- The row of the app '' is about every app.
CREATE TABLE operator_roles (
    app TEXT NOT NULL,
    operator TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('viewer', 'support', 'admin')),
    PRIMARY KEY (app, operator)
) STRICT, WITHOUT ROWID;
CREATE INDEX operator_roles_by_operator ON operator_roles (operator);

-- The tokens of sessions and links are stored as SHA-256 only. Sessions and links that have ended
-- are deleted.
CREATE TABLE operator_sessions (
    app TEXT NOT NULL CHECK (app = ''),
    session BLOB NOT NULL CHECK (length(session) = 32),
    operator TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    used_at_ms INTEGER NOT NULL,
    until_ms INTEGER NOT NULL,
    address TEXT NOT NULL,
    agent TEXT NOT NULL,
    PRIMARY KEY (app, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX operator_sessions_by_operator ON operator_sessions (app, operator);

CREATE TABLE operator_links (
    app TEXT NOT NULL CHECK (app = ''),
    link BLOB NOT NULL CHECK (length(link) = 32),
    kind TEXT NOT NULL CHECK (kind IN ('first', 'invitation', 'reset')),
    operator TEXT,
    roles TEXT NOT NULL,
    author TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (app, link)
) STRICT, WITHOUT ROWID;

-- Failed attempts to sign in: by one name, from one address, or by one name from one address.
-- `subject` contains the name, the address, or both.
CREATE TABLE sign_in_failures (
    app TEXT NOT NULL CHECK (app = ''),
    subject TEXT NOT NULL,
    failures INTEGER NOT NULL,
    last_at_ms INTEGER NOT NULL,
    shut_until_ms INTEGER,
    PRIMARY KEY (app, subject)
) STRICT, WITHOUT ROWID;

-- The networks from which each operator has signed in recently.
CREATE TABLE sign_in_places (
    app TEXT NOT NULL CHECK (app = ''),
    operator TEXT NOT NULL,
    network TEXT NOT NULL,
    used_at_ms INTEGER NOT NULL,
    PRIMARY KEY (app, operator, network)
) STRICT, WITHOUT ROWID;

-- The account of an operator at a provider of OpenID Connect: the issuer's address, and the
-- subject by which the issuer names the person. `full_name` is the name that the provider gave last.
CREATE TABLE operator_identities (
    app TEXT NOT NULL CHECK (app = ''),
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    operator TEXT NOT NULL,
    full_name TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (app, issuer, subject)
) STRICT, WITHOUT ROWID;

-- The sign-ins by a provider that are complete, as SHA-256 of their secret, so that none is used
-- twice. Rows are deleted when the sign-in could no longer be used anyway.
CREATE TABLE used_sign_ins (
    app TEXT NOT NULL CHECK (app = ''),
    sign_in BLOB NOT NULL CHECK (length(sign_in) = 32),
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (app, sign_in)
) STRICT, WITHOUT ROWID;

-- The passkeys of operators. `passkey` is the id that the authenticator chose, and `counter` says how
-- often it had signed when it was last used.
CREATE TABLE operator_passkeys (
    app TEXT NOT NULL CHECK (app = ''),
    passkey BLOB NOT NULL CHECK (length(passkey) BETWEEN 1 AND 1023),
    operator TEXT NOT NULL,
    name TEXT NOT NULL,
    public_key BLOB NOT NULL,
    counter INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    used_at_ms INTEGER,
    PRIMARY KEY (app, passkey)
) STRICT, WITHOUT ROWID;

-- Codes that replace a lost passkey, once each. `code` is a keyed hash of the code.
CREATE TABLE operator_recovery_codes (
    app TEXT NOT NULL CHECK (app = ''),
    operator TEXT NOT NULL,
    code BLOB NOT NULL CHECK (length(code) = 32),
    created_at_ms INTEGER NOT NULL,
    used_at_ms INTEGER,
    PRIMARY KEY (app, operator, code)
) STRICT, WITHOUT ROWID;

-- The recorded actions of operators. Rows are never changed, except that ids of erased customers
-- are replaced.
CREATE TABLE audit_entries (
    app TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    entry TEXT NOT NULL,
    author TEXT NOT NULL,
    act TEXT NOT NULL,
    environment TEXT,
    customer TEXT,
    subject TEXT,
    state_before TEXT,
    state_after TEXT,
    PRIMARY KEY (app, at_ms, entry)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_entries_by_customer ON audit_entries (app, customer) WHERE customer IS NOT NULL;


-- Alerts
-- ------

-- The rows of the page Health whose need for attention was reported, until an alert says that they
-- are well again. `app` is empty for what concerns the server.
CREATE TABLE alerts (
    app TEXT NOT NULL,
    subject TEXT NOT NULL,
    since_ms INTEGER NOT NULL,
    seen_at_ms INTEGER NOT NULL,
    PRIMARY KEY (app, subject)
) STRICT, WITHOUT ROWID;

-- The ways by which alerts are sent. One server at a time leases a channel, and sends its oldest
-- message.
CREATE TABLE alert_channels (
    app TEXT NOT NULL CHECK (app = ''),
    channel TEXT NOT NULL CHECK (channel IN ('mail', 'webhook')),
    due_at_ms INTEGER,
    attempts INTEGER NOT NULL,
    trouble TEXT,
    lease_until_ms INTEGER NOT NULL,
    lease_holder TEXT,
    PRIMARY KEY (app, channel)
) STRICT, WITHOUT ROWID;

-- The alerts that wait to be sent.
CREATE TABLE alert_messages (
    app TEXT NOT NULL CHECK (app = ''),
    channel TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    message TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (app, channel, created_at_ms, message)
) STRICT, WITHOUT ROWID;


-- The database itself
-- -------------------

-- One row, which belongs to no app. It is written to test whether the database accepts writes. It
-- contains no information and is not copied.
CREATE TABLE write_probes (
    app TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    filler BLOB NOT NULL,
    PRIMARY KEY (app)
) STRICT;
