import type { InsertObject, Selectable } from 'kysely';
import { AccessView } from '../../../entities/access-view.ts';
import type { Database } from '../../../entities/index.ts';
import { condition, type Em, kysely, pickDefined } from '../../db/kysely.ts';
import { newAccessViewKey } from '../../lib/ids.ts';
import { type FieldErrors, invalid, notFound, roleRequired } from '../../lib/problems.ts';
import { type Actor, requireConfirmedSession, requireIn } from '../access/actor.ts';
import { can, rolesThatMay } from '../access/permissions.ts';
import { accessViewFoundBy, isWithinRights, userVisibleTo } from '../access/visibility.ts';
import { appRows } from '../apps/app-rows.ts';
import { type ActionOn, type Changes, diffColumns, isEmpty, ofApp } from '../audit/audit.ts';
import { editEntity } from '../audit/edits.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { type AccessViewRow, accessViewRows, readAccessView } from './access-views.ts';
import { decideAccess, openingsByUser, stackBySlug } from './app-access.ts';
import { revokeTickets } from './ticket-revocations.ts';

/** The settings of a view, without its app and its user. Undefined values change nothing. */
type Settings = {
  [Column in
    | (
        | 'label'
        | 'is_active'
        | 'allowed_uses'
        | 'expires_at'
        | 'data_permissions'
        | 'selections'
        | 'stack_slug'
      )
    | ('flags' | 'autorotate' | 'allowed_networks' | 'show_header' | 'show_footer')
    | 'language_code']?: Selectable<Database['access_views']>[Column] | undefined;
};

/** The slug of an app, and the address of a user: null for anyone, undefined if not given. */
type Subject = { app: string | undefined; user: string | null | undefined };

/** The fields whose values the audit trail records. For the others, it records only that they changed. */
const COMPARED = [
  ...(['label', 'is_active', 'allowed_uses_cnt', 'expires_at', 'stack_slug', 'autorotate'] as const),
  ...(['allowed_networks', 'show_header', 'show_footer', 'language_code'] as const),
] as const;
const FREE_FORM = ['data_permissions', 'selections', 'flags'] as const;

/** Creates, changes and deactivates access views of the apps of clients that the actor administers. */
export const createAccessViewChanges = ({ em, clock, audit }: UnitOfWork) => {
  const record = async (
    tx: Em,
    actor: Actor,
    action: ActionOn<'access-view'>,
    view: AccessViewRow,
    changes?: Changes,
  ) => {
    const details = {
      access_view: view.id,
      ...(view.user_id !== null && { user: view.user_id }),
      ...changes,
    };
    const target = ofApp({ id: view.app_id, slug: view.app });
    await audit.record(tx, [{ action, actor, target, clients: [view.client_id], details }]);
  };
  /** Locks a view that the actor may change. */
  const lock = async (tx: Em, actor: Actor, idOrKey: string): Promise<AccessViewRow> => {
    const view = await accessViewRows(tx, actor)
      .where(accessViewFoundBy(actor, idOrKey))
      .forNoKeyUpdate('access_views')
      .executeTakeFirstOrThrow(() => notFound('access view'));
    if (!view.is_managed) {
      requireIn(actor, 'manage-apps', view.client_id);
      // States no reason: the user of the view is or was a superuser or staff, and the actor must not learn this.
      throw roleRequired(rolesThatMay('administer'));
    }
    return view;
  };
  const change = async (tx: Em, id: number, settings: Settings): Promise<void> => {
    const view = await tx.findOneOrFail(AccessView, id);
    editEntity(tx, AccessView, view, { ...settings, modified_at: clock.now() });
    await tx.flush();
  };

  return {
    /** @throws Problem `invalid-input`, `forbidden`, `reauthentication-required` */
    create: (actor: Actor, { app: slug, user }: Subject, settings: Settings): Promise<AccessViewRow> =>
      em.transactional(async (tx) => {
        requireConfirmedSession(actor, clock.now());
        const app = await requireAppToShare(tx, actor, clock.now(), slug);
        const subject = user
          ? await findSubject(tx, actor, { appId: app.id, email: user, now: clock.now() })
          : { id: null, isPrivileged: false };
        const faults = await stackFaults(tx, app.id, settings.stack_slug);
        if ('fault' in subject) throw invalid({ user: [SUBJECT_FAULTS[subject.fault]], ...faults });
        if (faults.stack_slug) throw invalid(faults);
        const { id: user_id, isPrivileged: by_superuser } = subject;
        const columns = { app_id: app.id, user_id, by_superuser, ...pickDefined(settings) };
        const { id } = await insertView(tx, columns, clock.now());
        const view = await readAccessView(tx, actor, String(id));
        await record(tx, actor, 'access-view.create', view);
        return view;
      }),

    /**
     * The app and the user of a view cannot be changed, because its tickets and sessions refer to them. A one-time view
     * can only be deactivated.
     * @throws Problem `not-found`, also for one-time views, `forbidden`, `invalid-input`, `reauthentication-required`
     */
    update: (actor: Actor, idOrKey: string, subject: Subject, settings: Settings): Promise<AccessViewRow> =>
      em.transactional(async (tx) => {
        if (!onlyDeactivates(settings)) requireConfirmedSession(actor, clock.now());
        const before = await lock(tx, actor, idOrKey);
        if (before.is_one_time) throw notFound('access view');
        await requireValidChanges(tx, before, subject, settings);
        // Superusers may invite the person again, or give them a role that opens all apps.
        if (settings.is_active && !before.is_active && before.has_person_left && !can(actor, 'administer'))
          throw invalid({ is_active: [HAS_LEFT] });
        if (pickDefined(settings) === null) return before;
        await change(tx, before.id, settings);
        const after = await readAccessView(tx, actor, String(before.id));
        const difference = diffViews(before, after);
        if (!isEmpty(difference)) await record(tx, actor, 'access-view.update', after, difference);
        return after;
      }),

    /**
     * Gives a view a new key, and ends what the former one has opened. Needs no recent password, like a deactivation.
     * @throws Problem `not-found`, also for one-time views, `forbidden`
     */
    rotateKey: (actor: Actor, idOrKey: string): Promise<AccessViewRow> =>
      em.transactional(async (tx) => {
        const { id, is_one_time } = await lock(tx, actor, idOrKey);
        if (is_one_time) throw notFound('access view');
        // By Kysely, which binds the key, as in insertView.
        await kysely(tx)
          .updateTable('access_views')
          .set({ key: newAccessViewKey(), modified_at: clock.now() })
          .where('id', '=', id)
          .execute();
        await revokeTickets(tx, { viewId: id });
        const view = await readAccessView(tx, actor, String(id));
        await record(tx, actor, 'access-view.rotate-key', view);
        return view;
      }),

    /** @throws Problem `not-found`, `forbidden` */
    deactivate: (actor: Actor, idOrKey: string): Promise<void> =>
      em.transactional(async (tx) => {
        const view = await lock(tx, actor, idOrKey);
        if (!view.is_active) return;
        await change(tx, view.id, { is_active: false });
        await record(tx, actor, 'access-view.deactivate', view);
      }),
  };
};

type NewView = Omit<InsertObject<Database, 'access_views'>, 'key' | 'created_at' | 'modified_at'>;

/** Adds a view with a new key. Kysely binds it; the ORM would write it into the text of the statement. */
export const insertView = (tx: Em, view: NewView, now: Date): Promise<{ id: number; key: string }> =>
  kysely(tx)
    .insertInto('access_views')
    .values({ ...view, key: newAccessViewKey(), created_at: now, modified_at: now })
    .returning(['id', 'key'])
    .executeTakeFirstOrThrow();

const diffViews = (before: AccessViewRow, after: AccessViewRow): Changes => {
  const changes = diffColumns(before, after, COMPARED);
  for (const column of FREE_FORM)
    if (JSON.stringify(before[column]) !== JSON.stringify(after[column]))
      changes[column] = { from: null, to: null };
  return changes;
};

/** Needs no recent password: a deactivation is urgent, and grants nothing. */
const onlyDeactivates = ({ is_active, ...others }: Settings): boolean =>
  is_active === false && pickDefined(others) === null;

const FIXED = 'Cannot be changed. Create another access view.';
const HAS_LEFT = 'The user of this access view no longer belongs to the client.';

const requireValidChanges = async (
  tx: Em,
  view: AccessViewRow,
  subject: Subject,
  { stack_slug: slug, allowed_uses: allowedUses }: Settings,
) => {
  // The caller may send back a stack that the app has dropped meanwhile.
  const fields = slug === view.stack_slug ? {} : await stackFaults(tx, view.app_id, slug);
  if (subject.app !== undefined && subject.app !== view.app) fields.app = [FIXED];
  if (subject.user !== undefined && (subject.user || null) !== view.user) fields.user = [FIXED];
  if (allowedUses && allowedUses < view.usages_cnt)
    fields.allowed_uses_cnt = [`Must be 0, or at least the ${view.usages_cnt} uses so far.`];
  if (Object.keys(fields).length > 0) throw invalid(fields);
};

/**
 * The app of a new view, by its slug.
 * @throws Problem `invalid-input` on `app`, `forbidden`
 */
const requireAppToShare = async (em: Em, actor: Actor, now: Date, slug: string | undefined) => {
  if (slug === undefined) throw invalid({ app: ['This field is required.'] });
  const app = await appRows(em, actor, now).where('apps.slug', '=', slug).executeTakeFirst();
  if (!app) throw invalid({ app: [`No app that you manage has the slug ${slug}.`] });
  requireIn(actor, 'manage-apps', app.client_id);
  return app;
};

/** Why an actor cannot create a view that opens an app as a user. */
export const SUBJECT_FAULTS = {
  unknown: 'There is no user with this address that you manage.',
  inactive: 'This user is deactivated.',
  'not-granted': 'This user cannot open the app.',
  privileged: 'Only superusers can create access views of superusers and staff.',
  exceeds: 'This person may do more than you in the client.',
};

/**
 * The id of the user as whom a view opens an app, locked against an erasure until the end of the transaction; or the reason why there is
 * none. Only superusers create views of superusers and staff, because the app treats everyone who opens the view as that user.
 */
export const findSubject = async (
  tx: Em,
  actor: Actor,
  { appId, email, now }: { appId: string; email: string; now: Date },
): Promise<{ id: number; isPrivileged: boolean } | { fault: keyof typeof SUBJECT_FAULTS }> => {
  // A separate statement: one that waits for a lock sees the other tables as they were before.
  const person = kysely(tx).selectFrom('users').select('id').where('email', '=', email);
  await person.where(userVisibleTo(actor)).forShare().execute();
  const opening = await openingsByUser(tx, now)
    .where('apps.id', '=', appId)
    .where('users.email', '=', email)
    .where(userVisibleTo(actor))
    .select(condition`coalesce(${isWithinRights(actor, 'memberships')}, true)`.as('is_within_rights'))
    .executeTakeFirst();
  if (!opening || opening.user_id === null) return { fault: 'unknown' };
  const access = decideAccess(opening, now);
  if (access === 'user-inactive') return { fault: 'inactive' };
  if (access === 'not-granted') return { fault: 'not-granted' };
  const isPrivileged = opening.has_global_role === true;
  if (isPrivileged && !can(actor, 'administer')) return { fault: 'privileged' };
  const isOwn = opening.user_id === actor.id && !can(actor, 'open-apps', opening.client_id);
  if (!opening.is_within_rights || isOwn) return { fault: 'exceeds' };
  return { id: opening.user_id, isPrivileged };
};

/** An error unless the app has a stack with this slug to open. */
const stackFaults = async (em: Em, appId: string, slug: string | null | undefined): Promise<FieldErrors> => {
  const stack = slug == null || (await stackBySlug(em, appId, slug).executeTakeFirst())?.is_offered;
  return stack ? {} : { stack_slug: ['The app has no such stack.'] };
};
