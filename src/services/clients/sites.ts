import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { Site } from '../../../entities/site.ts';
import { tables } from '../../db/kysely.ts';
import { afterCursor, type CursorPageRequest, readPage } from '../../db/pagination.ts';
import { notFound } from '../../lib/problems.ts';
import type { Actor } from '../access/actor.ts';
import { siteVisibleTo } from '../access/visibility.ts';
import type { Unit } from '../unit.ts';

export type SiteRow = { id: number; domain: string; name: string };

export const createSites = ({ em, audit }: Pick<Unit, 'em' | 'audit'>) => ({
  /** Lists the sites of the actor's clients; staff and superusers get all sites. */
  list: (actor: Actor, part: CursorPageRequest): Promise<SiteRow[]> =>
    readPage(afterCursor(visibleSites(em, actor), 'sites.id', part.cursor), 'sites.id', part),

  /** @throws Problem `not-found` */
  get: async (actor: Actor, id: number): Promise<SiteRow> => {
    const site = await visibleSites(em, actor).where('sites.id', '=', id).executeTakeFirst();
    if (!site) throw notFound('site');
    return site;
  },

  /** @throws Problem `not-found` */
  getByClient: async (actor: Actor, clientId: number): Promise<SiteRow> => {
    const site = await visibleSites(em, actor)
      .innerJoin('clients', 'clients.site_id', 'sites.id')
      .where('clients.id', '=', clientId)
      .executeTakeFirst();
    if (!site) throw notFound('client');
    return site;
  },

  /** @throws Problem `invalid-input` on `domain` */
  create: (actor: Actor, input: { domain: string; name: string }): Promise<SiteRow> =>
    em.transactional(async (tx) => {
      const site = tx.create(Site, input);
      await tx.flush();
      const details = { id: site.id, name: site.name };
      await audit.record(tx, [{ action: 'site.create', actor, target: site.domain, details }]);
      return { id: site.id, domain: site.domain, name: site.name };
    }),
});

const visibleSites = (em: SqlEntityManager, actor: Actor) =>
  tables(em)
    .selectFrom('sites')
    .select(['sites.id', 'sites.domain', 'sites.name'])
    .where(siteVisibleTo(actor))
    .orderBy('sites.id');
