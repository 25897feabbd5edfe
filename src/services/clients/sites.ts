import { sql } from 'kysely';
import { Site } from '../../../entities/client.ts';
import { type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import { notFound } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { CLIENT_ADMIN, clientsWithRole } from '../access/permissions.ts';
import { siteVisibleTo } from '../access/visibility.ts';
import { ofSite } from '../audit/audit.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

type SiteRow = { id: number; domain: string; name: string };

export const createSites = ({ em, audit }: UnitOfWork) => ({
  /** Lists the sites of the actor's clients; staff and superusers get all sites. */
  list: (actor: Actor, page: CursorPageRequest): Promise<SiteRow[]> =>
    readPage(afterCursor(visibleSites(em, actor), 'sites.id', page.cursor), 'sites.id', page),

  /** @throws Problem `not-found` */
  get: (actor: Actor, id: number): Promise<SiteRow> =>
    visibleSites(em, actor)
      .where('sites.id', '=', id)
      .executeTakeFirstOrThrow(() => notFound('site')),

  /** @throws Problem `not-found` */
  getByClient: (actor: Actor, clientId: number): Promise<SiteRow> =>
    visibleSites(em, actor)
      .innerJoin('clients', 'clients.site_id', 'sites.id')
      .where('clients.id', '=', clientId)
      .executeTakeFirstOrThrow(() => notFound('client')),

  /** @throws Problem `invalid-input` on `domain` */
  create: (actor: Actor, input: { domain: string; name: string }): Promise<SiteRow> =>
    em.transactional(async (tx) => {
      const site = tx.create(Site, input);
      await tx.flush();
      const details = { id: site.id, name: site.name };
      await audit.record(tx, [{ action: 'site.create', actor, target: ofSite(site), details }]);
      return { id: site.id, domain: site.domain, name: site.name };
    }),
});

const visibleSites = (em: Em, actor: Actor) =>
  kysely(em)
    .selectFrom('sites')
    .select(['sites.id', 'sites.domain', 'sites.name'])
    .where(siteVisibleTo(actor))
    .orderBy('sites.id');

/** Texts of the pages for visitors who are not logged in. */
export const createBranding = ({ em }: UnitOfWork) => ({ get: (host: string) => findClientByHost(em, host) });

/**
 * Finds the client of the site with this host; without one, of the site with the lowest id.
 * @throws Problem `not-found` if there are no clients
 */
export const findClientByHost = (em: Em, host: string) =>
  kysely(em)
    .selectFrom('clients')
    .innerJoin('sites', 'sites.id', 'clients.site_id')
    .select(['clients.id', 'clients.name as client_name', 'login_title', 'login_subtitle'])
    .select(['support_email', 'home_location'])
    .select(['subtitle_404', 'message_404', 'subtitle_500', 'message_500'])
    .orderBy(sql`sites.domain = ${toPrintable(host)}`, 'desc')
    .orderBy('sites.id')
    .limit(1)
    .executeTakeFirstOrThrow(() => notFound('client'));

/** A Host header may contain any byte; PostgreSQL rejects some. */
const toPrintable = (host: string): string => host.replaceAll(/[^\x20-\x7e]/g, '?');

export type Environment = { environment: string; upload_bucket_name: string };

export const createEnvironment = ({ em, environment: defaults }: UnitOfWork) => ({
  /** Admins of a client with a bucket of its own get that bucket. */
  read: async (actor: Actor): Promise<Environment> => {
    const own = await kysely(em)
      .selectFrom('clients')
      .select('upload_bucket_name')
      .where(isAnyOf('id', clientsWithRole(actor, CLIENT_ADMIN), 'int'))
      .where('upload_bucket_name', 'is not', null)
      .orderBy('id')
      .limit(1)
      .executeTakeFirst();
    return { ...defaults, upload_bucket_name: own?.upload_bucket_name ?? defaults.upload_bucket_name };
  },
});
