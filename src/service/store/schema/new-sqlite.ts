/** Written by npm run generate: the schema of a new SQLite database, as these migrations together leave it. */
export const newSqlite = {
  migrations: [
    '0001_first_schema',
    '0002_subscriptions',
    '0003_payments',
    '0004_credentials',
    '0005_invitations',
    '0006_second_factors',
    '0007_invitation_links',
    '0008_oauth',
    '0009_mcp_sessions',
    '0010_card_pages',
    '0011_mcp_session_bounds',
    '0012_root_keys',
    '0013_spending',
    '0014_highest_time',
    '0015_sign_in_bounds',
    '0016_subscription_transactions',
    '0017_activity_heads',
    '0018_enrolments',
    '0019_frozen_cards',
    '0020_lists',
    '0021_totals_and_due',
    '0022_storage',
    '0023_processes',
    '0024_tenants',
    '0025_locks',
    '0026_sent_calls',
    '0027_events',
    '0028_pending_decisions',
    '0029_world',
    '0031_faults',
    '0033_snapshots',
    '0034_shops',
    '0035_whole_api',
    '0036_runs',
    '0038_settings_revision',
    '0039_sign_in_links',
    '0040_environment',
    '0042_retired_keys',
    '0043_activity_lists',
    '0044_failed_effects',
  ],
  schema: `
CREATE TABLE "kysely_migration" ("name" varchar(255) not null primary key, "timestamp" varchar(255) not null);
CREATE TABLE "kysely_migration_lock" ("id" varchar(255) not null primary key, "is_locked" integer default 0 not null);
CREATE TABLE "parties" ("id" text not null, "partyType" text not null, "displayName" text not null, "email" text, "issuedCardsEnabled" integer not null, "createdAtMs" bigint not null, "phone" text, "limits" text, "handle" text, "status" text default 'ACTIVE' not null, "profile" text default '{}' not null, "createdBy" text, "updatedAtMs" bigint, "limitsUpdatedAtMs" bigint, constraint "parties_key" primary key ("id"));
CREATE TABLE "users" ("id" text not null, "partyId" text not null, "role" text not null, "name" text not null, "email" text not null, "createdAtMs" bigint not null, "mfaVerifiedAtMs" bigint, "status" text default 'ACTIVE' not null, "updatedAtMs" bigint, constraint "users_key" primary key ("id"));
CREATE TABLE "agents" ("id" text not null, "partyId" text not null, "name" text not null, "description" text, "handle" text, "status" text not null, "createdBy" text, "createdAtMs" bigint not null, "tags" text default '{}' not null, "slug" text, "limits" text, "updatedBy" text, "updatedAtMs" bigint, "lastActiveAtMs" bigint, constraint "agents_key" primary key ("id"));
CREATE TABLE "walletAgents" ("walletId" text not null, "agentId" text not null, "isDefault" integer not null, "attachedAtMs" bigint not null, "partyId" text default '' not null, constraint "walletAgents_key" primary key ("walletId", "agentId"));
CREATE TABLE "walletPermissions" ("walletId" text not null, "agentId" text not null, "permission" text not null, "partyId" text default '' not null, constraint "walletPermissions_key" primary key ("walletId", "agentId", "permission"));
CREATE TABLE "credentials" ("id" text not null, "kind" text not null, "partyId" text not null, "agentId" text, "name" text, "secretHash" text not null, "displayPrefix" text not null, "scopes" text, "seeded" integer not null, "revokedAtMs" bigint, "expiresAtMs" bigint, "createdAtMs" bigint not null, "userId" text, "tags" text default '{}' not null, "createdBy" text, "revokedBy" text, "lastUsedAtMs" bigint, constraint "credentials_key" primary key ("id"));
CREATE TABLE "delegations" ("id" text not null, "customerPartyId" text not null, "agentPartyId" text not null, "agentId" text not null, "permissions" text not null, "limits" text, "status" text not null, "createdAtMs" bigint not null, "revokedAtMs" bigint, constraint "delegations_key" primary key ("id"));
CREATE TABLE "agentCards" ("id" text not null, "partyId" text not null, "walletId" text not null, "agentId" text not null, "instanceId" text, "merchantName" text not null, "currency" text not null, "version" integer not null, "maximumAmountCents" bigint not null, "expiresAtMs" bigint not null, "usedAtMs" bigint, "createdAtMs" bigint not null, "updatedAtMs" bigint not null, "frozenAtMs" bigint, constraint "agentCards_key" primary key ("id"), constraint "agentCards_maximum_not_negative" check ("maximumAmountCents" >= 0));
CREATE TABLE "cardTransactions" ("id" text not null, "partyId" text not null, "walletId" text not null, "cardId" text not null, "kind" text not null, "purchaseId" text, "merchantName" text not null, "currency" text not null, "status" text not null, "declineCode" text, "agentId" text, "instanceId" text, "version" integer not null, "amountCents" bigint not null, "heldCents" bigint not null, "capturedCents" bigint not null, "refundedCents" bigint not null, "holdExpiresAtMs" bigint, "createdAtMs" bigint not null, "updatedAtMs" bigint not null, "cardAgentId" text default '' not null, constraint "cardTransactions_key" primary key ("id"), constraint "cardTransactions_amount_not_negative" check ("amountCents" >= 0), constraint "cardTransactions_captured_within_amount" check ("capturedCents" between 0 and "amountCents"), constraint "cardTransactions_held_within_rest" check ("heldCents" between 0 and "amountCents" - "capturedCents"), constraint "cardTransactions_refunded_within_captured" check ("refundedCents" between 0 and "capturedCents"));
CREATE TABLE "ledgerEntries" ("id" text not null, "postingId" text not null, "account" text not null, "walletId" text, "reason" text not null, "sourceId" text, "amountCents" bigint not null, "createdAtMs" bigint not null, "partyId" text default '' not null, constraint "ledgerEntries_key" primary key ("id"), constraint "ledgerEntries_account_has_owner" check (("account" in ('available', 'held')) = ("walletId" is not null)));
CREATE TABLE "idempotencyRecords" ("partyId" text not null, "key" text not null, "fingerprint" text not null, "state" text not null, "body" text, "status" integer, "finishedAtMs" bigint, "answer" blob, constraint "idempotencyRecords_key" primary key ("partyId", "key"));
CREATE TABLE "clock" ("id" integer not null, "offsetMs" bigint not null, "epoch" integer default '1' not null, "highestMs" bigint default '0' not null, "faultRules" integer default '0' not null, "staleRules" integer default '0' not null, "settingsRevision" integer default '0' not null, constraint "clock_key" primary key ("id"), constraint "clock_one_row" check ("id" = 1));
CREATE TABLE "subscriptions" ("id" text not null, "partyId" text not null, "walletId" text not null, "paymentIntentId" text not null, "mandateId" text, "agentId" text, "instanceId" text, "status" text not null, "terms" text not null, "billing" text not null, "currency" text not null, "version" integer not null, "nextEventAtMs" bigint, "createdAtMs" bigint not null, "updatedAtMs" bigint not null, constraint "subscriptions_key" primary key ("id"));
CREATE TABLE "subscriptionPayments" ("subscriptionId" text not null, "paymentNumber" integer not null, "amountCents" bigint not null, "taxCents" bigint not null, "chargedAtMs" bigint not null, "partyId" text default '' not null, constraint "subscriptionPayments_key" primary key ("subscriptionId", "paymentNumber"), constraint "subscriptionPayments_tax_within_amount" check ("taxCents" between 0 and "amountCents"));
CREATE TABLE "approvals" ("id" text not null, "partyId" text not null, "walletId" text not null, "paymentId" text not null, "status" text not null, "reasons" text not null, "denialReason" text, "version" integer not null, "createdAtMs" bigint not null, "updatedAtMs" bigint not null, "resolvedAtMs" bigint, constraint "approvals_key" primary key ("id"));
CREATE TABLE "transactions" ("id" text not null, "transactionType" text not null, "paymentId" text not null, "sourcePartyId" text, "sourceWalletId" text, "destinationPartyId" text, "destinationWalletId" text, "currency" text not null, "description" text, "delegated" integer not null, "amountCents" bigint not null, "createdAtMs" bigint not null, "subscriptionId" text, "partyId" text default '' not null, "returnedAtMs" bigint, constraint "transactions_key" primary key ("id"));
CREATE TABLE "accessTokens" ("id" text not null, "credentialId" text not null, "secretHash" text not null, "expiresAtMs" bigint not null, "partyId" text default '' not null, constraint "accessTokens_key" primary key ("id"));
CREATE TABLE "activity" ("id" text not null, "partyId" text not null, "operation" text not null, "actorType" text not null, "agentId" text, "userId" text, "keyId" text not null, "instanceId" text, "customerPartyId" text, "resourceIds" text not null, "code" text, "previousHash" text not null, "hash" text not null, "status" integer not null, "sequence" bigint not null, "createdAtMs" bigint not null, constraint "activity_key" primary key ("id"));
CREATE TABLE "customerInvitations" ("id" text not null, "partyId" text not null, "agentId" text not null, "recipientType" text not null, "recipient" text not null, "permissions" text not null, "limits" text, "status" text not null, "cancelReason" text, "message" text, "tags" text not null, "tokenHash" text not null, "customerPartyId" text, "createdByAgentId" text, "createdInstanceId" text, "canceledByAgentId" text, "canceledInstanceId" text, "version" integer not null, "expiresAtMs" bigint not null, "pendingUntilMs" bigint, "acceptedAtMs" bigint, "declinedAtMs" bigint, "createdAtMs" bigint not null, "updatedAtMs" bigint not null, constraint "customerInvitations_key" primary key ("id"), constraint "customerInvitations_pending_ends" check (("pendingUntilMs" is not null) = ("status" = 'PENDING')));
CREATE TABLE "secondFactors" ("userId" text not null, "refusedAtMs" text not null, "lastStep" bigint, "seed" text, "pendingSeed" text, constraint "secondFactors_key" primary key ("userId"));
CREATE TABLE "invitationLinks" ("id" text not null, "partyId" text not null, "name" text not null, "proposedAgents" text not null, "status" text not null, "tags" text not null, "tokenHash" text not null, "maskedToken" text not null, "version" integer not null, "expiresAtMs" bigint, "createdAtMs" bigint not null, "updatedAtMs" bigint not null, constraint "invitationLinks_key" primary key ("id"));
CREATE TABLE "oauthRecords" ("model" text not null, "idHash" text not null, "payload" text not null, "grantId" text, "uid" text, "userCodeHash" text, "expiresAtMs" bigint, "createdAtMs" bigint not null, constraint "oauthRecords_key" primary key ("model", "idHash"));
CREATE TABLE "oauthGrants" ("id" text not null, "userId" text not null, "partyId" text not null, "agentId" text, "clientId" text not null, "clientName" text not null, "scopes" text not null, "payload" text not null, "createdAtMs" bigint not null, "lastUsedAtMs" bigint, "revokedAtMs" bigint, "expiresAtMs" bigint, constraint "oauthGrants_key" primary key ("id"));
CREATE TABLE "grantTokens" ("id" text not null, "grantId" text not null, "scopes" text not null, "secretHash" text not null, "expiresAtMs" bigint not null, constraint "grantTokens_key" primary key ("id"));
CREATE TABLE "signingKeys" ("kid" text not null, "jwk" text not null, "createdAtMs" bigint not null, constraint "signingKeys_key" primary key ("kid"));
CREATE TABLE "signInSessions" ("idHash" text not null, "userId" text not null, "createdAtMs" bigint not null, "expiresAtMs" bigint not null, "oneClick" integer default '0' not null, constraint "signInSessions_key" primary key ("idHash"));
CREATE TABLE "passwords" ("userId" text not null, "hash" text not null, constraint "passwords_key" primary key ("userId"));
CREATE TABLE "mcpSessions" ("idHash" text not null, "principalId" text not null, "state" text not null, "createdAtMs" bigint not null, "usedAtMs" bigint not null, "partyId" text default '' not null, "subscribed" text default '[]' not null, constraint "mcpSessions_key" primary key ("idHash"));
CREATE TABLE "mcpEvents" ("idHash" text not null, "streamId" text not null, "message" text not null, "sequence" bigint not null, "sentAtMs" bigint not null, constraint "mcpEvents_key" primary key ("idHash", "streamId", "sequence"));
CREATE TABLE "mcpMail" ("id" text not null, "idHash" text not null, "addressee" text not null, "message" text not null, "sentAtMs" bigint not null, constraint "mcpMail_key" primary key ("id"));
CREATE TABLE "cardPages" ("tokenHash" text not null, "cardId" text not null, "partyId" text not null, "agentPartyId" text not null, "createdAtMs" bigint not null, "expiresAtMs" bigint not null, "shownAtMs" bigint, constraint "cardPages_key" primary key ("tokenHash"));
CREATE TABLE "rootKeys" ("secret" text not null, "id" integer not null, "createdAtMs" bigint not null, "lasting" text, constraint "rootKeys_key" primary key ("id"));
CREATE TABLE "refusedPasswords" ("id" text not null, "account" text not null, "source" text not null, "refusedAtMs" bigint not null, constraint "refusedPasswords_key" primary key ("id"));
CREATE TABLE "knownBrowsers" ("idHash" text not null, "userId" text not null, "createdAtMs" bigint not null, "expiresAtMs" bigint not null, constraint "knownBrowsers_key" primary key ("idHash"));
CREATE TABLE "activityHeads" ("partyId" text not null, "hash" text not null, "seal" text not null, "sequence" bigint not null, constraint "activityHeads_key" primary key ("partyId"));
CREATE TABLE "spending" ("partyId" text not null, "agentId" text not null, "dayMs" bigint not null, "dayCents" bigint not null, "monthMs" bigint not null, "monthCents" bigint not null, constraint "spending_key" primary key ("partyId", "agentId"));
CREATE TABLE "rateLimits" ("keyId" text not null, "taken" bigint not null, "endsAtMs" bigint not null, constraint "rateLimits_key" primary key ("keyId"));
CREATE TABLE "locks" ("name" text not null, constraint "locks_key" primary key ("name"));
CREATE TABLE "sentCalls" ("partyId" text not null, "id" text not null, "sealed" text not null, "sentAtMs" bigint not null, constraint "sentCalls_key" primary key ("partyId", "id"));
CREATE TABLE "events" ("partyId" text not null, "sequence" bigint not null, "type" text not null, "resourceId" text not null, "agentId" text, "createdAtMs" bigint not null, "recordedAtMs" bigint not null, "state" text, constraint "events_key" primary key ("partyId", "sequence")) without rowid;
CREATE TABLE "eventHeads" ("partyId" text not null, "sequence" bigint not null, constraint "eventHeads_key" primary key ("partyId")) without rowid;
CREATE TABLE "pendingDecisions" ("id" text not null, "partyId" text not null, "principalId" text not null, "call" text not null, "status" text not null, "tries" integer not null, "answer" text, "decidedBy" text, "createdAtMs" bigint not null, "expiresAtMs" bigint not null, constraint "pendingDecisions_key" primary key ("partyId", "id"));
CREATE TABLE "world" ("id" integer not null, "digest" text, "firstPartyId" text not null, "isRehearsal" integer not null, "startsAtMs" bigint, "shops" text, constraint "world_key" primary key ("id"), constraint "world_one_row" check ("id" = 1));
CREATE TABLE "faults" ("id" text not null, "place" integer not null, "origin" text not null, "rule" text not null, "partyId" text, "matched" bigint not null, "hits" bigint not null, constraint "faults_key" primary key ("id"));
CREATE TABLE "earlierStates" ("partyId" text not null, "rows" text not null, constraint "earlierStates_key" primary key ("partyId"));
CREATE TABLE "snapshots" ("id" text not null, "name" text not null, "savedBy" text not null, "clockMs" bigint, "characters" bigint not null, "savedAtMs" bigint not null, constraint "snapshots_key" primary key ("id"));
CREATE TABLE "snapshotRows" ("snapshotId" text not null, "tableName" text not null, "part" integer not null, "rows" text not null, constraint "snapshotRows_key" primary key ("snapshotId", "tableName", "part"));
CREATE TABLE "shopCheckouts" ("id" text not null, "partyId" text not null, "agentId" text, "instanceId" text, "shopId" text not null, "cart" text not null, "totalCents" bigint not null, "note" text, "decline" text, "orderId" text, "version" integer not null, "expiresAtMs" bigint not null, "createdAtMs" bigint not null, "updatedAtMs" bigint not null, constraint "shopCheckouts_key" primary key ("id"));
CREATE TABLE "shopOrders" ("id" text not null, "partyId" text not null, "agentId" text, "instanceId" text, "shopId" text not null, "checkoutId" text not null, "cardTransactionId" text not null, "status" text not null, "state" text not null, "nextEventAtMs" bigint, "version" integer not null, "createdAtMs" bigint not null, "updatedAtMs" bigint not null, constraint "shopOrders_key" primary key ("id"));
CREATE TABLE "wallets" ("id" text not null, "partyId" text not null, "displayName" text, "description" text, "status" text not null, "walletType" text not null, "tags" text not null, "currency" text not null, "isDefault" integer not null, "version" integer not null, "availableCents" bigint not null, "heldCents" bigint not null, "createdAtMs" bigint not null, "returnedCents" bigint default '0' not null, constraint "wallets_key" primary key ("id"), constraint "wallets_held_not_negative" check ("heldCents" >= 0), constraint "wallets_below_zero_by_returns" check ("availableCents" >= -"returnedCents"));
CREATE TABLE "payments" ("id" text not null, "kind" text not null, "partyId" text not null, "walletId" text not null, "actorType" text not null, "agentId" text, "instanceId" text, "currency" text not null, "status" text not null, "description" text, "tags" text not null, "recipientPartyId" text, "recipientAgentId" text, "claimant" text, "claimTokenHash" text, "beneficiary" text, "transactionId" text, "delegated" integer not null, "version" integer not null, "amountCents" bigint not null, "heldCents" bigint not null, "createdAtMs" bigint not null, "updatedAtMs" bigint not null, "externalAccountId" text, "method" text, "paymentRequestId" text, "bankDueAtMs" bigint, "submittedAtMs" bigint, "settledAtMs" bigint, "failure" text, "returned" text, constraint "payments_key" primary key ("id"), constraint "payments_amount_positive" check ("amountCents" > 0), constraint "payments_holds_until_gone" check ("heldCents" = case when "status" = 'PENDING_CLAIM' or ("kind" = 'withdrawal' and "status" = 'PROCESSING') then "amountCents" else 0 end));
CREATE TABLE "paymentRequests" ("id" text not null, "partyId" text not null, "walletId" text not null, "agentId" text, "instanceId" text, "status" text not null, "amountCents" bigint not null, "currency" text not null, "description" text, "tags" text not null, "payerType" text not null, "payerValue" text not null, "payerName" text, "payerPartyId" text, "payerAgentId" text, "tokenHash" text not null, "paymentId" text, "transactionId" text, "cardTries" text, "version" integer not null, "expiresAtMs" bigint not null, "openUntilMs" bigint, "createdAtMs" bigint not null, "updatedAtMs" bigint not null, constraint "paymentRequests_key" primary key ("id"));
CREATE TABLE "externalAccounts" ("id" text not null, "partyId" text not null, "status" text not null, "connectionStatus" text not null, "bankName" text not null, "accountName" text not null, "accountType" text, "lastFour" text not null, "bankAccountId" text not null, "agentId" text, "instanceId" text, "version" integer not null, "createdAtMs" bigint not null, "updatedAtMs" bigint not null, constraint "externalAccounts_key" primary key ("id"));
CREATE TABLE "partyInvitations" ("id" text not null, "partyId" text not null, "email" text not null, "role" text not null, "status" text not null, "tokenHash" text not null, "userId" text, "version" integer not null, "createdAtMs" bigint not null, "updatedAtMs" bigint not null, constraint "partyInvitations_key" primary key ("id"));
CREATE TABLE "complianceCases" ("id" text not null, "partyId" text not null, "status" text not null, "version" integer not null, "createdAtMs" bigint not null, "updatedAtMs" bigint not null, constraint "complianceCases_key" primary key ("partyId"));
CREATE TABLE "releasedHandles" ("handle" text not null, "partyId" text not null, "untilMs" bigint not null, constraint "releasedHandles_key" primary key ("handle")) without rowid;
CREATE TABLE "sandboxMessages" ("id" text not null, "partyId" text not null, "agentId" text, "kind" text not null, "channel" text not null, "recipient" text not null, "subject" text not null, "text" text not null, "resourceId" text not null, "createdAtMs" bigint not null, "recordedAtMs" bigint not null, constraint "sandboxMessages_key" primary key ("id"));
CREATE TABLE "webhooks" ("id" text not null, "partyId" text not null, "url" text not null, "description" text, "status" text not null, "enabledEvents" text not null, "tags" text not null, "secretNumber" integer not null, "secretKeyId" integer not null, "previousKeyId" integer, "previousSecretUntilMs" bigint, "toldUpTo" bigint not null, "failingSinceMs" bigint, "nextDueAtMs" bigint, "version" integer not null, "createdAtMs" bigint not null, "updatedAtMs" bigint not null, constraint "webhooks_key" primary key ("id"));
CREATE TABLE "webhookDeliveries" ("id" text not null, "partyId" text not null, "webhookId" text not null, "eventSequence" bigint not null, "eventId" text not null, "eventType" text not null, "status" text not null, "attempts" integer not null, "lastResponseStatus" integer, "lastError" text, "dueAtMs" bigint, "createdAtMs" bigint not null, "updatedAtMs" bigint not null, constraint "webhookDeliveries_key" primary key ("id"));
CREATE TABLE "leases" ("name" text not null, "holder" text not null, "untilMs" bigint not null, constraint "leases_key" primary key ("name")) without rowid;
CREATE TABLE "runs" ("partyId" text not null, "id" text not null, "instanceId" text, "agentId" text, "host" text, "calls" bigint not null, "refused" bigint not null, "firstAtMs" bigint not null, "lastAtMs" bigint not null, "lastEntryId" text not null, "recordedAtMs" bigint not null, constraint "runs_key" primary key ("partyId", "id"));
CREATE TABLE "runEntries" ("partyId" text not null, "id" text not null, "runId" text not null, "kind" text not null, "operation" text not null, "agentId" text, "outcome" text not null, "status" integer, "code" text, "amountCents" bigint, "fault" text, "ms" integer, "supportId" text, "keyHash" text, "detail" text not null, "atMs" bigint not null, "recordedAtMs" bigint not null, constraint "runEntries_key" primary key ("partyId", "id"));
CREATE TABLE "signInLinks" ("codeHash" text not null, "userId" text not null, "createdAtMs" bigint not null, "expiresAtMs" bigint not null, constraint "signInLinks_key" primary key ("codeHash"));
CREATE TABLE "deployment" ("id" integer not null, "environment" text not null, constraint "deployment_key" primary key ("id"), constraint "deployment_one_row" check ("id" = 1));
CREATE TABLE "carriedSecrets" ("textHash" text not null, "keyId" integer not null, "sealedBy" integer not null, "sealed" text not null, constraint "carriedSecrets_key" primary key ("textHash", "keyId"));
CREATE TABLE "activityResources" ("partyId" text not null, "resourceId" text not null, "sequence" bigint not null, constraint "activityResources_key" primary key ("partyId", "resourceId", "sequence")) without rowid;
CREATE TABLE "failedEffects" ("partyId" text not null, "kind" text not null, "recordId" text not null, "attempts" integer not null, "error" text not null, "dueAtMs" bigint not null, "retryAtMs" bigint not null, constraint "failedEffects_key" primary key ("partyId", "kind", "recordId"));
CREATE INDEX "walletAgents_by_agentId_walletId" on "walletAgents" ("agentId", "walletId");
CREATE UNIQUE INDEX "credentials_by_secretHash" on "credentials" ("secretHash");
CREATE UNIQUE INDEX "delegations_by_agentId_customerPartyId" on "delegations" ("agentId", "customerPartyId");
CREATE INDEX "agentCards_by_partyId_id" on "agentCards" ("partyId", "id");
CREATE INDEX "cardTransactions_by_hold" on "cardTransactions" ("holdExpiresAtMs") where "holdExpiresAtMs" is not null;
CREATE INDEX "idempotencyRecords_by_finishedAtMs" on "idempotencyRecords" ("finishedAtMs");
CREATE INDEX "subscriptions_by_nextEventAtMs_id" on "subscriptions" ("nextEventAtMs", "id");
CREATE UNIQUE INDEX "subscriptions_by_paymentIntentId" on "subscriptions" ("paymentIntentId");
CREATE UNIQUE INDEX "approvals_by_paymentId" on "approvals" ("paymentId");
CREATE UNIQUE INDEX "transactions_by_paymentId" on "transactions" ("paymentId");
CREATE UNIQUE INDEX "parties_by_handle" on "parties" ("handle");
CREATE UNIQUE INDEX "agents_by_handle" on "agents" ("handle");
CREATE INDEX "credentials_by_agentId_id" on "credentials" ("agentId", "id");
CREATE INDEX "accessTokens_by_expiresAtMs" on "accessTokens" ("expiresAtMs");
CREATE UNIQUE INDEX "accessTokens_by_secretHash" on "accessTokens" ("secretHash");
CREATE UNIQUE INDEX "activity_by_partyId_sequence" on "activity" ("partyId", "sequence");
CREATE INDEX "parties_by_phone" on "parties" ("phone");
CREATE INDEX "parties_by_email" on "parties" (lower("email"));
CREATE UNIQUE INDEX "customerInvitations_by_tokenHash" on "customerInvitations" ("tokenHash");
CREATE INDEX "customerInvitations_by_pending" on "customerInvitations" ("pendingUntilMs") where "pendingUntilMs" is not null;
CREATE UNIQUE INDEX "invitationLinks_by_tokenHash" on "invitationLinks" ("tokenHash");
CREATE INDEX "oauthRecords_by_grantId" on "oauthRecords" ("grantId");
CREATE INDEX "oauthRecords_by_model_uid" on "oauthRecords" ("model", "uid");
CREATE INDEX "oauthRecords_by_model_userCodeHash" on "oauthRecords" ("model", "userCodeHash");
CREATE INDEX "oauthRecords_by_expiresAtMs" on "oauthRecords" ("expiresAtMs");
CREATE INDEX "grantTokens_by_expiresAtMs" on "grantTokens" ("expiresAtMs");
CREATE UNIQUE INDEX "grantTokens_by_secretHash" on "grantTokens" ("secretHash");
CREATE INDEX "signInSessions_by_expiresAtMs" on "signInSessions" ("expiresAtMs");
CREATE INDEX "mcpSessions_by_principalId_usedAtMs" on "mcpSessions" ("principalId", "usedAtMs");
CREATE INDEX "mcpSessions_by_usedAtMs" on "mcpSessions" ("usedAtMs");
CREATE INDEX "mcpEvents_by_idHash_sentAtMs" on "mcpEvents" ("idHash", "sentAtMs");
CREATE INDEX "mcpMail_by_idHash_addressee" on "mcpMail" ("idHash", "addressee");
CREATE INDEX "cardPages_by_expiresAtMs" on "cardPages" ("expiresAtMs");
CREATE INDEX "mcpSessions_by_party" on "mcpSessions" ("partyId", "usedAtMs");
CREATE INDEX "mcpEvents_by_sentAtMs" on "mcpEvents" ("sentAtMs");
CREATE INDEX "mcpMail_by_sentAtMs" on "mcpMail" ("sentAtMs");
CREATE INDEX "agentCards_by_unused" on "agentCards" ("agentId", "expiresAtMs") where "usedAtMs" is null;
CREATE INDEX "refusedPasswords_by_account_refusedAtMs" on "refusedPasswords" ("account", "refusedAtMs");
CREATE INDEX "refusedPasswords_by_refusedAtMs" on "refusedPasswords" ("refusedAtMs");
CREATE INDEX "knownBrowsers_by_userId" on "knownBrowsers" ("userId");
CREATE INDEX "knownBrowsers_by_expiresAtMs" on "knownBrowsers" ("expiresAtMs");
CREATE INDEX "users_by_email" on "users" ("email");
CREATE INDEX "agents_by_partyId_status_id" on "agents" ("partyId", "status", "id");
CREATE INDEX "walletPermissions_by_agentId_permission_walletId" on "walletPermissions" ("agentId", "permission", "walletId");
CREATE INDEX "credentials_by_living" on "credentials" ("partyId", "kind", "id") where "revokedAtMs" is null;
CREATE INDEX "credentials_by_revoked" on "credentials" ("partyId", "kind", "id") where "revokedAtMs" is not null;
CREATE INDEX "credentials_by_seeded" on "credentials" ("id") where "seeded" = 1;
CREATE INDEX "delegations_by_agentPartyId_status_customerPartyId" on "delegations" ("agentPartyId", "status", "customerPartyId");
CREATE INDEX "delegations_by_agentId_status_customerPartyId" on "delegations" ("agentId", "status", "customerPartyId");
CREATE INDEX "delegations_by_agentId_id" on "delegations" ("agentId", "id");
CREATE INDEX "customerInvitations_by_partyId_status_id" on "customerInvitations" ("partyId", "status", "id");
CREATE INDEX "customerInvitations_by_partyId_recipient_status_id" on "customerInvitations" ("partyId", "recipient", "status", "id");
CREATE INDEX "customerInvitations_by_agentId_status_id" on "customerInvitations" ("agentId", "status", "id");
CREATE INDEX "customerInvitations_by_agentId_recipient_status_id" on "customerInvitations" ("agentId", "recipient", "status", "id");
CREATE INDEX "invitationLinks_by_partyId_status_id" on "invitationLinks" ("partyId", "status", "id");
CREATE INDEX "agentCards_by_agentId_walletId_id" on "agentCards" ("agentId", "walletId", "id");
CREATE INDEX "cardTransactions_by_partyId_status_id" on "cardTransactions" ("partyId", "status", "id");
CREATE INDEX "cardTransactions_by_cardId_status_id" on "cardTransactions" ("cardId", "status", "id");
CREATE INDEX "subscriptions_by_partyId_status_id" on "subscriptions" ("partyId", "status", "id");
CREATE INDEX "subscriptions_by_partyId_walletId_status_id" on "subscriptions" ("partyId", "walletId", "status", "id");
CREATE INDEX "approvals_by_partyId_status_id" on "approvals" ("partyId", "status", "id");
CREATE INDEX "approvals_by_partyId_walletId_status_id" on "approvals" ("partyId", "walletId", "status", "id");
CREATE INDEX "transactions_by_source" on "transactions" ("sourcePartyId", "transactionType", "delegated", "id");
CREATE INDEX "transactions_by_destination" on "transactions" ("destinationPartyId", "transactionType", "delegated", "id");
CREATE INDEX "transactions_by_source_wallet" on "transactions" ("sourceWalletId", "transactionType", "delegated", "id");
CREATE INDEX "transactions_by_destination_wallet" on "transactions" ("destinationWalletId", "transactionType", "delegated", "id");
CREATE INDEX "transactions_by_source_counterparty" on "transactions" ("sourceWalletId", "destinationPartyId", "transactionType", "delegated", "id");
CREATE INDEX "transactions_by_destination_counterparty" on "transactions" ("destinationWalletId", "sourcePartyId", "transactionType", "delegated", "id");
CREATE INDEX "oauthRecords_by_unending" on "oauthRecords" ("model", "createdAtMs") where "expiresAtMs" is null;
CREATE INDEX "oauthGrants_by_clientId" on "oauthGrants" ("clientId");
CREATE INDEX "oauthGrants_by_living" on "oauthGrants" ("userId", "id") where "revokedAtMs" is null;
CREATE INDEX "oauthGrants_by_living_of_client" on "oauthGrants" ("userId", "clientId", "id") where "revokedAtMs" is null;
CREATE INDEX "signInSessions_by_userId" on "signInSessions" ("userId");
CREATE INDEX "customerInvitations_by_party_pending" on "customerInvitations" ("partyId", "pendingUntilMs", "id") where "pendingUntilMs" is not null;
CREATE INDEX "cardTransactions_by_party_hold" on "cardTransactions" ("partyId", "holdExpiresAtMs", "id") where "holdExpiresAtMs" is not null;
CREATE INDEX "subscriptions_by_partyId_nextEventAtMs_id" on "subscriptions" ("partyId", "nextEventAtMs", "id");
CREATE INDEX "sentCalls_by_sentAtMs" on "sentCalls" ("sentAtMs");
CREATE INDEX "events_by_recordedAtMs" on "events" ("recordedAtMs");
CREATE INDEX "pendingDecisions_by_expiresAtMs" on "pendingDecisions" ("expiresAtMs");
CREATE INDEX "pendingDecisions_by_partyId_status_expiresAtMs" on "pendingDecisions" ("partyId", "status", "expiresAtMs");
CREATE INDEX "pendingDecisions_by_partyId_principalId_status" on "pendingDecisions" ("partyId", "principalId", "status");
CREATE UNIQUE INDEX "snapshots_by_name" on "snapshots" ("name");
CREATE INDEX "shopOrders_by_partyId_nextEventAtMs_id" on "shopOrders" ("partyId", "nextEventAtMs", "id");
CREATE INDEX "shopOrders_by_due" on "shopOrders" ("nextEventAtMs") where "nextEventAtMs" is not null;
CREATE INDEX "users_by_partyId_id" on "users" ("partyId", "id");
CREATE INDEX "wallets_by_partyId_id" on "wallets" ("partyId", "id");
CREATE INDEX "wallets_by_default" on "wallets" ("partyId") where "isDefault" = 1;
CREATE INDEX "payments_by_partyId_id" on "payments" ("partyId", "id");
CREATE INDEX "payments_by_claimant_status" on "payments" ("claimant", "status");
CREATE UNIQUE INDEX "payments_by_claimTokenHash" on "payments" ("claimTokenHash");
CREATE INDEX "payments_by_partyId_walletId_id" on "payments" ("partyId", "walletId", "id");
CREATE INDEX "payments_by_bank_due" on "payments" ("bankDueAtMs") where "bankDueAtMs" is not null;
CREATE INDEX "payments_by_party_bank_due" on "payments" ("partyId", "bankDueAtMs", "id") where "bankDueAtMs" is not null;
CREATE INDEX "payments_by_account_in_review" on "payments" ("partyId", "externalAccountId") where "status" = 'IN_REVIEW' and "externalAccountId" is not null;
CREATE INDEX "paymentRequests_by_partyId_status_id" on "paymentRequests" ("partyId", "status", "id");
CREATE INDEX "paymentRequests_by_partyId_walletId_status_id" on "paymentRequests" ("partyId", "walletId", "status", "id");
CREATE INDEX "paymentRequests_by_payerPartyId_status_id" on "paymentRequests" ("payerPartyId", "status", "id");
CREATE INDEX "paymentRequests_by_payerAgentId_status_id" on "paymentRequests" ("payerAgentId", "status", "id");
CREATE INDEX "paymentRequests_by_payerValue_status" on "paymentRequests" ("payerValue", "status");
CREATE UNIQUE INDEX "paymentRequests_by_tokenHash" on "paymentRequests" ("tokenHash");
CREATE INDEX "paymentRequests_by_open" on "paymentRequests" ("openUntilMs") where "openUntilMs" is not null;
CREATE INDEX "paymentRequests_by_party_open" on "paymentRequests" ("partyId", "openUntilMs", "id") where "openUntilMs" is not null;
CREATE INDEX "externalAccounts_by_partyId_status_id" on "externalAccounts" ("partyId", "status", "id");
CREATE UNIQUE INDEX "externalAccounts_by_partyId_bankAccountId" on "externalAccounts" ("partyId", "bankAccountId");
CREATE INDEX "partyInvitations_by_partyId_status_id" on "partyInvitations" ("partyId", "status", "id");
CREATE INDEX "partyInvitations_by_partyId_email_status_id" on "partyInvitations" ("partyId", "email", "status", "id");
CREATE UNIQUE INDEX "partyInvitations_by_tokenHash" on "partyInvitations" ("tokenHash");
CREATE INDEX "sandboxMessages_by_partyId_id" on "sandboxMessages" ("partyId", "id");
CREATE INDEX "sandboxMessages_by_partyId_agentId_id" on "sandboxMessages" ("partyId", "agentId", "id");
CREATE INDEX "sandboxMessages_by_partyId_recipient_id" on "sandboxMessages" ("partyId", "recipient", "id");
CREATE INDEX "sandboxMessages_by_partyId_agentId_recipient_id" on "sandboxMessages" ("partyId", "agentId", "recipient", "id");
CREATE INDEX "sandboxMessages_by_recordedAtMs" on "sandboxMessages" ("recordedAtMs");
CREATE INDEX "webhooks_by_status_partyId_id" on "webhooks" ("status", "partyId", "id");
CREATE INDEX "webhooks_by_due" on "webhooks" ("nextDueAtMs") where "nextDueAtMs" is not null;
CREATE INDEX "webhookDeliveries_by_partyId_webhookId_status_id" on "webhookDeliveries" ("partyId", "webhookId", "status", "id");
CREATE INDEX "webhookDeliveries_by_createdAtMs" on "webhookDeliveries" ("createdAtMs");
CREATE INDEX "webhookDeliveries_by_due" on "webhookDeliveries" ("partyId", "webhookId", "dueAtMs", "eventSequence") where "dueAtMs" is not null;
CREATE INDEX "runs_by_partyId_lastEntryId" on "runs" ("partyId", "lastEntryId");
CREATE INDEX "runs_by_partyId_agentId_lastEntryId" on "runs" ("partyId", "agentId", "lastEntryId");
CREATE INDEX "runs_by_partyId_host_lastEntryId" on "runs" ("partyId", "host", "lastEntryId");
CREATE INDEX "runs_by_partyId_agentId_host_lastEntryId" on "runs" ("partyId", "agentId", "host", "lastEntryId");
CREATE INDEX "runs_by_recordedAtMs" on "runs" ("recordedAtMs");
CREATE INDEX "runEntries_by_partyId_runId_id" on "runEntries" ("partyId", "runId", "id");
CREATE INDEX "runEntries_by_partyId_runId_operation_id" on "runEntries" ("partyId", "runId", "operation", "id");
CREATE INDEX "runEntries_by_partyId_runId_outcome_id" on "runEntries" ("partyId", "runId", "outcome", "id");
CREATE INDEX "runEntries_by_partyId_supportId" on "runEntries" ("partyId", "supportId");
CREATE INDEX "runEntries_by_recordedAtMs" on "runEntries" ("recordedAtMs");
CREATE INDEX "signInLinks_by_userId" on "signInLinks" ("userId");
CREATE INDEX "signInLinks_by_expiresAtMs" on "signInLinks" ("expiresAtMs");
CREATE INDEX "carriedSecrets_by_sealedBy" on "carriedSecrets" ("sealedBy");
CREATE INDEX "activity_by_partyId_agentId_sequence" on "activity" ("partyId", "agentId", "sequence");
CREATE INDEX "activity_by_partyId_instanceId_sequence" on "activity" ("partyId", "instanceId", "sequence");
CREATE INDEX "cardTransactions_by_cardAgentId_walletId_status_id" on "cardTransactions" ("cardAgentId", "walletId", "status", "id");
`,
}
