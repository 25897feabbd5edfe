import { z } from 'zod';
import { DomainName } from '../src/lib/email-address.ts';
import { routesOf } from './procedure-meta.ts';
import { ById, IdCursor, IdKey } from './schemas/keys.ts';
import { limitedPagingFields, toPageRequest } from './schemas/lists.ts';
import { DomainOutput, domainOutput } from './schemas/sso.ts';
import { router, settingsProcedure, superuserProcedure, viewerProcedure } from './trpc.ts';

const route = routesOf('Single sign-on');

const ByDomain = ById.extend({ domain_id: IdKey });

export const domainsRouter = router({
  list: route(viewerProcedure, 'GET', '/jb/clients/{id}/domains/', {
    summary: 'List the domains of a client',
    description: 'Oldest first. `cursor` is the id of the last domain of the previous page.',
  })
    .input(ById.extend(limitedPagingFields(IdCursor)))
    .output(z.array(DomainOutput))
    .query(async ({ ctx, input }) => {
      const rows = await ctx.services.domains.list(ctx.actor, input.id, toPageRequest(ctx, input));
      return rows.map(domainOutput);
    }),

  add: route(settingsProcedure, 'POST', '/jb/clients/{id}/domains/', {
    summary: 'Add a domain',
    description:
      'Of email addresses. Publish the TXT record of the response to prove that the client owns it, then verify it.',
    problems: ['reauthentication-required'],
    status: 201,
    example: { domain: 'acme.test' },
  })
    .input(ById.extend({ domain: DomainName }))
    .output(DomainOutput)
    .mutation(({ ctx, input }) =>
      ctx.services.domains.add(ctx.actor, input.id, input.domain).then(domainOutput),
    ),

  verify: route(settingsProcedure, 'POST', '/jb/clients/{id}/domains/{domain_id}/verify/', {
    summary: 'Verify a domain',
    description: 'Looks for the TXT record now. It is looked for once a day afterwards.',
    handlesIdempotency: true,
    problems: ['reauthentication-required', 'dns-unavailable'],
  })
    .input(ByDomain)
    .output(DomainOutput)
    .mutation(({ ctx, input }) =>
      ctx.services.domains.verify(ctx.actor, input.id, input.domain_id).then(domainOutput),
    ),

  vouch: route(superuserProcedure, 'POST', '/jb/clients/{id}/domains/{domain_id}/vouch/', {
    summary: 'Vouch for a domain',
    description:
      'Verifies it without a record. The providers of the client then decide who has its addresses.',
    problems: ['reauthentication-required'],
  })
    .input(ByDomain)
    .output(DomainOutput)
    .mutation(({ ctx, input }) =>
      ctx.services.domains.vouch(ctx.actor, input.id, input.domain_id).then(domainOutput),
    ),

  remove: route(settingsProcedure, 'DELETE', '/jb/clients/{id}/domains/{domain_id}/', {
    summary: 'Remove a domain',
    description:
      'Its addresses do not lead to the connection any more. Known people can still log in with it.',
    problems: ['reauthentication-required'],
  })
    .input(ByDomain)
    .output(z.void())
    .mutation(({ ctx, input }) => ctx.services.domains.remove(ctx.actor, input.id, input.domain_id)),
});
