import { sql } from 'kysely';
import { condition, kysely } from '../../db/kysely.ts';
import { type Actor, userAdminRefusal } from '../access/actor.ts';
import { globalRolesOf } from '../access/permissions.ts';
import { usageVisibleTo } from '../apps/app-rows.ts';
import { lackOf, readFactorState } from '../auth/factor-policy.ts';
import { readFactorsFor } from '../auth/second-factors.ts';
import { passwordExpiresAt } from '../passwords/password-expiry.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { readPendingChange } from './email-changes.ts';
import { readTarget } from './user-locks.ts';

type ActiveDay = { day: string; apps: { id: string; label: string; actions: number }[] };

/** What the console shows of a person beside their profile. */
export const createPersonScreen = ({
  em,
  clock,
  staffSecondFactor,
}: Pick<UnitOfWork, 'em' | 'clock' | 'staffSecondFactor'>) => {
  /** The last day on which the person used an app, and the app used most on it, as far as the actor may see. */
  const readLastUse = async (actor: Actor, email: string) => {
    const days = kysely(em)
      .selectFrom('usage_days as d')
      .innerJoin('apps as a', 'a.id', 'd.app_id')
      .select(['d.day', 'a.label as app'])
      .where('d.email', '=', email)
      .where(usageVisibleTo(actor))
      .orderBy('d.day', 'desc')
      .orderBy('d.actions', 'desc')
      .orderBy('a.id');
    return (await days.limit(1).executeTakeFirst()) ?? null;
  };

  const readAccount = async (actor: Actor, userId: number) => {
    const account = await kysely(em)
      .selectFrom('users')
      .select(condition`password_hash is not null`.as('has_password'))
      .select(['last_password_set', passwordExpiresAt('users').as('password_expires_at')])
      .where('id', '=', userId)
      .executeTakeFirstOrThrow();
    const pending_email = await readPendingChange(em, actor, userId, clock.now());
    const { factors: second_factors, recovery_codes } = await readFactorsFor(em, actor, userId);
    const state = await readFactorState(em, userId, staffSecondFactor);
    // Those who see the account administer all clients of the person.
    const { required_from: factor_required_from, needs_passkey } = lackOf(state);
    return { ...account, pending_email, second_factors, factor_required_from, needs_passkey, recovery_codes };
  };

  return {
    /**
     * `account` is null for those who may not change the account.
     * @throws Problem `not-found`
     */
    read: async (actor: Actor, email: string) => {
      const target = await readTarget(em, actor, email);
      const mayChange = userAdminRefusal(actor, target) === null;
      const [last_use, account] = await Promise.all([
        readLastUse(actor, email),
        mayChange ? readAccount(actor, target.id) : null,
      ]);
      return { role: globalRolesOf(target)[0]?.name ?? null, last_use, account };
    },

    /**
     * The days on which the person used apps, newest first, as far as the actor may see.
     * @param before the last day of the previous page
     * @throws Problem `not-found`
     */
    activity: async (actor: Actor, email: string, before: string | undefined, limit: number) => {
      await readTarget(em, actor, email);
      const { rows } = await sql<ActiveDay>`
        select d.day::text, json_agg(json_build_object('id', a.id, 'label', a.label, 'actions', d.actions)
          order by d.actions desc, a.id) as apps
        from usage_days d join apps a on a.id = d.app_id
        where d.email = ${email} and ${usageVisibleTo(actor)}
          and (${before ?? null}::date is null or d.day < ${before ?? null}::date)
        group by d.day order by d.day desc limit ${limit}`.execute(kysely(em));
      return rows;
    },
  };
};
