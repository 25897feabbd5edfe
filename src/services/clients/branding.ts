import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';

/** Texts of the pages for visitors who are not logged in. */
export const createBranding = ({ em }: { em: SqlEntityManager }) => ({
  /** @throws Problem `not-found` if there are no clients */
  get: (host: string): Promise<BrandingRow> => findClientByHost(em, host),
});

/**
 * Finds the client of the site with this host, or else of the site with the lowest id.
 * @throws Problem `not-found` if there are no clients
 */
export const findClientByHost = async (em: SqlEntityManager, host: string): Promise<BrandingRow> => {
  const row = await brandingRows(em, host).executeTakeFirst();
  if (!row) throw notFound('client');
  return row;
};

const brandingRows = (em: SqlEntityManager, host: string) =>
  tables(em)
    .selectFrom('clients')
    .innerJoin('sites', 'sites.id', 'clients.site_id')
    .select(['clients.id', 'clients.name', 'login_title', 'login_subtitle', 'support_email', 'home_location'])
    .select(['subtitle_404', 'message_404', 'subtitle_500', 'message_500'])
    .orderBy(sql`sites.domain = ${toPrintable(host)}`, 'desc')
    .orderBy('sites.id')
    .limit(1);

export type BrandingRow = Awaited<ReturnType<ReturnType<typeof brandingRows>['execute']>>[number];

/** A Host header may contain any byte; PostgreSQL rejects some. */
const toPrintable = (host: string): string => host.replaceAll(/[^\x20-\x7e]/g, '?');
