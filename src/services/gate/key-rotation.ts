import type { Db } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import type { Audit } from '../audit/audit.ts';
import type { Unit } from '../unit.ts';
import type { SigningKeys } from './signing-keys.ts';

/** What superusers see and do about the keys that sign tickets. */
export const createKeyRotation = ({
  em,
  audit,
  signingKeys,
}: Pick<Unit, 'em' | 'audit' | 'signingKeys'>) => ({
  /** Newest first. */
  list: () => signingKeys.list(em),

  /**
   * Adds a key that will sign instead of the current one; if there is one already, returns it.
   * @param actor null for an operator
   */
  rotate: (actor: Actor | null) =>
    em.transactional(async (tx) => {
      const { id, isNew } = await signingKeys.rotate(tx);
      if (isNew) await audit.record(tx, [{ action: 'signing-key.rotate', actor, target: id }]);
      const key = (await signingKeys.list(tx)).find((row) => row.id === id);
      if (!key) throw new Error('a new key is not in the list');
      return key;
    }),
});

/** Creates the first key, adds a new one when the last is old enough, and deletes those whose last ticket has expired. */
export const maintainSigningKeys = async (em: Db, signingKeys: SigningKeys, audit: Audit): Promise<void> => {
  await signingKeys.ensure();
  await em.transactional(async (tx) => {
    if (await signingKeys.isRotationDue(tx)) {
      const { id, isNew } = await signingKeys.rotate(tx);
      if (isNew) await audit.record(tx, [{ action: 'signing-key.rotate', actor: null, target: id }]);
    }
    await signingKeys.prune(tx);
  });
};
