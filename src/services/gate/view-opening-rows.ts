import { type RawBuilder, sql } from 'kysely';
import { type Db, tables } from '../../db/kysely.ts';
import { newAccessViewKey } from '../../lib/ids.ts';
import {
  type AppAccess,
  decideAccess,
  factsOfView,
  openableApps,
  openableAppsOfUsers,
} from './app-access.ts';

/** Why a view does not open its app. */
export type ViewRefusal =
  | ('revoked' | 'expired' | 'used-up' | 'wrong-network' | 'no-address')
  | Exclude<AppAccess, 'allowed'>;

const isExpired = sql<boolean>`coalesce(expires_at <= clock_timestamp(), false)`;
const isUsedUp = sql<boolean>`(allowed_uses > 0 and uses >= allowed_uses)`;
/** Without an address, only views for any network are open. */
export const isInNetwork = (address: string | null): RawBuilder<boolean> => sql<boolean>`
  (cardinality(allowed_networks) = 0
    or coalesce(${address}::inet <<= any(allowed_networks::inet[]), false))`;

/** A view by its key, with why it does not open its app, as far as it decides that alone. */
export const findView = (em: Db, key: string, address: string | null) =>
  tables(em)
    .selectFrom('access_views')
    .select(['id', 'app_id', 'user_id', 'allowed_uses', 'expires_at'])
    .select(
      sql<ViewRefusal | null>`case when not is_active then 'revoked' when ${isExpired} then 'expired'
        when ${isUsedUp} then 'used-up' when not ${isInNetwork(address)} then 'wrong-network' end`.as(
        'refusal',
      ),
    )
    .where('key', '=', key)
    .executeTakeFirst();

/**
 * Counts a use, and gives the view a new key if it rotates. Of concurrent calls with one key, as many get the row as there are
 * uses left: each waits for the others, and then checks the conditions again.
 */
export const countUse = (tx: Db, key: string, address: string | null) =>
  tables(tx)
    .updateTable('access_views')
    .set({
      uses: sql`uses + 1`,
      key: sql<string>`case when autorotate then ${newAccessViewKey()} else key end`,
    })
    .where('key', '=', key)
    .where('is_active', '=', true)
    .where(sql<boolean>`not ${isExpired} and not ${isUsedUp} and ${isInNetwork(address)}`)
    .returningAll()
    .executeTakeFirst();

export type CountedView = NonNullable<Awaited<ReturnType<typeof countUse>>>;

/** The app of a view, its user if it has one, and whether it may be opened now. */
export const readOpenedApp = async (
  em: Db,
  { app_id: appId, user_id: userId, by_superuser }: Pick<CountedView, 'app_id' | 'user_id' | 'by_superuser'>,
) => {
  const db = tables(em);
  if (userId === null) {
    const app = await openableApps(db).where('apps.id', '=', appId).executeTakeFirstOrThrow();
    return { app, user: null, access: decideAccess({ ...app, user: null }) };
  }
  const user = await openableAppsOfUsers(db)
    .where('apps.id', '=', appId)
    .where('users.id', '=', userId)
    .executeTakeFirstOrThrow();
  return { app: user, user, access: decideAccess(factsOfView(user, by_superuser)) };
};

export type OpenedApp = Awaited<ReturnType<typeof readOpenedApp>>;

type Browser = { address: string; userAgent: string };

const MAX_USER_AGENT_LENGTH = 255;

/** Records a use, with what applies to it. Returns its id. */
export const insertUse = async (tx: Db, view: CountedView, rawKey: string, now: Date, by: Browser) => {
  const { user_id, data_permissions, selections, stack_slug, autorotate } = view;
  const { show_header, show_footer, language_code } = view;
  const { id } = await tables(tx)
    .insertInto('access_view_uses')
    .values({
      access_view_id: view.id,
      used_at: now,
      raw_key: rawKey,
      ...{ user_id, data_permissions, selections, stack_slug, autorotate },
      ...{ show_header, show_footer, language_code },
      ip_address: by.address,
      user_agent: by.userAgent.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, MAX_USER_AGENT_LENGTH),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
};

/** What the page of a refusal shows, in the branding of the app's client. */
export const readRefusalPage = (em: Db, appId: string) =>
  tables(em)
    .selectFrom('apps')
    .innerJoin('clients', 'clients.id', 'apps.client_id')
    .select(['clients.name as client_name', 'support_email', 'embed_origins'])
    .select(['apps.label as app_label', 'maintenance_message'])
    .where('apps.id', '=', appId)
    .executeTakeFirstOrThrow();

export type RefusalPage = Awaited<ReturnType<typeof readRefusalPage>>;
