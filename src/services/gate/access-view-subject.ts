import { type Db, tables } from '../../db/kysely.ts';
import { invalid } from '../../lib/problems.ts';
import { type Actor, requireClientAdmin } from '../access/actor.ts';
import { userVisibleTo } from '../access/visibility.ts';
import { appRows } from '../apps/app-rows.ts';
import { decideAccess, factsOf, type OpenableAppOfUser, openableAppsOfUsers } from './app-access.ts';

/**
 * The app of a new view, by its slug.
 * @throws Problem `invalid-input` on `app`, `forbidden`
 */
export const requireAppToShare = async (em: Db, actor: Actor, slug: string | undefined) => {
  if (slug === undefined) throw invalid({ app: ['This field is required.'] });
  const app = await appRows(em, actor).where('apps.slug', '=', slug).executeTakeFirst();
  if (!app) throw invalid({ app: [`No app that you manage has the slug ${slug}.`] });
  requireClientAdmin(actor, app.client_id);
  return app;
};

/** Why an actor cannot give out a view that opens an app as a user. */
export type SubjectFault = 'unknown' | 'inactive' | 'not-granted' | 'privileged';

/**
 * The id of the user as whom a view opens an app, locked against an erasure until the end of the transaction; or why there is
 * none. Only superusers give out views of superusers and staff, because the app treats who opens the view as that user.
 */
export const findSubject = async (
  tx: Db,
  actor: Actor,
  appId: string,
  email: string,
): Promise<{ id: number; isPrivileged: boolean } | { fault: SubjectFault }> => {
  const row = await openableAppsOfUsers(tables(tx))
    .where('apps.id', '=', appId)
    .where('users.email', '=', email)
    .where(userVisibleTo(actor))
    .forShare('users')
    .executeTakeFirst();
  const fault = row ? faultOf(row, actor) : 'unknown';
  if (!row || fault !== null) return { fault: fault ?? 'unknown' };
  return { id: row.user_id, isPrivileged: row.is_superuser || row.is_staff };
};

const faultOf = (row: OpenableAppOfUser, actor: Actor): SubjectFault | null => {
  const access = decideAccess(factsOf(row));
  if (access === 'user-inactive') return 'inactive';
  if (access === 'not-granted') return 'not-granted';
  return (row.is_superuser || row.is_staff) && !actor.isSuperuser ? 'privileged' : null;
};

export const SUBJECT_FAULTS: Record<SubjectFault, string> = {
  unknown: 'There is no user with this address that you manage.',
  inactive: 'This user is deactivated.',
  'not-granted': 'This user cannot open the app.',
  privileged: 'Only superusers can create access views of superusers and staff.',
};

/** @returns why the app has no stack to open with this slug, or null */
export const stackFault = async (em: Db, appId: string, slug: string | null): Promise<string | null> => {
  if (slug === null) return null;
  const stack = await tables(em)
    .selectFrom('stacks')
    .select('id')
    .where('app_id', '=', appId)
    .where('slug', '=', slug)
    .where('is_offered', '=', true)
    .executeTakeFirst();
  return stack ? null : 'The app has no such stack.';
};
