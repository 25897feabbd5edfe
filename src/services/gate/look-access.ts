import { type Condition, condition, type Em, kysely } from '../../db/kysely.ts';
import { Problem, roleRequired } from '../../lib/problems.ts';
import { type Actor, proofOf, type TargetRoles } from '../access/actor.ts';
import { can, canAllOf, type Roles, rolesIn } from '../access/permissions.ts';
import { usersWithRoles } from '../accounts/user-locks.ts';
import { readSessionActor } from '../auth/authentication.ts';
import { type Opening, openingsByUser } from './app-access.ts';

type LookedAt = Pick<Opening, 'client_id' | 'help_desk_may_view_as' | 'view_as'>;

/** Who may look at apps of a client as its members: its admins, and, if the client allows it, its help desk. */
const mayViewAs = (actor: Roles, { client_id, help_desk_may_view_as: isForHelpDesk }: LookedAt): boolean =>
  can(actor, isForHelpDesk ? 'manage-credentials' : 'configure', client_id);

/**
 * Why the actor may not look at the app as this person, or null. Says nothing about whether the person may open the app: `decideAccess`
 * does. The message names no role of the person, because the actor may not know it.
 */
export const lookRefusal = (actor: Actor, person: TargetRoles, app: LookedAt): Problem | null => {
  if (!mayViewAs(actor, app)) return roleRequired(`client admin of client ${app.client_id}, or superuser`);
  if (!app.view_as) return new Problem('view-as-unsupported');
  if (person.id === actor.id)
    return new Problem('forbidden', { detail: 'This is you: open the app instead.' });
  const isStronger =
    person.isSuperuser ||
    person.isStaff ||
    !canAllOf(
      actor,
      // A refusal must not reveal roles in other clients.
      rolesIn(person, (id) => can(actor, 'view', id)),
    );
  return isStronger
    ? new Problem('forbidden', { detail: 'This person may have rights that you do not have.' })
    : null;
};

/**
 * The opening of the person as whom someone looks at an app, or null if the look has ended: by the clock, by a button, with the session of
 * the actor, or because the actor or the person has lost what it needs. The columns about second factors are the actor's, who has logged in.
 * @param isWanted a condition on `view_as` and `apps`, which several looks of one person as another at an app may meet
 */
export const readLook = async (em: Em, now: Date, isWanted: Condition): Promise<Opening | null> => {
  const looks = await kysely(em)
    .selectFrom('view_as')
    .innerJoin('apps', 'apps.id', 'view_as.app_id')
    .innerJoin('users as actor', 'actor.id', 'view_as.actor_id')
    .select(['actor.handle', 'actor.email'])
    .select(['view_as.id', 'actor_id', 'user_id', 'app_id', 'session_id', 'ends_at'])
    .where('ended_at', 'is', null)
    .where('ends_at', '>', now)
    .where(isWanted)
    .execute();
  for (const look of looks) {
    const opening = await openingOf(em, now, look);
    if (opening) return opening;
  }
  return null;
};

type LookRow = {
  id: number;
  handle: string;
  email: string;
  actor_id: number;
  user_id: number;
  app_id: string;
  session_id: number;
  ends_at: Date;
};

const openingOf = async (em: Em, now: Date, look: LookRow): Promise<Opening | null> => {
  const actor = await readSessionActor(em, look.session_id, now);
  const proof = actor && proofOf(actor);
  if (!proof || actor.id !== look.actor_id) return null;
  const { person, opening, own } = await readBoth(em, now, look);
  if (lookRefusal(actor, person, opening) !== null) return null;
  const { enrolled, factor_from, passkey_from } = own;
  return {
    ...opening,
    ...{ enrolled, factor_from, passkey_from },
    look: {
      id: look.id,
      actorId: look.actor_id,
      sessionId: look.session_id,
      actor: { sub: look.handle, email: look.email },
      proof,
      endsAt: look.ends_at,
    },
  };
};

/** The person, and the openings of the app by the person and by the actor. */
export const readBoth = async (
  em: Em,
  now: Date,
  ids: { actor_id: number; user_id: number; app_id: string },
) => {
  const person = await usersWithRoles(em).where('users.id', '=', ids.user_id).executeTakeFirstOrThrow();
  const opened = openingsByUser(em, now).where('apps.id', '=', ids.app_id);
  const opening = await opened.where('users.id', '=', ids.user_id).executeTakeFirstOrThrow();
  const own = await opened.where('users.id', '=', ids.actor_id).executeTakeFirstOrThrow();
  return { person, opening, own };
};

/** The look of this browser at the app with this slug, by the digest of its cookie. */
export const hasCookie = (digest: string, slug: string): Condition =>
  condition`(view_as.cookie_digest = ${digest} and apps.slug = ${slug})`;
