import { sha256 } from '../../core/system.ts'
import type { Transaction } from './engine/store.ts'
import { deleteRecordsOfGrant, saveRecord } from './oauth-records.ts'
import type { OAuthGrantRow } from './schema/oauth-grants.ts'

/** The proof of an application's identity: the hash of the application's secret, or the application's public keys. */
type Proof = { secretHash: string } | { publicKeys: readonly object[] | undefined }

/**
 * Saves an application as a client of the authorization server. When the application's grant is deleted, the client is
 * deleted too.
 */
export async function saveApplicationClient(
  tx: Transaction,
  { clientId, clientName, id, createdAtMs }: Pick<OAuthGrantRow, 'clientId' | 'clientName' | 'id' | 'createdAtMs'>,
  proof: Proof,
  grantType = 'client_credentials',
): Promise<void> {
  const authentication =
    'secretHash' in proof
      ? { token_endpoint_auth_method: 'client_secret_basic', client_secret: proof.secretHash }
      : { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: proof.publicKeys ?? [] } }
  const payload = {
    client_id: clientId,
    client_name: clientName,
    grant_types: [grantType],
    response_types: [],
    redirect_uris: [],
    ...authentication,
  }
  await saveRecord(tx, {
    model: 'Client',
    idHash: sha256(clientId),
    payload: JSON.stringify(payload),
    grantId: id,
    uid: clientId,
    userCodeHash: null,
    expiresAtMs: null,
    createdAtMs,
  })
}

/** Deletes an application's client, and everything that was issued to the client. */
export const removeClient = deleteRecordsOfGrant
