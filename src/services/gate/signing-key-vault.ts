import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose';
import { createSealedBox, deriveKey } from '../../lib/sealed-box.ts';
import { TICKET_ALGORITHM } from '../../lib/ticket-claims.ts';
import type { SigningKeyRow } from './signing-key-rows.ts';

export type KeyLogger = { warn: (line: string) => unknown };

/** Creates, seals and opens private keys. */
export const createKeyVault = (secretKey: string, logger: KeyLogger) => {
  const box = createSealedBox(deriveKey(secretKey, 'steward signing keys'));
  /** By id; null if the key is sealed with another secret key. */
  const opened = new Map<string, JWK | null>();
  const imported = new Map<string, Promise<CryptoKey | Uint8Array>>();

  const unseal = ({ id, sealed_key: sealed }: SigningKeyRow): JWK | null => {
    const known = opened.get(id);
    if (known !== undefined) return known;
    const jwk = tryOpen(sealed, id);
    opened.set(id, jwk);
    if (jwk === null)
      logger.warn(`The signing key ${id} cannot be opened: it was created with another SECRET_KEY.`);
    return jwk;
  };
  const tryOpen = (sealed: Uint8Array, id: string): JWK | null => {
    try {
      return JSON.parse(box.open(sealed, id).toString('utf8')) as JWK; // as `create` seals it
    } catch (_sealedWithAnotherKey) {
      return null;
    }
  };

  return {
    canOpen: (row: SigningKeyRow): boolean => unseal(row) !== null,

    /** @throws Error if the key was sealed with another secret key */
    open: (row: SigningKeyRow): Promise<CryptoKey | Uint8Array> => {
      const jwk = unseal(row);
      if (jwk === null) throw new Error(`cannot open the signing key ${row.id}`);
      const key = imported.get(row.id) ?? importJWK(jwk, TICKET_ALGORITHM);
      imported.set(row.id, key);
      return key;
    },

    create: async () => {
      const { privateKey } = await generateKeyPair(TICKET_ALGORITHM, { extractable: true });
      const jwk = await exportJWK(privateKey);
      const { kty, crv, x, y } = jwk;
      const id = await calculateJwkThumbprint(jwk);
      return {
        id,
        sealed_key: box.seal(Buffer.from(JSON.stringify(jwk)), id),
        public_key: { kty, crv, x, y, kid: id, use: 'sig', alg: TICKET_ALGORITHM },
      };
    },
  };
};
