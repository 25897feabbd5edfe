import { type Db, prepared } from '../../db/kysely.ts';
import { tokenDigest } from '../auth/credentials.ts';

/** The use of an access view of this app that a browser's cookie stands for, or null if it has ended. */
export const findEmbeddedUse = async (em: Db, secret: string, now: Date, slug: string) => {
  const [use] = await USE(em, { digest: tokenDigest(secret), now, slug });
  return use ?? null;
};

const USE = prepared((db, { digest, now, slug }: { digest: string; now: Date; slug: string }) =>
  db
    .selectFrom('embed_sessions')
    .innerJoin('access_view_uses', 'access_view_uses.id', 'embed_sessions.access_view_use_id')
    .innerJoin('access_views', 'access_views.id', 'access_view_uses.access_view_id')
    .innerJoin('apps', 'apps.id', 'access_views.app_id')
    .select(['access_view_uses.id as useId', 'apps.id as appId'])
    .where('embed_sessions.digest', '=', digest)
    .where('embed_sessions.expires_at', '>', now)
    .where('apps.slug', '=', slug),
);
