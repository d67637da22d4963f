import type { World } from './schema.ts'

/** The package's own world. `npm run generate` copies it from worlds/sandbox.yaml. */
export const ownWorld = JSON.parse(`{
  "name": "Sandbox",
  "rehearsal": false,
  "parties": [
    {
      "ref": "sandbox",
      "type": "ORG",
      "displayName": "Sandbox Organization",
      "email": "owner@sandbox.example",
      "handle": "sandbox",
      "issuedCardsEnabled": true,
      "users": [
        {
          "ref": "owner",
          "name": "Sandbox Owner",
          "email": "owner@sandbox.example",
          "role": "OWNER"
        }
      ],
      "wallets": [
        {
          "ref": "main",
          "displayName": "Main wallet",
          "balance": 250000,
          "status": "active",
          "walletType": "standard"
        }
      ],
      "agents": [
        {
          "ref": "shopper",
          "name": "Sandbox shopper",
          "description": "Buys things with single-purchase cards.",
          "keys": [
            {
              "ref": "main"
            }
          ],
          "status": "ACTIVE",
          "createdBy": "owner"
        }
      ],
      "apiKeys": [
        {
          "ref": "main",
          "name": "Sandbox API key",
          "scopes": [
            "payments.read",
            "payments.create",
            "external_parties.read",
            "external_parties.create",
            "direct.read",
            "direct.create",
            "external_accounts.create",
            "wallets.read",
            "wallets.balance",
            "wallets.create",
            "wallets.update",
            "wallets.fund",
            "wallets.deposit",
            "wallets.transfer",
            "wallets.withdraw",
            "party.read",
            "party.update",
            "cards.read",
            "invite.read",
            "invite.create",
            "invite.update",
            "invite.delete",
            "membership.create",
            "membership.read",
            "membership.update",
            "membership.delete",
            "wallets.delete",
            "delegations.read",
            "delegations.create",
            "delegations.update",
            "delegations.delete",
            "api_keys.read",
            "api_keys.create",
            "api_keys.delete",
            "agents.read",
            "agents.create",
            "agents.update",
            "agents.delete",
            "applications.read",
            "applications.manage",
            "disputes.read",
            "disputes.create"
          ]
        }
      ],
      "customers": [
        {
          "customer": "customer",
          "agent": "shopper",
          "permissions": [
            "payments.read",
            "payments.create",
            "external_parties.read",
            "external_parties.create",
            "direct.read",
            "direct.create",
            "external_accounts.create",
            "wallets.read",
            "wallets.balance",
            "wallets.create",
            "wallets.update",
            "wallets.fund",
            "wallets.deposit",
            "wallets.transfer",
            "wallets.withdraw",
            "party.read",
            "party.update",
            "cards.read",
            "payment_intents.create"
          ],
          "status": "ACTIVE"
        }
      ]
    },
    {
      "ref": "customer",
      "type": "PERSON",
      "displayName": "Sandbox Customer",
      "email": "customer@sandbox.example",
      "issuedCardsEnabled": true,
      "wallets": [
        {
          "ref": "main",
          "displayName": "Main wallet",
          "balance": 100000,
          "status": "active",
          "walletType": "standard"
        }
      ]
    }
  ]
}`) as World
