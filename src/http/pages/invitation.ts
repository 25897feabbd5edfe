import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Problem } from '../../lib/problems.ts';
import { fieldOf, queried } from './form-body.ts';
import { sendClosed, sendUnknown } from './invitation-closed.ts';
import { sendInvitation } from './invitation-form.ts';
import { attempt, type Caller, type PageDeps, type Visit, visitOf } from './page-context.ts';
import { homeOf } from './redirects.ts';
import { goTo } from './send-page.ts';

export type Invitation = Awaited<ReturnType<Caller['invitations']['preview']>>;
type Keyed = FastifyRequest<{ Params: { key: string } }>;

/** `/invitation/{key}/?signature=…`: the link of an invitation. Opening it changes nothing, only its form accepts. */
export const serveInvitation = (app: FastifyInstance, deps: PageDeps): void => {
  app.get<{ Params: { key: string } }>('/invitation/:key/', async (request, reply) =>
    show(visitOf(request, reply, deps), linkOf(request)),
  );

  app.post<{ Params: { key: string } }>('/invitation/:key/', async (request, reply) => {
    const visit = visitOf(request, reply, deps);
    const link = linkOf(request);
    const accepted = await visit.submit((caller) =>
      caller.invitations.accept({ ...link, ...namesOf(request), ...passwordOf(request) }),
    );
    return accepted.problem
      ? show(visit, link, accepted.problem)
      : goTo(reply, homeOf(accepted.value.home_location));
  });
};

type Link = { key: string; signature: string };

const linkOf = (request: Keyed): Link => ({
  key: request.params.key,
  signature: queried(request, 'signature') ?? '',
});

const namesOf = (request: Keyed) => ({
  first_name: fieldOf(request, 'first_name').trim(),
  last_name: fieldOf(request, 'last_name').trim(),
});

/** Only the form of somebody new asks for one. */
const passwordOf = (request: Keyed) => {
  const password = fieldOf(request, 'password');
  return password === '' ? {} : { password };
};

const show = async (visit: Visit, link: Link, problem: Problem | null = null) => {
  const { value: invitation } = await attempt(() => visit.reader.invitations.preview(link));
  if (!invitation) return sendUnknown(visit);
  if (invitation.status !== 'pending') return sendClosed(visit, invitation, problem);
  return sendInvitation(visit, invitation, problem);
};
