import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { tables } from '../../db/kysely.ts';
import { notFound } from '../../lib/problems.ts';

/** The texts that pages show to people who have not logged in. */
export const createBranding = ({ em }: { em: SqlEntityManager }) => ({
  /** @throws Problem `not-found` on a service without any client */
  get: (host: string): Promise<BrandingRow> => findClientByHost(em, host),
});

/**
 * The client whose site has this host, else the one of the lowest site.
 * @throws Problem `not-found` when there is none at all
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
    .orderBy(sql`sites.domain = ${printable(host)}`, 'desc')
    .orderBy('sites.id')
    .limit(1);

export type BrandingRow = Awaited<ReturnType<ReturnType<typeof brandingRows>['execute']>>[number];

/** A Host header is any text: PostgreSQL must not be asked for one that it cannot hold. */
const printable = (host: string): string => host.replaceAll(/[^\x20-\x7e]/g, '?');
