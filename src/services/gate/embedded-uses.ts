import { type Db, tables } from '../../db/kysely.ts';
import { tokenDigest } from '../auth/credentials.ts';
import { isInNetwork } from './view-opening-rows.ts';

/** The use of an access view of this app that a browser's cookie stands for, or null if it has ended. */
export const findEmbeddedUse = async (
  em: Db,
  { secret, now, slug, address }: { secret: string; now: Date; slug: string; address: string | null },
) => {
  const use = await tables(em)
    .selectFrom('embed_sessions')
    .innerJoin('access_view_uses', 'access_view_uses.id', 'embed_sessions.access_view_use_id')
    .innerJoin('access_views', 'access_views.id', 'access_view_uses.access_view_id')
    .innerJoin('apps', 'apps.id', 'access_views.app_id')
    .select(['access_view_uses.id as useId', 'apps.id as appId'])
    .select(isInNetwork(address).as('isInNetwork'))
    .where('embed_sessions.digest', '=', tokenDigest(secret))
    .where('embed_sessions.expires_at', '>', now)
    .where('apps.slug', '=', slug)
    .executeTakeFirst();
  return use ?? null;
};
