import { User } from '../../../entities/user.ts';
import { clientIdsOf } from '../../db/kysely.ts';
import type { Actor } from '../access/actor.ts';
import { isEmpty } from '../audit/audit.ts';
import { editEntity } from '../edits.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { lockVisibleUser } from './user-locks.ts';
import { readUser, type UserDetail } from './user-rows.ts';
import { recordedValues } from './user-update.ts';

/** What people change of their own account. */
export type ProfileChanges = {
  [K in 'first_name' | 'last_name' | 'profile_color' | 'profile_avatar']?: UserDetail[K] | undefined;
};

export const createProfiles = ({ em, audit }: Pick<UnitOfWork, 'em' | 'audit'>) => ({
  update: (actor: Actor, changes: ProfileChanges): Promise<UserDetail> =>
    em.transactional(async (tx) => {
      const user = await lockVisibleUser(tx, actor, actor.email);
      const details = recordedValues(editEntity(tx, User, user, changes));
      await tx.flush();
      if (!isEmpty(details)) {
        const clients = await clientIdsOf(tx, user.id);
        await audit.record(tx, [{ action: 'user.update', actor, target: user.email, clients, details }]);
      }
      return readUser(tx, actor, user.email);
    }),
});
