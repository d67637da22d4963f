-- What the baseline of authorization-baseline.ts runs on: the tables that an authorization touched when it was frozen, as
-- migration 0019 had left them, in words that SQLite and PostgreSQL share.
create table "clock" (
  "id" integer not null,
  "offsetMs" bigint not null,
  "epoch" integer default '1' not null,
  "highestMs" bigint default '0' not null,
  constraint "clock_key" primary key ("id"),
  constraint "clock_one_row" check ("id" = 1));
create table "credentials" (
  "id" text not null,
  "kind" text not null,
  "partyId" text not null,
  "agentId" text,
  "name" text,
  "secretHash" text not null,
  "displayPrefix" text not null,
  "scopes" text,
  "seeded" integer not null,
  "revokedAtMs" bigint,
  "expiresAtMs" bigint,
  "createdAtMs" bigint not null,
  "userId" text,
  "tags" text default '{}' not null,
  "createdBy" text,
  "revokedBy" text,
  "lastUsedAtMs" bigint,
  constraint "credentials_key" primary key ("id"));
create unique index "credentials_by_secretHash" on "credentials" ("secretHash");
create index "credentials_by_partyId_kind_id" on "credentials" ("partyId", "kind", "id");
create index "credentials_by_agentId_id" on "credentials" ("agentId", "id");
create table "agents" (
  "id" text not null,
  "partyId" text not null,
  "name" text not null,
  "description" text,
  "handle" text,
  "status" text not null,
  "createdBy" text,
  "createdAtMs" bigint not null,
  "tags" text default '{}' not null,
  "slug" text,
  "limits" text,
  "updatedBy" text,
  "updatedAtMs" bigint,
  "lastActiveAtMs" bigint,
  constraint "agents_key" primary key ("id"));
create index "agents_by_partyId_id" on "agents" ("partyId", "id");
create unique index "agents_by_handle" on "agents" ("handle");
create table "agentCards" (
  "id" text not null,
  "partyId" text not null,
  "walletId" text not null,
  "agentId" text not null,
  "instanceId" text,
  "merchantName" text not null,
  "currency" text not null,
  "version" integer not null,
  "maximumAmountCents" bigint not null,
  "expiresAtMs" bigint not null,
  "usedAtMs" bigint,
  "createdAtMs" bigint not null,
  "updatedAtMs" bigint not null,
  "frozenAtMs" bigint,
  constraint "agentCards_key" primary key ("id"),
  constraint "agentCards_maximum_not_negative" check ("maximumAmountCents" >= 0));
create index "agentCards_by_partyId_id" on "agentCards" ("partyId", "id");
create index "agentCards_by_agentId_id" on "agentCards" ("agentId", "id");
create index "agentCards_by_unused" on "agentCards" ("agentId", "expiresAtMs") where "usedAtMs" is null;
create table "walletPermissions" (
  "walletId" text not null,
  "agentId" text not null,
  "permission" text not null,
  constraint "walletPermissions_key" primary key ("walletId", "agentId", "permission"));
create table "wallets" (
  "id" text not null,
  "partyId" text not null,
  "displayName" text,
  "description" text,
  "status" text not null,
  "walletType" text not null,
  "tags" text not null,
  "currency" text not null,
  "isDefault" integer not null,
  "version" integer not null,
  "availableCents" bigint not null,
  "heldCents" bigint not null,
  "createdAtMs" bigint not null,
  constraint "wallets_key" primary key ("id"),
  constraint "wallets_available_not_negative" check ("availableCents" >= 0),
  constraint "wallets_held_not_negative" check ("heldCents" >= 0));
create index "wallets_by_partyId_id" on "wallets" ("partyId", "id");
create table "rootKeys" (
  "secret" text not null,
  "id" integer not null,
  "createdAtMs" bigint not null,
  constraint "rootKeys_key" primary key ("id"));
create table "activityHeads" (
  "partyId" text not null,
  "hash" text not null,
  "seal" text not null,
  "sequence" bigint not null,
  constraint "activityHeads_key" primary key ("partyId"));
create table "activity" (
  "id" text not null,
  "partyId" text not null,
  "operation" text not null,
  "actorType" text not null,
  "agentId" text,
  "userId" text,
  "keyId" text not null,
  "instanceId" text,
  "customerPartyId" text,
  "resourceIds" text not null,
  "code" text,
  "previousHash" text not null,
  "hash" text not null,
  "status" integer not null,
  "sequence" bigint not null,
  "createdAtMs" bigint not null,
  constraint "activity_key" primary key ("id"));
create index "activity_by_partyId_instanceId_sequence" on "activity" ("partyId", "instanceId", "sequence");
create unique index "activity_by_partyId_sequence" on "activity" ("partyId", "sequence");
create table "idempotencyRecords" (
  "partyId" text not null,
  "key" text not null,
  "fingerprint" text not null,
  "state" text not null,
  "body" text,
  "status" integer,
  "finishedAtMs" bigint,
  constraint "idempotencyRecords_key" primary key ("partyId", "key"));
create index "idempotencyRecords_by_finishedAtMs" on "idempotencyRecords" ("finishedAtMs");
create table "cardTransactions" (
  "id" text not null,
  "partyId" text not null,
  "walletId" text not null,
  "cardId" text not null,
  "kind" text not null,
  "purchaseId" text,
  "merchantName" text not null,
  "currency" text not null,
  "status" text not null,
  "declineCode" text,
  "agentId" text,
  "instanceId" text,
  "version" integer not null,
  "amountCents" bigint not null,
  "heldCents" bigint not null,
  "capturedCents" bigint not null,
  "refundedCents" bigint not null,
  "holdExpiresAtMs" bigint,
  "createdAtMs" bigint not null,
  "updatedAtMs" bigint not null,
  constraint "cardTransactions_key" primary key ("id"),
  constraint "cardTransactions_amount_not_negative" check ("amountCents" >= 0),
  constraint "cardTransactions_captured_within_amount" check ("capturedCents" between 0 and "amountCents"),
  constraint "cardTransactions_held_within_rest" check ("heldCents" between 0 and "amountCents" - "capturedCents"),
  constraint "cardTransactions_refunded_within_captured" check ("refundedCents" between 0 and "capturedCents"));
create index "cardTransactions_by_partyId_id" on "cardTransactions" ("partyId", "id");
create index "cardTransactions_by_cardId_id" on "cardTransactions" ("cardId", "id");
create index "cardTransactions_by_hold" on "cardTransactions" ("holdExpiresAtMs") where "holdExpiresAtMs" is not null;
create index "cardTransactions_by_partyId_createdAtMs" on "cardTransactions" ("partyId", "createdAtMs");
create table "ledgerEntries" (
  "id" text not null,
  "postingId" text not null,
  "account" text not null,
  "walletId" text,
  "reason" text not null,
  "sourceId" text,
  "amountCents" bigint not null,
  "createdAtMs" bigint not null,
  constraint "ledgerEntries_key" primary key ("id"),
  constraint "ledgerEntries_account_has_owner" check (("account" in ('available', 'held')) = ("walletId" is not null)));
create index "ledgerEntries_by_walletId" on "ledgerEntries" ("walletId");
create table "subscriptions" (
  "id" text not null,
  "partyId" text not null,
  "walletId" text not null,
  "paymentIntentId" text not null,
  "mandateId" text,
  "agentId" text,
  "instanceId" text,
  "status" text not null,
  "terms" text not null,
  "billing" text not null,
  "currency" text not null,
  "version" integer not null,
  "nextEventAtMs" bigint,
  "createdAtMs" bigint not null,
  "updatedAtMs" bigint not null,
  constraint "subscriptions_key" primary key ("id"));
create index "subscriptions_by_partyId_id" on "subscriptions" ("partyId", "id");
create index "subscriptions_by_nextEventAtMs_id" on "subscriptions" ("nextEventAtMs", "id");
create unique index "subscriptions_by_paymentIntentId" on "subscriptions" ("paymentIntentId");
create table "customerInvitations" (
  "id" text not null,
  "partyId" text not null,
  "agentId" text not null,
  "recipientType" text not null,
  "recipient" text not null,
  "permissions" text not null,
  "limits" text,
  "status" text not null,
  "cancelReason" text,
  "message" text,
  "tags" text not null,
  "tokenHash" text not null,
  "customerPartyId" text,
  "createdByAgentId" text,
  "createdInstanceId" text,
  "canceledByAgentId" text,
  "canceledInstanceId" text,
  "version" integer not null,
  "expiresAtMs" bigint not null,
  "pendingUntilMs" bigint,
  "acceptedAtMs" bigint,
  "declinedAtMs" bigint,
  "createdAtMs" bigint not null,
  "updatedAtMs" bigint not null,
  constraint "customerInvitations_key" primary key ("id"),
  constraint "customerInvitations_pending_ends" check (("pendingUntilMs" is not null) = ("status" = 'PENDING')));
create index "customerInvitations_by_partyId_id" on "customerInvitations" ("partyId", "id");
create index "customerInvitations_by_partyId_recipient_id" on "customerInvitations" ("partyId", "recipient", "id");
create index "customerInvitations_by_agentId_id" on "customerInvitations" ("agentId", "id");
create unique index "customerInvitations_by_tokenHash" on "customerInvitations" ("tokenHash");
create index "customerInvitations_by_pending" on "customerInvitations" ("pendingUntilMs") where "pendingUntilMs" is not null;
